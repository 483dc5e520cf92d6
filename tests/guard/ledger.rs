//! Who is refused again and again is banned.

use super::support::{Process, get};
use super::{A, B};
use weir::policy::Action;

/// Denies a source that surges, with a score of 40 to 80.
fn config(ledger: &str) -> String {
    format!(
        r#"{{"mode": "enforce", "consumer": {{"from": [{{"header": "x-api-key"}}]}},
        "traffic": {{"bucket_seconds": 1, "warmup_buckets": 2, "learning_buckets": 20, "route": false,
                     "source_floor_rps": 10, "consumer_floor_rps": 10}},
        "policy": {{"tiers": [{{"min_score": 40, "action": "deny"}}], "ledger": {ledger}, "ban": {{"duration_seconds": 30}}}}}}"#
    )
}

#[test]
fn denials_add_up_to_a_ban_at_the_limit_and_not_before() {
    for workers in [1, 2, 4] {
        let mut process = Process::new(workers, &config(r#"{"limit": 200}"#));
        process.live(&[(get(A), 3.0)], 10);
        let (mut charged, mut banned) = (0, Vec::new());
        process.play(&[(get(A), 15.0)], 3, |_, _, told| {
            if told.decision.action() == Some(Action::Deny) && told.decision.threat.score.0 > 0 {
                charged += u32::from(told.decision.threat.score.0);
            }
            banned.extend(told.decision.banned.map(|banned| (banned.charged, charged)));
        });
        assert_eq!(banned.len(), 1, "{banned:?}, {workers} workers");
        assert_eq!(banned[0].0, banned[0].1, "all charges count, whichever worker made them");
        assert!((200..240).contains(&banned[0].0), "{banned:?}");
        assert_eq!(process.metric("weir_bans_issued_total.reason.ledger"), 1);
    }
}

#[test]
fn charges_are_forgotten_after_the_window() {
    let mut process = Process::new(1, &config(r#"{"limit": 500, "window_seconds": 20}"#));
    process.live(&[(get(A), 3.0)], 10);
    for _ in 0..5 {
        // Eleven requests at once on top of three a second are some denials of 40, and then a pause.
        for _ in 0..11 {
            process.decide_on(0, &get(A));
        }
        process.live(&[(get(A), 3.0)], 25);
    }
    let charged = 40 * process.metric("weir_ledger_charges_total");
    assert!(charged >= 500, "{charged}: enough, if it were not forgotten");
    assert_eq!(process.metric("weir_bans_active"), 0);
}

#[test]
fn what_is_throttled_or_held_is_never_charged() {
    for action in ["log", "tarpit", "throttle", "challenge"] {
        let config = config(r#"{"limit": 1}"#).replace("deny", action);
        let mut process = Process::new(1, &config);
        process.live(&[(get(A), 3.0)], 10);
        process.live(&[(get(A), 100.0)], 10);
        assert_eq!(process.metric("weir_bans_active"), 0, "{action}");
    }
}

#[test]
fn the_credential_that_surges_is_banned_and_not_the_address_that_it_shares() {
    let mut process = Process::new(2, &config(r#"{"limit": 100}"#));
    let (good, bad) = (get(A).header("x-api-key", "good"), get(A).header("x-api-key", "bad"));
    // A company of one address: its usual 30 a second have a threshold of 90, one credential's 3 have 10.
    let company: Vec<String> = (0..9).map(|i| format!("employee-{i}")).collect();
    let mut callers: Vec<_> = company.iter().map(|key| (get(A).header("x-api-key", key), 3.0)).collect();
    callers.extend([(good, 1.5), (bad, 1.5)]);
    process.live(&callers, 30);
    callers.last_mut().unwrap().1 = 20.0;
    let mut subjects = Vec::new();
    process.play(&callers, 20, |who, _, told| {
        if who < 10 {
            assert_eq!(told.decision.action(), None, "an innocent colleague");
        }
        subjects.extend(
            told.events
                .iter()
                .filter(|event| event.to_json(0).contains(r#""event.action":"ban""#))
                .map(|event| String::from_utf8_lossy(&event.subject).into_owned()),
        );
    });
    assert_eq!(subjects.len(), 1, "{subjects:?}");
    assert!(subjects[0].starts_with("consumer:sha256:"), "{subjects:?}");
}

#[test]
fn a_new_credential_for_each_request_does_not_hide_the_address() {
    let mut process = Process::new(1, &config(r#"{"limit": 100}"#));
    process.live(&[(get(A), 3.0)], 10);
    for number in 0..300 {
        let key = format!("invented-{number}");
        process.wait_ms(20);
        process.decide_on(0, &get(A).header("x-api-key", &key));
    }
    assert_eq!(process.metric("weir_bans_active"), 1);
    assert_eq!(process.decide_on(0, &get(A)).decision.action(), Some(Action::Deny));
    assert_eq!(process.decide_on(0, &get(B)).decision.action(), None);
}

#[test]
fn who_must_never_be_banned_is_refused_and_no_more() {
    for never in [
        r#""client:203.0.113.0/24""#,
        r#""network:64500""#,
        r#""consumer:sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683""#,
    ] {
        let config = config(r#"{"limit": 100}"#)
            .replace(r#""duration_seconds": 30"#, &format!(r#""never": [{never}]"#))
            .replacen(r#""mode""#, r#""network": {"asn": {"filter_state": "asn"}}, "mode""#, 1);
        let mut process = Process::new(1, &config);
        process.network = Some("64500".into());
        let call = get(A).header("x-api-key", "key");
        process.live(&[(call.clone(), 3.0)], 10);
        let mut denied = 0;
        process.play(&[(call, 60.0)], 5, |_, _, told| {
            denied += usize::from(told.decision.action() == Some(Action::Deny))
        });
        assert!(denied > 200, "{never}");
        assert_eq!(process.metric("weir_bans_active"), 0, "{never}");
    }
}

#[test]
fn upstream_errors_and_refusals_by_rules_without_a_signal_charge_nobody() {
    let config = r#"{"mode": "enforce", "policy": {"ledger": {"limit": 1}},
        "rules": [{"name": "r", "filter": {"max_req_rate": 1}, "action": ["deny"]}]}"#;
    let mut process = Process::new(1, config);
    process.live(&[(get(A), 20.0)], 20);
    assert!(process.metric("weir_actions_total.action.deny.mode.enforce") > 300);
    assert_eq!(process.metric("weir_bans_active"), 0, "a rule that is to ban says block");
}
