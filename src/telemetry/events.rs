//! What is told: lines of JSON with ECS field names (Elastic Common Schema 8). Of each kind at most one per subject and
//! interval, so a flood writes no flood of lines.

use super::json::Object;
use super::webhook;
use crate::bans::Reason;
use crate::detect::Detector;
use crate::detect::signal::{Kind, Signal};
use crate::identity::key::Caller;
use crate::policy::{Action, Mode};
use crate::request::Request;
use crate::score::Score;
use crate::time::Nanos;
use std::time::{Duration, UNIX_EPOCH};

/// Where events go and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// To the host's log.
    pub log: bool,
    /// At most one event per client in this time.
    pub log_interval: Nanos,
    /// To a service that collects them.
    pub webhook: Option<webhook::Settings>,
}

impl Settings {
    /// Does anybody hear of them?
    pub fn are_told(&self) -> bool {
        self.log || self.webhook.is_some()
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A rule with the action `log` matched.
    Rule {
        /// Its name.
        name: String,
        /// What was done, or would be in observe mode.
        action: Action,
        /// Was it done?
        mode: Mode,
        /// What happened: a request, a connection, an error.
        counted: &'static str,
        /// Time until the caller is within the limit again.
        wait: Nanos,
    },
    /// A tier with the action `log` was reached.
    Tier {
        /// The score that it begins at.
        min_score: u8,
        /// What was done, or would be.
        action: Action,
        /// Was it done?
        mode: Mode,
        /// The score of the request.
        score: Score,
        /// What it is made of.
        signals: String,
    },
    /// A detector answered by itself.
    Detector {
        /// Which.
        detector: Detector,
        /// What was done, or would be.
        action: Action,
        /// Was it done?
        mode: Mode,
        /// Time until the caller may come again.
        wait: Nanos,
    },
    /// A browser is to prove itself.
    Challenge {
        /// What its page shows.
        reason: String,
        /// Leading zero bits.
        difficulty: u8,
        /// The score of the request.
        score: Score,
        /// What it is made of.
        signals: String,
    },
    /// Somebody's traffic is far from what is usual, or many callers are new.
    Surge {
        /// What departs, with its numbers.
        signal: Signal,
        /// May tiers that it reaches bind?
        mode: Mode,
    },
    /// Somebody is banned.
    Ban {
        /// By what.
        reason: Reason,
        /// For how long.
        lasts: Nanos,
        /// What the ledger had against it.
        charged: u32,
        /// The score of the request.
        score: Score,
        /// What it is made of.
        signals: String,
        /// The rule that refused the request, if one did.
        rule: String,
    },
    /// A ban has ended, and its subject is back.
    Unban {
        /// What had made it.
        reason: Reason,
    },
}

/// One thing that is worth a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub what: What,
    /// To whom, as an operator reads it.
    pub subject: Vec<u8>,
    /// The caller's address.
    pub address: Option<core::net::IpAddr>,
    /// Method, as sent.
    pub method: Vec<u8>,
    /// Host, as sent.
    pub host: Vec<u8>,
    /// Path without the query, which may hold secrets.
    pub path: Vec<u8>,
    /// What is known of the caller's software, by the names of the methods.
    pub fingerprints: Vec<(Box<str>, Vec<u8>)>,
    /// Connections that the caller has open on this worker, where one of its connections is told of.
    pub connections: Option<u32>,
}

/// A client's text in an event is cut here: long enough to recognise, too short to fill a disk.
pub const MAX_TEXT_BYTES: usize = 256;

impl Event {
    /// Tells of one request. `path` is in normal form.
    pub fn of(what: What, subject: &str, caller: &Caller, request: &Request, path: &[u8]) -> Event {
        Event {
            what,
            subject: cut(subject.as_bytes()),
            address: caller.source.address(),
            method: cut(request.method().unwrap_or_default()),
            host: cut(request.authority().unwrap_or_default()),
            path: cut(path),
            fingerprints: Vec::new(),
            connections: None,
        }
    }

    /// The line, without a line end. `unix_ms` is the wall clock.
    pub fn to_json(&self, unix_ms: u64) -> String {
        let mut line = String::with_capacity(512);
        let mut object = Object::begin(&mut line);
        object
            .text("@timestamp", timestamp(unix_ms).as_bytes())
            .text("ecs.version", b"8.17")
            .text("event.kind", b"alert");
        self.what.write(unix_ms, &mut object);
        if !self.subject.is_empty() {
            object.text("weir.subject", &self.subject);
        }
        if let Some(address) = self.address {
            object.text("source.ip", address.to_string().as_bytes());
        }
        for (method, value) in &self.fingerprints {
            match &**method {
                "JA3" => object.text("tls.client.ja3", value),
                other => object.text(&format!("weir.fingerprint.{other}"), value),
            };
        }
        if let Some(open) = self.connections {
            object.number("weir.connections_open", open.into());
        }
        let request =
            [("http.request.method", &self.method), ("url.domain", &self.host), ("url.path", &self.path)];
        for (field, value) in request.into_iter().filter(|(_, value)| !value.is_empty()) {
            object.text(field, value);
        }
        object.end();
        line
    }
}

impl What {
    /// The room that tells, and what it did.
    fn titles(&self) -> (&'static str, &'static str) {
        match self {
            What::Rule { action, .. } => ("rules", action.name()),
            What::Tier { action, .. } => ("tiers", action.name()),
            What::Detector { detector, action, .. } => (detector.name(), action.name()),
            What::Challenge { .. } => ("challenge", "challenge"),
            What::Surge { signal, .. } if signal.kind == Kind::FirstSighting => ("anomaly", "first_sighting"),
            What::Surge { .. } => ("traffic", "surge"),
            What::Ban { .. } => ("bans", "ban"),
            What::Unban { .. } => ("bans", "unban"),
        }
    }

    fn write(&self, unix_ms: u64, object: &mut Object) {
        let (category, action) = self.titles();
        object
            .text("event.dataset", format!("weir.{category}").as_bytes())
            .text("event.action", action.as_bytes())
            .text("weir.category", category.as_bytes());
        match self {
            What::Rule { name, mode, counted, wait, .. } => {
                object
                    .text("weir.mode", mode.name().as_bytes())
                    .text("rule.name", name.as_bytes())
                    .text("weir.counted", counted.as_bytes())
                    .number("weir.retry_after_ms", wait.0.div_ceil(1_000_000));
            }
            What::Tier { min_score, mode, score, signals, .. } => {
                object
                    .text("weir.mode", mode.name().as_bytes())
                    .number("weir.tier", (*min_score).into())
                    .number("weir.score", score.0.into())
                    .text("weir.signals", signals.as_bytes());
            }
            What::Detector { mode, action, wait, .. } => {
                object.text("weir.mode", mode.name().as_bytes());
                if action.refuses() {
                    object.number("weir.retry_after_ms", wait.0.div_ceil(1_000_000));
                }
            }
            What::Challenge { reason, difficulty, score, signals } => {
                object
                    .text("weir.challenge.reason", reason.as_bytes())
                    .number("weir.challenge.difficulty", (*difficulty).into())
                    .number("weir.score", score.0.into())
                    .text("weir.signals", signals.as_bytes());
            }
            What::Surge { signal, mode } => {
                object.text("weir.mode", mode.name().as_bytes());
                write_signal(signal, object);
            }
            What::Ban { reason, lasts, charged, score, signals, rule } => {
                let until = unix_ms.saturating_add(lasts.as_millis());
                object
                    .text("weir.reason", reason.name().as_bytes())
                    .text("weir.until", timestamp(until).as_bytes())
                    .number("weir.ban_seconds", lasts.as_secs_ceil())
                    .number("weir.charged", (*charged).into())
                    .number("weir.score", score.0.into())
                    .text("weir.signals", signals.as_bytes());
                if !rule.is_empty() {
                    object.text("rule.name", rule.as_bytes());
                }
            }
            What::Unban { reason } => {
                object.text("weir.reason", reason.name().as_bytes());
            }
        }
    }
}

/// A surge by its numbers: requests in this bucket of time so far, in a usual one, the most that a whole one may have, and
/// how many times what may have come by now.
fn write_signal(signal: &Signal, object: &mut Object) {
    let evidence = &signal.evidence;
    object
        .text("weir.signal", signal.kind.name().as_bytes())
        .number("weir.weight", signal.weight.into())
        .number("weir.count", evidence.count.into())
        .decimal("weir.baseline", evidence.baseline)
        .decimal("weir.threshold", evidence.threshold)
        .decimal("weir.factor", evidence.factor);
}

fn timestamp(unix_ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(unix_ms.min(MAX_UNIX_MS))).to_string()
}

fn cut(text: &[u8]) -> Vec<u8> {
    text.get(..MAX_TEXT_BYTES).unwrap_or(text).to_vec()
}

/// The last millisecond of the year 9999, after which RFC 3339 has no notation.
const MAX_UNIX_MS: u64 = 253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::signal::Evidence;
    use crate::hash::SubjectHash;

    fn event() -> Event {
        let what = What::Rule {
            name: "r".into(),
            action: Action::Throttle,
            mode: Mode::Observe,
            counted: "requests",
            wait: Nanos::from_millis(1500),
        };
        of(what)
    }

    fn of(what: What) -> Event {
        Event {
            what,
            subject: b"client:2001:db8::/64".to_vec(),
            address: "2001:db8::7".parse().ok(),
            method: b"GET".to_vec(),
            host: b"shop.example\xff".to_vec(),
            path: b"/a\"\n".to_vec(),
            fingerprints: vec![("JA3".into(), b"e7".to_vec()), ("JA4".into(), b"t13".to_vec())],
            connections: Some(3),
        }
    }

    fn read(event: &Event) -> serde_json::Value {
        serde_json::from_str(&event.to_json(1_700_000_000_123)).unwrap()
    }

    #[test]
    fn a_surge_is_told_with_its_numbers() {
        let evidence = Evidence { count: 151, baseline: 20.25, threshold: 60.75, factor: 2.4856 };
        let signal = Signal { kind: Kind::SourceSurge, weight: 60, subject: SubjectHash(1), evidence };
        let line = read(&of(What::Surge { signal, mode: Mode::Enforce }));
        assert_eq!((&line["weir.category"], &line["event.action"]), (&"traffic".into(), &"surge".into()));
        assert_eq!(line["weir.signal"], "traffic:source_surge");
        assert_eq!((&line["weir.count"], &line["weir.weight"]), (&151.into(), &60.into()));
        for (field, value) in [("baseline", 20.25), ("threshold", 60.75), ("factor", 2.486)] {
            assert_eq!(line[format!("weir.{field}")], value, "{field}");
        }
    }

    #[test]
    fn a_surge_of_no_number_is_still_a_line() {
        let evidence = Evidence { count: 0, baseline: f32::NAN, threshold: f32::INFINITY, factor: -0.0 };
        let signal = Signal { kind: Kind::RouteSurge, weight: 40, subject: SubjectHash(1), evidence };
        let line = read(&of(What::Surge { signal, mode: Mode::Enforce }));
        assert_eq!(line["weir.threshold"], serde_json::Value::Null);
    }

    #[test]
    fn a_ban_is_told_with_its_end_and_what_it_rests_on() {
        let line = read(&of(What::Ban {
            reason: Reason::Ledger,
            lasts: Nanos::from_secs(300),
            charged: 180,
            score: Score(90),
            signals: "traffic:source_surge".into(),
            rule: String::new(),
        }));
        assert_eq!((&line["event.action"], &line["weir.reason"]), (&"ban".into(), &"ledger".into()));
        assert_eq!(line["weir.until"], "2023-11-14T22:18:20.123Z");
        assert_eq!((&line["weir.charged"], &line["weir.ban_seconds"]), (&180.into(), &300.into()));
        assert_eq!(line.get("rule.name"), None);
        assert_eq!(read(&of(What::Unban { reason: Reason::Rule }))["event.action"], "unban");
    }

    #[test]
    fn a_line_says_when_what_why_and_whom() {
        let line = event().to_json(1_700_000_000_123);
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        for (field, value) in [
            ("@timestamp", "2023-11-14T22:13:20.123Z"),
            ("event.action", "throttle"),
            ("weir.mode", "observe"),
            ("weir.counted", "requests"),
            ("tls.client.ja3", "e7"),
            ("weir.fingerprint.JA4", "t13"),
            ("rule.name", "r"),
            ("weir.subject", "client:2001:db8::/64"),
            ("source.ip", "2001:db8::7"),
            ("url.domain", "shop.example\u{fffd}"),
            ("url.path", "/a\"\n"),
        ] {
            assert_eq!(read[field], value, "{field}");
        }
        assert_eq!(read["weir.retry_after_ms"], 1500);
        assert!(!line.contains('\n'));
    }

    #[test]
    fn a_clock_out_of_all_bounds_still_gives_a_line() {
        assert!(event().to_json(u64::MAX).contains("9999-12-31"));
        assert!(event().to_json(0).contains("1970-01-01"));
    }
}
