//! What is told about one decision: a line of JSON with ECS field names (Elastic Common Schema 8). One per client
//! and `log_interval`, so a flood writes no flood of lines.

use super::json::Object;
use crate::identity::key::Caller;
use crate::policy::{Action, Mode, Ruling};
use crate::request::Request;
use crate::time::Nanos;
use std::time::{Duration, UNIX_EPOCH};

/// Where events go and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// To the host's log.
    pub log: bool,
    /// At most one event per client in this time.
    pub log_interval: Nanos,
}

/// One decision that is worth a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What was done, or would be in observe mode.
    pub action: Action,
    /// Was it done?
    pub mode: Mode,
    /// The rule that matched.
    pub rule: String,
    /// Whom the rule counted, as an operator reads it.
    pub subject: Vec<u8>,
    /// The caller's address.
    pub address: Option<core::net::IpAddr>,
    /// Time until the caller is within the limit again.
    pub wait: Nanos,
    /// Method, as sent.
    pub method: Vec<u8>,
    /// Host, as sent.
    pub host: Vec<u8>,
    /// Path without the query, which may hold secrets.
    pub path: Vec<u8>,
}

/// A client's text in an event is cut here: long enough to recognise, too short to fill a disk.
pub const MAX_TEXT_BYTES: usize = 256;

impl Event {
    /// Tells of one ruling. `path` is in normal form.
    pub fn of(
        ruling: &Ruling,
        rule: &str,
        subject: &str,
        caller: &Caller,
        request: &Request,
        path: &[u8],
    ) -> Event {
        Event {
            action: ruling.response.actions.answer,
            mode: ruling.response.mode,
            rule: rule.into(),
            subject: cut(subject.as_bytes()),
            address: caller.source.address(),
            wait: ruling.hit.wait,
            method: cut(request.method().unwrap_or_default()),
            host: cut(request.authority().unwrap_or_default()),
            path: cut(path),
        }
    }

    /// The line, without a line end. `unix_ms` is the wall clock.
    pub fn to_json(&self, unix_ms: u64) -> String {
        let mut line = String::with_capacity(512);
        let when =
            humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(unix_ms.min(MAX_UNIX_MS)));
        let mut object = Object::begin(&mut line);
        object
            .text("@timestamp", when.to_string().as_bytes())
            .text("ecs.version", b"8.17")
            .text("event.kind", b"alert")
            .text("event.dataset", b"weir.rules")
            .text("event.action", self.action.name().as_bytes())
            .text("weir.mode", self.mode.name().as_bytes())
            .text("rule.name", self.rule.as_bytes())
            .text("weir.subject", &self.subject);
        if let Some(address) = self.address {
            object.text("source.ip", address.to_string().as_bytes());
        }
        object
            .number("weir.retry_after_ms", self.wait.as_millis())
            .text("http.request.method", &self.method)
            .text("url.domain", &self.host)
            .text("url.path", &self.path);
        object.end();
        line
    }
}

fn cut(text: &[u8]) -> Vec<u8> {
    text.get(..MAX_TEXT_BYTES).unwrap_or(text).to_vec()
}

/// The last millisecond of the year 9999, after which RFC 3339 has no notation.
const MAX_UNIX_MS: u64 = 253_402_300_799_999;

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event {
            action: Action::Throttle,
            mode: Mode::Observe,
            rule: "r".into(),
            subject: b"client:2001:db8::/64".to_vec(),
            address: "2001:db8::7".parse().ok(),
            wait: Nanos::from_millis(1500),
            method: b"GET".to_vec(),
            host: b"shop.example\xff".to_vec(),
            path: b"/a\"\n".to_vec(),
        }
    }

    #[test]
    fn a_line_says_when_what_why_and_whom() {
        let line = event().to_json(1_700_000_000_123);
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        for (field, value) in [
            ("@timestamp", "2023-11-14T22:13:20.123Z"),
            ("event.action", "throttle"),
            ("weir.mode", "observe"),
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
