//! Tiers, their quotas, and rules beside them.

use super::support::{Got, Process, get};
use super::{A, B};
use weir::policy::{Action, Cause};

/// A guard that judges after some seconds, and one tier.
fn config(action: &str, more: &str) -> String {
    format!(
        r#"{{"mode": "enforce",
        "traffic": {{"bucket_seconds": 1, "warmup_buckets": 2, "learning_buckets": 20, "route": false, "source_floor_rps": 10}},
        "policy": {{"tiers": [{{"min_score": 40, "action": "{action}"}}] {more}}}}}"#
    )
}

#[test]
fn a_throttling_tier_lets_its_quota_pass_in_each_window_of_the_clock_over_all_workers() {
    for workers in [1, 2, 4] {
        let quota = r#", "throttle": {"quota": 7, "window_seconds": 5}"#;
        let mut process = Process::new(workers, &config("throttle", quota));
        process.live(&[(get(A), 3.0)], 10); // from 1,000 s on: windows begin at multiples of 5 s
        process.live(&[(get(A), 30.0)], 5);
        let mut passed = [0; 4];
        process.play(&[(get(A), 30.0)], 20, |_, at, told| {
            passed[at as usize / 5] += usize::from(told.decision.action().is_none());
        });
        assert_eq!(passed, [7; 4], "{workers} workers");
    }
}

#[test]
fn a_throttled_caller_hears_when_its_window_ends() {
    let quota = r#", "throttle": {"quota": 2, "window_seconds": 5}"#;
    let mut process = Process::new(1, &config("throttle", quota));
    process.live(&[(get(A), 3.0)], 10);
    process.play(&[(get(A), 30.0)], 10, |_, at, told| {
        let Some(ruling) = told.decision.rulings.enforced else { return };
        let limit = ruling.limit.unwrap();
        assert_eq!((limit.requests, limit.window.as_millis()), (2, 5_000));
        let left = 5_000 - (at * 1000.0) as u64 % 5_000;
        assert!(limit.wait.as_millis().abs_diff(left) <= 20, "{} {left}", limit.wait.as_millis());
    });
}

#[test]
fn each_action_of_a_tier_is_what_it_says() {
    for (word, action) in [
        ("log", Action::Log),
        ("tarpit", Action::Tarpit),
        ("deny", Action::Deny),
        ("block", Action::Block),
        ("close", Action::Close),
    ] {
        let mut process = Process::new(1, &config(word, ""));
        process.live(&[(get(A), 3.0)], 10);
        let mut got = Vec::new();
        process.play(&[(get(A), 30.0), (get(B), 1.0)], 3, |who, _, told| {
            let answer = told.decision.action();
            match who {
                0 => got.extend(answer),
                _ => assert_eq!(answer, None, "another caller, {word}"),
            }
        });
        assert_eq!(got.first(), Some(&action));
    }
}

#[test]
fn the_more_severe_of_rule_and_tier_decides_and_the_rules_log_is_still_written() {
    let rule = |action: &str| {
        let rule = format!(
            r#""rules": [{{"name": "r", "filter": {{"max_req_rate": 1}}, "action": {action}}}], "policy""#
        );
        config("deny", r#", "ledger": {"limit": 1000000}"#).replace(r#""policy""#, &rule)
    };
    for (action, decides) in [
        (r#"["log"]"#, Cause::Tier(40)),
        (r#"["log", "throttle"]"#, Cause::Tier(40)),
        (r#"["log", "deny"]"#, Cause::Rule(0)),
        (r#"["log", "close"]"#, Cause::Rule(0)),
    ] {
        let mut process = Process::new(1, &rule(action));
        process.live(&[(get(A), 3.0)], 10);
        let mut seen = 0;
        process.play(&[(get(A), 30.0)], 3, |_, _, told| {
            if !told.decision.signals.is_empty() {
                assert_eq!(told.decision.rulings.enforced.unwrap().cause, decides, "{action}");
                seen += 1;
            }
        });
        assert!(seen > 40, "{action}");
        assert!(process.metric("weir_actions_total.action.log.mode.enforce") > 40, "{action}");
        assert!(process.metric("weir_rules_matched_total.rule.r.mode.enforce") > 40, "{action}");
    }
}

#[test]
fn no_tiers_and_no_traffic_are_ways_to_have_neither() {
    let none = config("deny", "").replace(r#"{"min_score": 40, "action": "deny"}"#, "");
    let off = r#"{"mode": "enforce", "traffic": {"route": false, "source": false, "consumer": false, "asn": false}}"#;
    for config in [none.as_str(), off] {
        let mut process = Process::new(1, config);
        process.live(&[(get(A), 3.0)], 10);
        process.play(&[(get(A), 100.0)], 10, |_, _, told| assert_eq!(told.decision.action(), None));
        let raised = process.metric("weir_signals_total.signal.traffic_source_surge");
        assert_eq!(raised > 0, config == none, "signals are raised where the guard is on");
    }
}

#[test]
fn what_is_exempt_is_neither_judged_nor_learned() {
    let exempt = r#"{"exempt": [{"path": "/healthz"}], "client": {"trusted_ips": ["192.0.2.1"]}, "mode""#;
    let mut process = Process::new(1, &config("deny", "").replacen(r#"{"mode""#, exempt, 1));
    process.live(&[(get(A), 3.0)], 10);
    let callers = [(get(A).path("/healthz"), 100.0), (get("192.0.2.1"), 100.0), (get(A), 3.0)];
    process.play(&callers, 10, |_, _, told| assert_eq!(told.decision.action(), None));
    assert_eq!(process.metric("weir_signals_total.signal.traffic_source_surge"), 0);
}

#[test]
fn a_clock_that_steps_judges_nobody_for_it() {
    let mut process = Process::new(2, &config("block", ""));
    process.live(&[(get(A), 5.0)], 30);
    for to in [3_600, 1_100, 1_099, 90_000, 5] {
        process.step_clock(weir::time::Nanos::from_secs(to));
        for _ in 0..40 {
            assert_eq!(process.call(&get(A)), Got::Pass, "40 at once after a step to {to} s");
            process.wait_ms(100);
        }
        process.live(&[(get(A), 5.0)], 30);
    }
    assert_eq!(process.metric("weir_bans_active"), 0);
}
