//! What does a connection cost that is refused, beside one that is served? CPU time per connection of whole Envoys,
//! side by side in one run, as for requests.
//!
//! Every connection is a new one over TLS, with a whole handshake (no session is resumed) and one request, from one of
//! eight addresses of loopback at a time. Each must end as its row says, or there is no table, and Envoy's own count
//! of handshakes stands beside it. Who is banned has asked for what a rule blocks.

mod certificate;
mod edges;
mod report;
mod visitors;

use std::io;
use std::path::{Path, PathBuf};

use tokio::runtime::{Builder, Runtime};

use crate::proxy::Proxy;
use crate::{Settings, order, path};
use certificate::Certificate;
use edges::Edge;
use visitors::{Crowd, End, Visitors};

/// One line of the table, and what was measured for it, round by round.
struct Row {
    label: &'static str,
    edge: Edge,
    crowd: Crowd,
    end: End,
    cpu_us: Vec<f64>,
    delays_us: Vec<f64>,
    handshakes: usize,
}

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    use Crowd::{Banned, Hasty, Tool, Welcome};
    use End::{AfterHandshake, Answered, BeforeHandshake};
    vec![
        row("no filter", Edge::Plain, Welcome, Answered(200)),
        row("no filter, but JA3 and JA4 computed and kept", Edge::Fingerprints, Welcome, Answered(200)),
        row("the same and **Weir**, HTTP filter alone", Edge::WeirHttp, Welcome, Answered(200)),
        row("the same and **Weir**, both filters", Edge::Weir, Welcome, Answered(200)),
        row("**Weir**, both filters: client banned", Edge::Weir, Banned, BeforeHandshake),
        row("**Weir**, both filters: JA4 listed", Edge::Weir, Tool, BeforeHandshake),
        row("**Weir**, both filters: over `max_conn_rate`", Edge::Weir, Hasty, BeforeHandshake),
        row("**Weir**, HTTP filter alone: client banned", Edge::WeirHttp, Banned, Answered(403)),
        row("Envoy's filter chain match by address, a chain without filters", Edge::ChainMatch, Banned, BeforeHandshake),
        row("Envoy's local_ratelimit for connections, of all clients together", Edge::LocalRatelimit, Welcome, BeforeHandshake),
        row("the same, JA3 and JA4 computed and kept first", Edge::FingerprintsRatelimit, Welcome, BeforeHandshake),
        row("Envoy's RBAC for connections, by address", Edge::RbacNetwork, Banned, AfterHandshake),
        row("Envoy's RBAC for HTTP, by address", Edge::RbacHttp, Banned, Answered(403)),
    ]
}

fn row(label: &'static str, edge: Edge, crowd: Crowd, end: End) -> Row {
    Row { label, edge, crowd, end, cpu_us: Vec::new(), delays_us: Vec::new(), handshakes: 0 }
}

/// The table.
///
/// # Errors
/// An Envoy does not start, or a connection ends otherwise than its row says.
pub fn measure(settings: &Settings) -> Result<String, String> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let certificate = Certificate::make()?;
    let ja4 = of_the_tool(settings, &runtime, &certificate)?;
    let mut rows = rows();
    for nth in 0..settings.starts {
        eprintln!("connections, start {} of {}: {} Envoys", nth + 1, settings.starts, Edge::ALL.len());
        let envoys = Envoys::start(settings, &runtime, &certificate, &ja4)?;
        for round in (nth..settings.rounds).step_by(settings.starts) {
            for place in order(round, rows.len()) {
                let row = &mut rows[place];
                envoys.weigh(row, settings.connections).map_err(|e| format!("{}: {e}", row.label))?;
            }
        }
    }
    Ok(report::write(settings, &certificate, &rows))
}

/// What Envoy computes of a ClientHello of [`Crowd::Tool`].
fn of_the_tool(settings: &Settings, runtime: &Runtime, certificate: &Certificate) -> Result<String, String> {
    let front = Edge::Fingerprints.front(certificate.socket(), Path::new(""), "");
    let proxy = Proxy::start(&settings.envoy, &folder("ja4"), &front)?;
    Visitors::new(proxy.address, Crowd::Tool, certificate).ja4(runtime).map_err(|e| e.to_string())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-envoy").join(format!("connections-{name}"))
}

/// One of each [`Edge`], ready and warm.
struct Envoys<'a> {
    running: Vec<(Edge, Proxy)>,
    runtime: &'a Runtime,
    certificate: &'a Certificate,
}

impl Envoys<'_> {
    fn start<'a>(
        settings: &Settings,
        runtime: &'a Runtime,
        certificate: &'a Certificate,
        ja4: &str,
    ) -> Result<Envoys<'a>, String> {
        let weir = path("WEIR_WASM", "target/weir.wasm");
        let mut running = Vec::new();
        for edge in Edge::ALL {
            let front = edge.front(certificate.socket(), &weir, ja4);
            running.push((edge, Proxy::start(&settings.envoy, &folder(&format!("{edge:?}")), &front)?));
        }
        let envoys = Envoys { running, runtime, certificate };
        envoys.prepare(settings.connections).map_err(|e| format!("connections: {e}"))?;
        Ok(envoys)
    }

    /// Everybody has done what it is refused for. Then a round that nobody weighs: code is compiled, memory touched.
    fn prepare(&self, connections: usize) -> io::Result<()> {
        for edge in [Edge::WeirHttp, Edge::Weir] {
            let banned = self.visitors(edge, Crowd::Banned);
            banned.each(self.runtime, "/login")?;
            banned.each(self.runtime, "/login")?;
        }
        self.visitors(Edge::Weir, Crowd::Hasty).each(self.runtime, "/")?;
        for edge in [Edge::LocalRatelimit, Edge::FingerprintsRatelimit] {
            self.visitors(edge, Crowd::Welcome).each(self.runtime, "/")?;
        }
        for row in rows() {
            self.visitors(row.edge, row.crowd).run(self.runtime, connections, row.end)?;
        }
        Ok(())
    }

    /// One round of one row.
    fn weigh(&self, row: &mut Row, connections: usize) -> io::Result<()> {
        let (proxy, visitors) = (self.proxy(row.edge), self.visitors(row.edge, row.crowd));
        let shaken = proxy.handshakes()?;
        let before = proxy.cpu()?;
        visitors.run(self.runtime, connections, row.end)?;
        let spent = proxy.cpu()? - before;
        row.handshakes += proxy.handshakes()? - shaken;
        row.cpu_us.push(spent.as_secs_f64() * 1e6 / connections as f64);
        // A tenth as many, one by one, tell how long one takes.
        let delays = visitors.delays(self.runtime, connections / 10)?;
        row.delays_us.extend(delays.iter().map(|delay| delay.as_secs_f64() * 1e6));
        Ok(())
    }

    fn proxy(&self, edge: Edge) -> &Proxy {
        &self.running.iter().find(|(kind, _)| *kind == edge).unwrap().1
    }

    fn visitors(&self, edge: Edge, crowd: Crowd) -> Visitors {
        Visitors::new(self.proxy(edge).address, crowd, self.certificate)
    }
}
