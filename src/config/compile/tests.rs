use super::*;
use crate::config::{Errors, parse};
use crate::exchange;

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
    assert_eq!((plan.traffic_sizes.keys, plan.bans.bans, plan.network), (200_000, 50_000, None));
    assert_eq!(
        plan.events,
        events::Settings { log: true, log_interval: Nanos::from_secs(10), webhook: None }
    );
}

#[test]
fn every_section_arrives_in_the_plan() {
    let text = r#"{"client": {"ipv4_prefix": 24, "ipv6_prefix": 48, "proxies": ["10.0.0.1"], "trusted_ips": ["::1"]},
        "consumer": {"from": [{"header": "X-Key"}, {"cookie": "S"}, {"query": "k"}]},
        "exempt": [{"path": "/%68ealthz", "source": ["10.0.0.0/8"]}, {"path_prefix": "/x/"}],
        "tables": {"slots": 2048, "sketch_buckets": 1024}, "workers": {"exchange_ms": 50}, "events": {"log": false, "log_interval_seconds": 1.5}}"#;
    let plan = parse(text.as_bytes()).unwrap();
    let consumer =
        [Credential::Header("x-key".into()), Credential::Cookie("S".into()), Credential::Query("k".into())];
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
    assert_eq!(
        plan.events,
        events::Settings { log: false, log_interval: Nanos::from_millis(1_500), webhook: None }
    );
}

#[test]
fn a_list_without_end_is_refused() {
    let rules = r#"{"name": "a"},"#.repeat(257);
    let errors = errors(&format!(r#"{{"rules": [{}]}}"#, rules.trim_end_matches(',')));
    assert_eq!(errors.iter().next().unwrap().to_string(), "rules: has 257 entries; at most 256 are possible");
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

#[test]
fn the_number_of_a_network_is_a_filter_state_or_a_field_of_one() {
    let network = |asn: &str| {
        let text = format!(r#"{{"network": {{"asn": {asn}}}}}"#);
        parse(text.as_bytes()).unwrap().network.unwrap().to_string()
    };
    assert_eq!(network(r#"{"filter_state": "weir.asn"}"#), "filter_state\0weir.asn");
    assert_eq!(
        network(r#"{"filter_state": "envoy.geoip", "field": "x-asn"}"#),
        "filter_state\0envoy.geoip\0x-asn"
    );
}

#[test]
fn a_network_that_is_nowhere_is_refused() {
    for text in [
        "{}",
        r#"{"asn": {}}"#,
        r#"{"asn": {"filter_state": ""}}"#,
        r#"{"asn": {"filter_state": "a\u0000b"}}"#,
    ] {
        assert_eq!(errors(&format!(r#"{{"network": {text}}}"#)).len(), 1, "{text}");
    }
}
