//! What an operator sees: metrics, events, the access log.

use serde_json::Value;

/// One scrape of `/stats` and `/stats/prometheus`.
pub struct Metrics {
    /// Envoy's own names with their values.
    stats: Vec<(String, u64)>,
    series: Vec<Series>,
}

struct Series {
    name: String,
    labels: Vec<(String, String)>,
    value: u64,
    line: String,
}

impl Metrics {
    pub fn parse(stats: &str, prometheus: &str) -> Metrics {
        let stat = |line: &str| {
            let (name, value) = line.rsplit_once(": ")?;
            // Histograms have no single number.
            Some((name.to_owned(), value.parse().ok()?))
        };
        Metrics {
            stats: stats.lines().filter_map(stat).collect(),
            series: prometheus.lines().filter_map(Series::parse).collect(),
        }
    }

    /// A counter or gauge by Envoy's name; 0 where Envoy has not made it yet.
    pub fn envoy(&self, name: &str) -> u64 {
        self.stats.iter().find(|(n, _)| n == name).map_or(0, |(_, value)| *value)
    }

    /// The values of all stats whose Envoy name is like that.
    pub fn where_name(&self, is_so: impl Fn(&str) -> bool) -> Vec<u64> {
        self.stats.iter().filter(|(name, _)| is_so(name)).map(|(_, value)| *value).collect()
    }

    /// A metric by its Prometheus name: the sum over the series that carry these labels, `None` where there is none.
    pub fn weir(&self, name: &str, labels: &[(&str, &str)]) -> Option<u64> {
        let carries = |series: &Series, (label, value): &(&str, &str)| {
            series.labels.iter().any(|(l, v)| l == label && v == value)
        };
        let values: Vec<u64> = self
            .series
            .iter()
            .filter(|series| series.name == name && labels.iter().all(|label| carries(series, label)))
            .map(|series| series.value)
            .collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// All of Weir's series as Prometheus gets them.
    pub fn weir_text(&self) -> String {
        let weir = self.series.iter().filter(|series| series.name.starts_with("weir_"));
        weir.map(|series| series.line.as_str()).collect::<Vec<_>>().join("\n")
    }
}

impl Series {
    /// `name{label="value",…} 3`
    fn parse(line: &str) -> Option<Series> {
        let (key, value) = line.rsplit_once(' ')?;
        let (name, labels) = key.strip_suffix('}')?.split_once('{')?;
        let labels = labels.split_terminator(',').filter_map(|label| {
            let (name, value) = label.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        });
        Some(Series {
            name: name.to_owned(),
            labels: labels.collect(),
            value: value.parse().ok()?,
            line: line.to_owned(),
        })
    }
}

/// Weir's events: the JSON objects that the module wrote to Envoy's log.
pub fn events(log: &str) -> Vec<Value> {
    let lines = log.lines().filter(|line| line.contains("wasm log"));
    lines.filter_map(|line| serde_json::from_str(&line[line.find('{')?..]).ok()).collect()
}

/// One request as the access log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLine {
    pub status: u64,
    pub details: Option<String>,
    pub decision: Option<String>,
    pub reason: Option<String>,
    pub client: Option<String>,
    pub path: Option<String>,
    pub connection: u64,
    /// What the filter states `weir.ja3` and `weir.ja4` hold.
    pub ja3: Option<String>,
    pub ja4: Option<String>,
    /// The number of the client's network by Envoy's look-up.
    pub asn: Option<String>,
    /// Envoy's response flags: `DR` for a stream that the client reset, `DPE` for one that broke the protocol.
    pub flags: Option<String>,
}

/// One connection as the listener's access log tells it, written when it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLine {
    pub connection: u64,
    /// The TCP peer.
    pub peer: Option<String>,
    pub ja3: Option<String>,
    pub ja4: Option<String>,
    pub flags: Option<String>,
    /// Why the TLS handshake failed: it contains `CONNECTION_REJECTED` where a network filter closed before.
    pub failure: Option<String>,
    /// Envoy's word for how the connection ended.
    pub details: Option<String>,
}

pub fn access_log(text: &str) -> Vec<AccessLine> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(access_line).collect()
}

pub fn connection_log(text: &str) -> Vec<ConnectionLine> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(connection_line).collect()
}

fn access_line(line: Value) -> AccessLine {
    let text = |field: &str| text(&line, field);
    AccessLine {
        status: line["status"].as_u64().unwrap_or(0),
        details: text("details"),
        decision: text("decision"),
        reason: text("reason"),
        client: text("client"),
        path: text("path"),
        connection: line["connection"].as_u64().unwrap_or(0),
        ja3: text("ja3"),
        ja4: text("ja4"),
        asn: text("asn"),
        flags: text("flags").filter(|flags| flags != "-"),
    }
}

fn connection_line(line: Value) -> ConnectionLine {
    let text = |field: &str| text(&line, field);
    ConnectionLine {
        connection: line["connection"].as_u64().unwrap_or(0),
        peer: text("peer"),
        ja3: text("ja3"),
        ja4: text("ja4"),
        flags: text("flags").filter(|flags| flags != "-"),
        failure: text("failure"),
        details: text("details"),
    }
}

fn text(line: &Value, field: &str) -> Option<String> {
    line[field].as_str().map(str::to_owned)
}
