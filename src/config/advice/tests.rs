use super::*;
use crate::config;

fn all_of(text: &str) -> Vec<String> {
    warnings(&config::parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}")))
}

fn of(rules: &str) -> Vec<String> {
    all_of(&format!(r#"{{"mode": "enforce", "rules": [{rules}]}}"#))
}

fn of_tiers(tiers: &str) -> Vec<String> {
    all_of(&format!(r#"{{"mode": "enforce", "policy": {{"tiers": [{tiers}]}}}}"#))
}

const THROTTLE: &str = r#"{"name": "limit", "filter": {"max_req_rate": 10}, "action": ["throttle"]}"#;
const LOG: &str = r#"{"name": "watch", "filter": {"max_req_rate": 5}, "action": ["log"]}"#;
const NO_GUARD: &str = r#""traffic": {"route": false, "source": false}"#;

#[test]
fn a_rule_that_lets_pass_before_one_that_refuses_is_doubted() {
    assert_eq!(of(&format!("{LOG}, {THROTTLE}")).len(), 1);
    assert_eq!(of(&format!("{}, {THROTTLE}", LOG.replace("log", "tarpit"))).len(), 1);
    assert!(of(&format!("{THROTTLE}, {LOG}")).is_empty());
    let observing = LOG.replace(r#""name""#, r#""mode": "observe", "name""#);
    assert!(of(&format!("{observing}, {THROTTLE}")).is_empty());
}

#[test]
fn a_ban_of_everybody_on_a_route_is_doubted() {
    let rule = |key| {
        format!(r#"{{"name": "a", "filter": {{"max_req_rate": 5, "key": {key}}}, "action": ["block"]}}"#)
    };
    assert_eq!(of(&rule(r#""route""#)).len(), 1);
    assert!(of(&rule(r#"["route", "client"]"#)).is_empty());
}

#[test]
fn what_is_in_force_fits_one_line() {
    let of = |text: String| summary(&config::parse(text.as_bytes()).unwrap());
    assert_eq!(
        of(format!(r#"{{"rules": [{THROTTLE}, {LOG}]}}"#)),
        "mode observe, 2 rules of which 0 enforced, traffic guard observed, 3 tiers, 0 exemptions"
    );
    assert_eq!(
        of(format!(r#"{{"mode": "enforce", "rules": [{THROTTLE}]}}"#)),
        "mode enforce, 1 rule of which 1 enforced, traffic guard enforced, 3 tiers, 0 exemptions"
    );
    assert_eq!(
        of(format!("{{{NO_GUARD}}}")),
        "mode observe, 0 rules of which 0 enforced, no traffic guard, 3 tiers, 0 exemptions"
    );
}

#[test]
fn a_configuration_that_refuses_nothing_says_so_and_why() {
    let first = |text: String| all_of(&text).first().cloned().unwrap_or_default();
    let observes = "nothing is refused: the traffic guard observes, and no rule is enabled; \"mode\": \"enforce\" makes them act";
    assert_eq!(first("{}".into()), observes);
    assert!(first(format!(r#"{{"rules": [{LOG}]}}"#)).contains("every rule and the traffic guard observe"));
    assert!(first(format!(r#"{{{NO_GUARD}, "rules": [{LOG}]}}"#)).contains("every rule observes"));
    assert!(first(format!(r#"{{"mode": "enforce", {NO_GUARD}}}"#)).starts_with("there are no rules and no"));
    assert!(
        first(r#"{"mode": "enforce", "traffic": {"mode": "observe"}}"#.into())
            .ends_with("remove their own mode to let them act")
    );
    assert!(first(r#"{"policy": {"tiers": []}}"#.into()).contains("policy.tiers is empty"));
    assert!(all_of(r#"{"mode": "enforce"}"#).is_empty(), "the guard alone is something");
}

#[test]
fn what_newcomers_reach_is_something_and_a_tier_that_lets_each_pass_is_doubted() {
    let of = |mode: &str, action: &str| {
        all_of(&format!(
            r#"{{{NO_GUARD}, "first_sighting": {{"mode": "{mode}", "weight": 60}},
            "policy": {{"tiers": [{{"min_score": 60, "action": "{action}"}}]}}}}"#
        ))
    };
    assert!(of("enforce", "deny").is_empty());
    assert!(matches!(&*of("observe", "deny"), [doubt] if doubt.contains("every rule and detector observes")));
    assert!(matches!(&*of("enforce", "throttle"), [doubt] if doubt.contains("its quota is 20")));
}

#[test]
fn tiers_that_grow_milder_are_doubted() {
    let mild = r#"{"min_score": 90, "action": "throttle"}, {"min_score": 50, "action": "deny"}"#;
    assert_eq!(of_tiers(mild), ["policy.tiers: throttle from 90 on is milder than deny from 50 on"]);
    let unreached =
        all_of(&format!(r#"{{{NO_GUARD}, "policy": {{"tiers": [{{"min_score": 50, "action": "deny"}}]}}}}"#));
    assert!(unreached.iter().any(|warning| warning.starts_with("no tier is ever reached")));
}

#[test]
fn a_fingerprint_that_callers_could_write_is_doubted() {
    let of = |from: &str| {
        let rule = r#"{"name": "a", "filter": {"fingerprints": {"tool": ["x"]}}, "action": ["deny"]}"#;
        all_of(&format!(
            r#"{{"mode": "enforce", "fingerprints": {{"tool": {{"{from}": "x-tool"}}}}, "rules": [{rule}]}}"#
        ))
    };
    assert!(of("filter_state").is_empty());
    assert!(matches!(&*of("header"), [doubt] if doubt.contains("x-tool")));
}

#[test]
fn a_burst_of_one_is_doubted_in_the_words_of_what_it_counts() {
    let rule = |field| format!(r#"{{"name": "a", "filter": {{"{field}": 1}}, "action": ["deny"]}}"#);
    for (field, words) in [
        ("max_req_rate", ["request", "req_burst_multiplier"]),
        ("max_conn_rate", ["connection", "conn_burst_multiplier"]),
        ("max_h2_error_rate", ["error", "h2_burst_multiplier"]),
    ] {
        assert!(
            matches!(&*of(&rule(field)), [doubt] if words.iter().all(|word| doubt.contains(word))),
            "{field}"
        );
    }
}

#[test]
fn a_watch_over_what_is_not_known_is_doubted() {
    let of = |traffic: &str| all_of(&format!(r#"{{"mode": "enforce", "traffic": {traffic}}}"#));
    assert!(of("{}").is_empty());
    assert_eq!(of(r#"{"asn": true}"#).len(), 1);
    assert_eq!(of(r#"{"consumer": true}"#).len(), 1);
    assert_eq!(of(r#"{"route": false, "routes": {"a": {}}}"#).len(), 1);
}
