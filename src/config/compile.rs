//! The document, section by section, into a [`Plan`]. Goes on after an error, so that all are found at once; what a
//! broken part yields is then never used.

use super::error::{Cause, Report};
use super::json::Value;
use super::place::Place;
use super::plan::Plan;
use super::read::{ANY, Section};
use super::{addresses, names, rules, schema, units};
use crate::identity::exempt::{Exemption, PathPattern};
use crate::identity::prefixes::Prefixes;
use crate::identity::{self, credential::Credential};
use crate::policy::Mode;
use crate::telemetry::events;
use crate::time::Nanos;
use crate::{exchange, policy};

/// Each is looked at once per request, so a list has an end.
const MOST_EXEMPTIONS: usize = 256;
/// Each is looked for in every request that a rule counts by consumer.
const MOST_CREDENTIALS: usize = 16;

/// Compiles the document. The plan is meant only if nothing was reported.
pub fn plan(document: &Value, report: &Report) -> Plan {
    let root = Section::open(document, &Place::Root, report);
    let root = root.unwrap_or(Section::empty(&Place::Root, report));
    let mode = root.read("mode", names::mode).unwrap_or(Mode::Observe);
    let consumer = root.optional_section("consumer", credentials).unwrap_or_default();
    let identity = root.section("client", |client| identity(client, consumer));
    let exempt = root.sections("exempt", MOST_EXEMPTIONS, exemption).into();
    let (rules, responses) = rules::read(&root, mode);
    root.section("policy", |_| ()); // all its fields belong to later versions, which opening it reports
    let exchange_ms = root.section("workers", |workers| workers.count("exchange_ms", &schema::EXCHANGE_MS));
    let interval = Nanos::from_millis(exchange_ms.into());
    Plan {
        mode,
        identity,
        exempt,
        rules,
        policy: policy::Settings { rules: responses },
        exchange: root.section("tables", |sizes| tables(sizes, interval)),
        events: root.section("events", events),
    }
}

fn tables(sizes: &Section, interval: Nanos) -> exchange::Settings {
    let slots = sizes.count("slots", &schema::SLOTS);
    let sketch_buckets = sizes.count("sketch_buckets", &schema::SKETCH_BUCKETS);
    let settings = exchange::Settings { slots, sketch_buckets, interval };
    if settings.memory_bytes() > schema::TABLES_BYTES {
        let exchange::Settings { slots, sketch_buckets, .. } = settings.rounded();
        sizes.refuse(Cause::TooLarge { slots, sketch_buckets, bytes: settings.memory_bytes() });
    }
    settings
}

fn identity(client: &Section, consumer: Box<[Credential]>) -> identity::Settings {
    identity::Settings {
        ipv4_prefix: client.count("ipv4_prefix", &schema::IPV4_PREFIX) as u8,
        ipv6_prefix: client.count("ipv6_prefix", &schema::IPV6_PREFIX) as u8,
        proxies: Prefixes::new(client.list("proxies", ANY, addresses::network)),
        trusted: Prefixes::new(client.list("trusted_ips", ANY, addresses::network)),
        consumer,
    }
}

fn credentials(consumer: &Section) -> Box<[Credential]> {
    const EXAMPLE: &str = "say where credentials are, as in [{\"header\": \"authorization\"}]";
    consumer.need("from", EXAMPLE);
    consumer.need_items("from", EXAMPLE);
    consumer.sections("from", MOST_CREDENTIALS, credential).into()
}

fn credential(place: &Section) -> Option<Credential> {
    let header = place.read("header", names::header).map(Credential::Header);
    let cookie = place.read("cookie", names::cookie).map(Credential::Cookie);
    let query = place.read("query", names::query).map(Credential::Query);
    place.require_one(&["header", "cookie", "query"]);
    header.or(cookie).or(query)
}

fn exemption(entry: &Section) -> Option<Exemption> {
    let exact = entry.read("path", names::path).map(PathPattern::Exactly);
    let prefix = entry.read("path_prefix", names::path).map(PathPattern::Prefix);
    entry.require_one(&["path", "path_prefix"]);
    entry.need_items("source", "name an address, or leave source out to exempt everybody");
    let source = entry.has("source").then(|| Prefixes::new(entry.list("source", ANY, addresses::network)));
    Some(Exemption { path: exact.or(prefix)?, source })
}

fn events(section: &Section) -> events::Settings {
    let interval = section.read("log_interval_seconds", |v| units::seconds(v, &schema::LOG_INTERVAL));
    events::Settings {
        log: section.read("log", units::switch).unwrap_or(true),
        log_interval: interval.unwrap_or(units::nanos(schema::LOG_INTERVAL.default)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Errors, parse};

    fn errors(text: &str) -> Errors {
        parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn nothing_said_is_the_safe_start() {
        let plan = parse(b"").unwrap();
        assert_eq!(plan.mode, Mode::Observe);
        assert_eq!(plan.identity, identity::Settings::default());
        assert_eq!((plan.rules.rules.len(), plan.exempt.len()), (0, 0));
        assert_eq!(
            plan.exchange,
            exchange::Settings { slots: 50_000, sketch_buckets: 65_536, interval: Nanos::from_millis(200) }
        );
        assert_eq!(plan.events, events::Settings { log: true, log_interval: Nanos::from_secs(10) });
    }

    #[test]
    fn every_section_arrives_in_the_plan() {
        let text = r#"{"client": {"ipv4_prefix": 24, "ipv6_prefix": 48, "proxies": ["10.0.0.1"], "trusted_ips": ["::1"]},
            "consumer": {"from": [{"header": "X-Key"}, {"cookie": "S"}, {"query": "k"}]},
            "exempt": [{"path": "/%68ealthz", "source": ["10.0.0.0/8"]}, {"path_prefix": "/x/"}],
            "tables": {"slots": 2048, "sketch_buckets": 1024}, "workers": {"exchange_ms": 50}, "events": {"log": false, "log_interval_seconds": 1.5}}"#;
        let plan = parse(text.as_bytes()).unwrap();
        let consumer = [
            Credential::Header("x-key".into()),
            Credential::Cookie("S".into()),
            Credential::Query("k".into()),
        ];
        assert_eq!(
            plan.identity,
            identity::Settings {
                ipv4_prefix: 24,
                ipv6_prefix: 48,
                proxies: Prefixes::of(["10.0.0.1/32"]),
                trusted: Prefixes::of(["::1/128"]),
                consumer: consumer.into(),
            }
        );
        let healthz = PathPattern::Exactly((*b"/healthz").into());
        let source = Some(Prefixes::of(["10.0.0.0/8"]));
        assert_eq!(plan.exempt[0], Exemption { path: healthz, source });
        assert_eq!(plan.exempt[1], Exemption { path: PathPattern::Prefix((*b"/x/").into()), source: None });
        assert_eq!(
            plan.exchange,
            exchange::Settings { slots: 2_048, sketch_buckets: 1_024, interval: Nanos::from_millis(50) }
        );
        assert_eq!(plan.events, events::Settings { log: false, log_interval: Nanos::from_millis(1_500) });
    }

    #[test]
    fn the_most_slots_fit_a_workers_budget_at_the_bytes_that_the_reference_says() {
        let memory = |slots: f64| {
            parse(format!(r#"{{"tables": {{"slots": {slots}}}}}"#).as_bytes()).unwrap().memory_bytes()
        };
        let (most, usual) = (schema::SLOTS.max, schema::SLOTS.default);
        assert!(memory(most) <= schema::TABLES_BYTES, "{}", memory(most));
        let each = (memory(most) - memory(usual)) as f64 / (most - usual);
        assert!((56.5..58.5).contains(&each), "{each}");
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let rules = r#"{"name": "a"},"#.repeat(257);
        let errors = errors(&format!(r#"{{"rules": [{}]}}"#, rules.trim_end_matches(',')));
        assert_eq!(
            errors.iter().next().unwrap().to_string(),
            "rules: has 257 entries; at most 256 are possible"
        );
    }

    #[test]
    fn more_errors_than_a_person_reads_are_counted() {
        let keys: Vec<String> = (0..5_000).map(|i| format!(r#""x{i}": 1"#)).collect();
        let errors = errors(&format!("{{{}}}", keys.join(",")));
        assert_eq!((errors.len(), errors.iter().count()), (5_000, 100));
        assert!(errors.to_string().ends_with("\nand 4900 more"));
    }

    #[test]
    fn a_megabyte_of_garbage_is_one_error() {
        for garbage in ["{", "x", "\"", "[", "\0", "{\"a\":"] {
            assert_eq!(errors(&garbage.repeat((1 << 20) / garbage.len())).len(), 1, "{garbage}");
            assert_eq!(errors(&garbage.repeat((2 << 20) / garbage.len())).len(), 1, "{garbage}");
        }
        assert_eq!(parse(&[0xff; 1 << 20]).unwrap_err().len(), 1);
    }
}
