//! One caller's flood: answered in steps, felt by nobody else, over when it is over.

use super::support::{Process, Told, get};
use super::{A, B};
use weir::policy::Action;

const STEPS: &str = r#"{"mode": "enforce", "policy": {"tiers": [
    {"min_score": 40, "action": "challenge"}, {"min_score": 60, "action": "throttle"}, {"min_score": 80, "action": "block"}]}}"#;

fn action(told: &Told) -> Option<Action> {
    told.decision.action()
}

#[test]
fn a_growing_flood_is_challenged_then_throttled_then_banned_and_nobody_else_is_touched() {
    for workers in [1, 2, 4] {
        let mut process = Process::new(workers, STEPS);
        let others: Vec<String> = (1..20).map(|i| format!("198.51.100.{i}")).collect();
        let mut callers: Vec<_> = others.iter().map(|from| (get(from), 1.0)).collect();
        // A browser that goes to pages, and never answers.
        callers.push((get(A).header("accept", "text/html"), 2.0));
        process.live(&callers, 120);

        let mut steps = Vec::new();
        for rate in [9.0, 15.0, 40.0] {
            callers.last_mut().unwrap().1 = rate;
            process.play(&callers, 10, |who, _, told| match (who, action(told)) {
                (19, Some(action)) if steps.last() != Some(&action) => steps.push(action),
                (19, _) | (_, None) => {}
                (other, touched) => panic!("{other} is no flood and got {touched:?}"),
            });
        }
        let order = [Action::Challenge, Action::Throttle, Action::Block, Action::Deny];
        let first =
            |action| steps.iter().position(|step| *step == action).unwrap_or_else(|| panic!("{steps:?}"));
        assert!(order.map(first).is_sorted(), "{steps:?} on {workers} workers");
        assert_eq!(process.metric("weir_bans_active"), 1);
        assert_eq!(process.metric("weir_bans_issued_total.reason.tier"), 1);
    }
}

#[test]
fn everything_passes_again_within_a_bucket_after_a_flood() {
    let mut process = Process::new(2, r#"{"mode": "enforce"}"#);
    process.live(&[(get(A), 2.0)], 120);
    let mut refused = 0;
    process.play(&[(get(A), 30.0)], 35, |_, _, told| refused += usize::from(action(told).is_some()));
    assert!(refused > 700, "{refused}");
    let mut late = 0.0_f64;
    process.play(&[(get(A), 2.0)], 60, |_, at, told| {
        if action(told).is_some() {
            late = late.max(at);
        }
    });
    assert!(late <= 10.0, "still refused after {late} s");
}

#[test]
fn a_constant_flood_is_judged_alike_in_every_second() {
    let mut process =
        Process::new(2, r#"{"mode": "enforce", "policy": {"throttle": {"quota": 2, "window_seconds": 1}}}"#);
    process.live(&[(get(A), 2.0)], 120);
    process.live(&[(get(A), 50.0)], 10); // the bucket in which it begins
    let (mut admitted, mut scores) = ([0; 60], [[0; 2]; 60]);
    process.play(&[(get(A), 50.0)], 60, |_, at, told| {
        let second = at as usize;
        admitted[second] += usize::from(action(told).is_none());
        let score = usize::from(told.decision.threat.score.0);
        scores[second] = [scores[second][0].max(score), score];
    });
    assert!(admitted.iter().all(|n| (1..=3).contains(n)), "{admitted:?}");
    assert!(scores.iter().all(|score| *score == [80, 80]), "{scores:?}");
}

#[test]
fn a_page_of_two_hundred_pictures_is_never_denied_whoever_loads_it() {
    let session = r#""consumer": {"from": [{"cookie": "session"}]},"#;
    for (who, config) in [("a visitor", ""), ("who is logged in", session)] {
        let mut process = Process::new(2, &format!(r#"{{{config} "mode": "enforce"}}"#));
        let page = get(A).header("cookie", "session=7");
        let mut denied = 0;
        for minute in 0..30 {
            process.live(&[(page.clone(), 0.5), (get(B), 10.0)], 57);
            let mut look = |_: usize, _: f64, told: &Told| {
                denied += usize::from(action(told) >= Some(Action::Deny));
            };
            process.play(&[(page.clone(), 100.0 + f64::from(minute)), (get(B), 10.0)], 2, &mut look);
        }
        assert_eq!(denied, 0, "{who}");
        assert_eq!(process.metric("weir_ledger_charges_total"), 0, "{who}");
    }
}

#[test]
fn observing_reports_the_same_flood_and_lets_it_pass() {
    let mut process = Process::new(2, &STEPS.replace("enforce", "observe"));
    process.live(&[(get(A), 2.0)], 120);
    let mut seen = Vec::new();
    process.play(&[(get(A), 60.0)], 20, |_, _, told| {
        assert_eq!(action(told), None);
        seen.extend(told.decision.rulings.observed.map(|ruling| ruling.answer()));
    });
    assert!(seen.contains(&Action::Block), "{:?}", seen.last());
    assert_eq!(process.metric("weir_bans_issued_total.reason.tier"), 0, "what only observes bans nobody");
    assert!(process.metric("weir_tiers_decided_total.tier.80.mode.observe") > 500);
}

#[test]
fn the_guard_may_observe_while_rules_enforce() {
    let config = r#"{"mode": "enforce", "traffic": {"mode": "observe"}, "rules": [
        {"name": "r", "filter": {"max_req_rate": 20}, "action": ["throttle"]}]}"#;
    let mut process = Process::new(1, config);
    process.live(&[(get(A), 2.0)], 120);
    let mut got = [0, 0];
    process.play(&[(get(A), 40.0)], 20, |_, _, told| {
        got[0] += usize::from(action(told) == Some(Action::Throttle));
        got[1] += usize::from(told.decision.rulings.observed.is_some());
    });
    assert!((370..=410).contains(&got[0]), "{got:?}: the rule alone refuses");
    assert!(got[1] > 400, "{got:?}: the guard would");
}

#[test]
fn what_a_rule_refuses_is_no_surge_of_the_route() {
    let config = r#"{"mode": "enforce", "rules": [
        {"name": "r", "filter": {"max_req_rate": 5}, "action": ["throttle"]}]}"#;
    let mut process = Process::new(1, config);
    process.live(&[(get(B), 4.0)], 120);
    process.live(&[(get(A), 2.0), (get(B), 4.0)], 10);
    // Its own warm-up protects the flooding client from the guard, and the rule protects the route from it.
    let mut touched = 0;
    process.play(&[(get(A), 200.0), (get(B), 4.0)], 40, |who, _, told| {
        touched += usize::from(who == 1 && (action(told).is_some() || !told.decision.signals.is_empty()));
    });
    assert_eq!(touched, 0);
}

#[test]
fn a_client_that_comes_every_few_minutes_has_no_flood_for_usual() {
    for pause in [60, 240, 580] {
        let mut process = Process::new(2, r#"{"mode": "enforce"}"#);
        for _ in 0..12 {
            process.live(&[(get(A), 1.0)], 1);
            process.wait(weir::time::Nanos::from_secs(pause));
        }
        process.live(&[(get(A), 200.0)], 10);
        let mut passed = 0;
        process.play(&[(get(A), 200.0)], 120, |_, _, told| passed += usize::from(action(told).is_none()));
        assert!(passed <= 13 * 20, "{passed} of 24,000 after pauses of {pause} s");
    }
}

#[test]
fn a_flood_that_grows_in_steps_is_no_new_usual() {
    let mut process = Process::new(2, r#"{"mode": "enforce"}"#);
    process.live(&[(get(A), 4.0)], 600);
    let (mut rate, mut refused) = (4.0, 0);
    while rate < 1_000.0 {
        rate *= 1.3;
        process.play(&[(get(A), rate)], 10, |_, _, told| refused += usize::from(action(told).is_some()));
    }
    assert!(refused > 10_000, "{refused}");
}

#[test]
fn a_filter_that_looks_at_less_takes_nothing_from_another() {
    for other in [
        r#"{"traffic": {"route": false, "source": false, "consumer": false, "asn": false}}"#,
        r#"{"traffic": {"source": false, "routes": {"x": {"surge_factor": 1.1}}}}"#,
    ] {
        let mut process = Process::new(1, r#"{"mode": "enforce"}"#);
        let guarded = process.use_filter("other", other);
        process.decide_on(0, &get(B)); // the first request comes through the other filter
        process.switch_to(guarded);
        process.live(&[(get(A), 2.0), (get(B), 5.0)], 120);
        let (mut passed, mut touched) = (0, 0);
        process.play(&[(get(A), 100.0), (get(B), 5.0)], 40, |who, _, told| match who {
            0 => passed += usize::from(action(told).is_none()),
            _ => touched += usize::from(action(told).is_some()),
        });
        assert!(passed < 200, "{passed} of 4,000 beside {other}");
        assert_eq!(touched, 0, "beside {other}");
    }
}
