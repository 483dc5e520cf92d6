//! Stories of detectors that count: volume, wallet, loop breaker and first sightings, on fake time, against the engine that
//! the module runs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)] // a test fails by panicking

#[path = "support/mod.rs"]
mod support;

use support::{Call, Got, Process, get};
use weir::detect::Detector;
use weir::policy::{Action, Cause, Mode};
use weir::telemetry::events::What;
use weir::time::Nanos;

const A: &str = "203.0.113.7";
const B: &str = "203.0.113.8";
const NO_GUARD: &str = r#""traffic": {"route": false, "source": false}"#;
const CONSUMER: &str = r#""consumer": {"from": [{"header": "x-api-key"}]}"#;

fn enforce(members: &str) -> String {
    format!(r#"{{"mode": "enforce", {CONSUMER}, {NO_GUARD}, {members}}}"#)
}

/// Workers that have heard of each other.
fn process(workers: usize, members: &str) -> Process {
    let mut process = Process::new(workers, &enforce(members));
    for worker in 0..workers {
        process.call_on(worker, &get(&format!("198.51.100.{worker}")).path("/begin"));
    }
    process.wait_ms(6_000);
    process
}

/// How many of `per_second` for `seconds` pass, by the action that those which don't have.
fn sent(process: &mut Process, per_second: u64, seconds: u64, call: &Call) -> (u64, u64, u64) {
    let (mut passed, mut held, mut refused) = (0, 0, 0);
    for n in 0..per_second * seconds {
        process.wait(Nanos(1_000_000_000 / per_second));
        let worker = n as usize % process.workers();
        match process.decide_on(worker, call).decision.action() {
            None => passed += 1,
            Some(Action::Tarpit) => held += 1,
            Some(_) => refused += 1,
        }
    }
    (passed, held, refused)
}

#[test]
fn half_the_threshold_in_every_tick_passes_for_ever_whatever_the_number_of_workers() {
    for workers in [1, 2, 4] {
        let mut process = process(workers, r#""volume": {"threshold": 80, "tarpit_threshold": 80}"#);
        assert_eq!(sent(&mut process, 40, 60, &get(A)), (2_400, 0, 0), "{workers} workers");
    }
}

#[test]
fn beyond_it_a_caller_is_refused_on_all_workers_until_it_comes_less_often() {
    for workers in [1, 2, 4] {
        let mut process = process(workers, r#""volume": {"threshold": 80, "tarpit_threshold": 80}"#);
        let (passed, _, refused) = sent(&mut process, 200, 10, &get(A));
        // One worker knows at once; several don't know all that the others counted, an eighth of the threshold here.
        assert!(passed <= 80 + 10 && passed + refused == 2_000, "{workers} workers: {passed}");
        process.wait_ms(3_000);
        assert_eq!(sent(&mut process, 20, 5, &get(A)).0, 100, "{workers} workers");
    }
}

#[test]
fn what_one_caller_does_on_one_path_is_nobody_elses_and_no_other_paths() {
    let mut process = process(2, r#""volume": {"threshold": 20, "tarpit_threshold": 20}"#);
    assert!(process.passes(100, &get(A).path("/login")) <= 40);
    assert_eq!(process.passes(10, &get(A).path("/basket")), 10);
    assert_eq!(process.passes(10, &get(B).path("/login")), 10);
    assert_eq!(process.passes(4, &get(A).path("//x/..;/%6Cogin;v=2?q=1")), 0, "however the path is spelled");
}

#[test]
fn the_first_band_holds_and_the_second_refuses_with_the_time_to_wait() {
    let mut process = process(1, r#""volume": {"threshold": 8, "tarpit_threshold": 4}"#);
    let call = get(A).path("/login");
    let mut told: Vec<_> = (0..9).map(|_| process.decide_on(0, &call)).collect();
    let actions: Vec<_> = told.iter().map(|told| told.decision.action()).collect();
    let (none, held, refused) = (None, Some(Action::Tarpit), Some(Action::Throttle));
    assert_eq!(actions, [none, none, none, held, held, held, held, refused, refused]);
    let ruling = told.pop().unwrap().decision.rulings.enforced.unwrap();
    assert_eq!(ruling.cause, Cause::Detector(Detector::Volume));
    let limit = ruling.limit.unwrap();
    assert_eq!((limit.requests, limit.window), (4, Nanos::from_secs(1)));
    process.wait(limit.wait);
    assert_ne!(process.decide_on(0, &call).decision.action(), refused, "who waits as told is not refused");
}

#[test]
fn a_bot_over_five_thousand_addresses_with_one_token_is_limited_as_one() {
    for workers in [1, 2, 4] {
        let mut process = process(workers, r#""wallet": {"threshold": 80, "tarpit_threshold": 80}"#);
        let mut passed = 0;
        for n in 0..5_000u32 {
            process.wait(Nanos::from_millis(2));
            let from = format!("198.18.{}.{}", n / 250, n % 250 + 1);
            let stolen = get(&from).header("x-api-key", "stolen");
            passed += usize::from(process.call_on(n as usize % workers, &stolen) == Got::Pass);
        }
        assert!((79..=90).contains(&passed), "{workers} workers: {passed} of 5,000 passed");
        assert_eq!(process.passes(20, &get(B).header("x-api-key", "own")), 20);
        assert_eq!(process.passes(20, &get(A)), 20, "who has no token has no wallet");
        let told = process.decide_on(0, &get(B).header("x-api-key", "stolen"));
        let ruling = told.decision.rulings.enforced.unwrap();
        assert_eq!(ruling.cause, Cause::Detector(Detector::Wallet));
    }
}

#[test]
fn a_wallet_makes_one_event_per_credential_and_interval_from_however_many_addresses() {
    let mut process = process(1, r#""wallet": {"threshold": 10, "tarpit_threshold": 10}"#);
    let mut events = Vec::new();
    for n in 0..200 {
        let from = format!("198.18.0.{n}");
        events.extend(process.decide_on(0, &get(&from).header("x-api-key", "stolen")).events);
    }
    let [event] = &events[..] else { panic!("{} events", events.len()) };
    assert!(matches!(
        &event.what,
        What::Detector { detector: Detector::Wallet, action: Action::Throttle, .. }
    ));
    assert!(event.subject.starts_with(b"consumer:sha256:"));
    assert_eq!(process.metric("weir_detectors_decided_total.detector.wallet.mode.enforce"), 191);
}

#[test]
fn a_detector_that_observes_lets_pass_and_says_what_it_would_have_done() {
    let mut process = process(1, r#""volume": {"mode": "observe", "threshold": 10}"#);
    assert_eq!(process.passes(100, &get(A)), 100);
    assert_eq!(process.metric("weir_detectors_decided_total.detector.volume.mode.observe"), 91);
    assert_eq!(process.metric("weir_actions_total.action.throttle.mode.observe"), 91);
    let ruling = process.decide_on(0, &get(A)).decision.rulings;
    assert_eq!((ruling.enforced, ruling.observed.unwrap().response.mode), (None, Mode::Observe));
}

#[test]
fn of_a_rule_and_a_detector_the_more_severe_answers_and_neither_hides_the_others_count() {
    let rule = |action| {
        format!(
            r#""volume": {{"threshold": 10, "tarpit_threshold": 10}}, "rules": [{{"name": "r",
            "filter": {{"max_req_rate": "1/h", "req_burst_multiplier": 18000}}, "action": ["{action}"]}}]"#
        )
    };
    let mut denied = process(1, &rule("deny"));
    let actions: Vec<_> = (0..12).map(|_| denied.call_on(0, &get(A))).collect();
    assert_eq!(actions[5], Got::Refused(Action::Deny));
    assert_eq!(actions[11], Got::Refused(Action::Deny), "429 is milder");
    let mut held = process(1, &rule("tarpit"));
    let actions: Vec<_> = (0..12).map(|_| held.decide_on(0, &get(A)).decision.action()).collect();
    assert_eq!((actions[6], actions[11]), (Some(Action::Tarpit), Some(Action::Throttle)));
}

/// One try of a caller at a path that fails; does the upstream see it?
fn tries(process: &mut Process, worker: usize, call: &Call) -> bool {
    process.status = 503;
    let seen = process.call_on(worker, call) == Got::Pass;
    process.status = 200;
    seen
}

#[test]
fn a_retry_loop_is_answered_in_place_of_an_upstream_that_sees_almost_none_of_it() {
    for workers in [1, 2] {
        let mut process = process(workers, r#""loop_breaker": {}"#);
        let call = get(A).path("/orders");
        let mut seen = 0;
        for n in 0..6_000 {
            process.wait_ms(10);
            seen += usize::from(tries(&mut process, n % workers, &call));
        }
        // Twenty at first and ten per tick, and what workers don't know of each other's yet.
        assert!(seen <= 20 + 7 * 10 + (workers - 1) * 24, "{workers} workers: {seen} of 6,000 in a minute");
        let Got::Refused(action) = process.call_on(0, &call) else { panic!() };
        assert_eq!(action, Action::Shed);
        assert_eq!(process.call_on(0, &get(A).path("/basket")), Got::Pass, "another path");
        assert_eq!(process.call_on(0, &get(B).path("/orders")), Got::Pass, "another caller");
        let beside = get(A).path("/orders").header("x-api-key", "neighbour");
        assert_eq!(process.call_on(0, &beside), Got::Pass, "another credential behind the same address");
    }
}

#[test]
fn a_breaker_closes_within_a_tick_after_the_last_failure_and_stays_closed() {
    let mut process = process(2, r#""loop_breaker": {"tick_seconds": 4}"#);
    let call = get(A).path("/orders");
    for n in 0..150 {
        process.wait_ms(10);
        tries(&mut process, n % 2, &call);
    }
    assert_eq!(process.metric("weir_loops_open"), 2, "each worker knows of it");
    assert!(matches!(process.call_on(0, &call), Got::Refused(Action::Shed)));
    // The upstream is well again: refusals of our own keep nothing open.
    let mut waited = 0;
    while process.call_on(0, &call) != Got::Pass {
        process.wait_ms(100);
        waited += 100;
        assert!(waited <= 4_000, "still open");
    }
    assert_eq!(sent(&mut process, 50, 10, &call), (500, 0, 0));
    assert_eq!(process.metric("weir_loops_open"), 0);
}

#[test]
fn failures_that_are_not_the_upstreams_open_nothing() {
    let mut process = process(1, r#""loop_breaker": {"threshold": 5}"#);
    for status in [404, 429, 499, 200] {
        process.status = status;
        assert_eq!(process.passes(50, &get(A).path("/x")), 50, "{status}");
    }
}

#[test]
fn who_breaks_a_loop_is_told_in_words_when_to_try_again() {
    let mut process = process(1, r#""loop_breaker": {"threshold": 3}"#);
    let call = get(A).path("/orders");
    (0..3).for_each(|_| assert!(tries(&mut process, 0, &call)));
    let told = process.decide_on(0, &call);
    let ruling = told.decision.rulings.enforced.unwrap();
    let seconds = ruling.limit.unwrap().wait.as_secs_ceil();
    assert!((1..=15).contains(&seconds), "{seconds}");
    let [event] = &told.events[..] else { panic!() };
    assert_eq!(event.subject, b"client:203.0.113.7 path:/orders");
    assert!(process.decide_on(0, &call).events.is_empty(), "no line for each hit");
}

/// Clients that come once each.
fn crowd(process: &mut Process, from: u32, count: u32, per_second: u64) -> (u64, usize) {
    let (mut signals, mut events) = (0, 0);
    for n in from..from + count {
        process.wait(Nanos(1_000_000_000 / per_second));
        let worker = n as usize % process.workers();
        let told = process.decide_on(worker, &get(&format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255)));
        signals += told.decision.signals.iter().count() as u64;
        events += told.events.iter().filter(|event| matches!(event.what, What::Surge { .. })).count();
    }
    (signals, events)
}

#[test]
fn a_crowd_of_newcomers_has_the_signal_and_makes_one_event_a_minute_and_who_is_known_has_none() {
    for workers in [1, 4] {
        let mut process = process(workers, r#""first_sighting": {"rate_threshold": 100}"#);
        for worker in 0..workers {
            process.call_on(worker, &get(A));
        }
        assert_eq!(crowd(&mut process, 0, 500, 50), (0, 0), "{workers} workers: a usual morning");
        let (signals, events) = crowd(&mut process, 1_000, 6_000, 400);
        assert!((5_000..6_000).contains(&signals), "{workers} workers: {signals}");
        assert_eq!(events, 1);
        for worker in 0..workers {
            assert!(process.decide_on(worker, &get(A)).decision.signals.is_empty());
        }
        process.wait_ms(200);
        assert_eq!(process.metric("weir_first_sightings_total"), 6_500 + 2 * workers as i64);
    }
}

#[test]
fn to_be_new_weighs_with_what_else_is_unusual_and_bans_nobody() {
    let tiers = r#""policy": {"tiers": [{"min_score": 50, "action": "deny"}], "ledger": {"limit": 1}}"#;
    let newcomers = r#""first_sighting": {"rate_threshold": 100, "weight": 60}"#;
    let mut process = process(1, &format!("{newcomers}, {tiers}"));
    crowd(&mut process, 0, 1_000, 400);
    let new = |process: &mut Process, n| {
        process.wait_ms(1);
        process.decide_on(0, &get(&format!("198.18.0.{n}"))).decision
    };
    let refused = new(&mut process, 1);
    assert_eq!(refused.action(), Some(Action::Deny));
    assert_eq!((refused.threat.score.0, refused.threat.personal.0), (60, 0));
    assert_eq!(new(&mut process, 1).action(), None, "the second time it is known");
    assert_eq!(process.metric("weir_bans_issued_total.reason.ledger"), 0);
}

#[test]
fn a_signal_of_a_detector_that_observes_counts_towards_no_tier_that_binds() {
    let tiers = r#""policy": {"tiers": [{"min_score": 50, "action": "deny"}]}"#;
    let newcomers = r#""first_sighting": {"mode": "observe", "rate_threshold": 100, "weight": 60}"#;
    let mut process = process(1, &format!("{newcomers}, {tiers}"));
    crowd(&mut process, 0, 1_000, 400);
    let decision = process.decide_on(0, &get(B)).decision;
    assert_eq!((decision.action(), decision.threat.score.0, decision.binding.score.0), (None, 60, 0));
    let would = decision.rulings.observed.unwrap();
    assert_eq!((would.answer(), would.response.mode), (Action::Deny, Mode::Observe));
}

#[test]
fn a_reload_keeps_counts_unless_what_they_mean_has_changed() {
    let volume = |tick: u32| {
        format!(r#""volume": {{"threshold": 20, "tarpit_threshold": 20, "tick_seconds": {tick}}}"#)
    };
    let mut process = process(2, &volume(5));
    assert!(process.passes(200, &get(A)) < 40);
    process.configure(&enforce(&volume(5)));
    assert_eq!(process.passes(5, &get(A)), 0);
    process.configure(&enforce(&volume(6)));
    assert_eq!(process.passes(5, &get(A)), 5, "counts of another tick mean nothing");
    process.configure(&enforce(r#""events": {"log": false}"#));
    assert_eq!(process.passes(200, &get(A)), 200, "off");
}

#[test]
fn a_clock_that_begins_anew_forgets_and_goes_on() {
    let mut process =
        process(2, r#""volume": {"threshold": 20, "tarpit_threshold": 20}, "first_sighting": {}"#);
    assert!(process.passes(200, &get(A)) < 60);
    process.step_clock(Nanos::from_secs(1));
    process.call_on(0, &get(B));
    process.call_on(1, &get(B));
    assert_eq!(process.passes(10, &get(A)), 10);
    assert!(process.passes(200, &get(A)) < 60, "and counts again");
}

#[test]
fn who_is_exempt_or_trusted_and_preflights_are_counted_by_no_detector() {
    let mut process = Process::new(
        1,
        &enforce(
            r#""volume": {"threshold": 2}, "wallet": {"threshold": 2}, "loop_breaker": {"threshold": 2},
            "first_sighting": {"rate_threshold": 1}, "exempt": [{"path": "/healthz"}],
            "client": {"trusted_ips": ["192.0.2.1"]}"#,
        ),
    );
    process.status = 503;
    let preflight =
        get(A).method("OPTIONS").header("origin", "https://a").header("access-control-request-method", "GET");
    for call in [get(A).path("/healthz"), get("192.0.2.1"), preflight] {
        assert_eq!(process.passes(50, &call.header("x-api-key", "k")), 50);
    }
    assert_eq!(process.metric("weir_first_sightings_total"), 0);
    assert_eq!(process.passes(50, &get(A).header("x-api-key", "k")), 1, "and others are");
}

#[test]
fn a_caller_that_makes_up_paths_hides_from_the_count_of_paths_and_from_no_other_and_pushes_nobody_out() {
    let mut process =
        process(1, r#""volume": {"threshold": 20, "tarpit_threshold": 20}, "wallet": {"threshold": 20}"#);
    assert!(process.passes(200, &get(B).path("/login")) < 20);
    let mut passed = 0;
    for n in 0..200_000 {
        let path = format!("/{n}");
        let call = get(A).path(&path);
        passed += usize::from(process.call_on(0, &call) == Got::Pass);
    }
    assert_eq!(passed, 200_000, "a key of client and path can't tell");
    assert_eq!(
        process.call_on(0, &get(B).path("/login")),
        Got::Refused(Action::Throttle),
        "who is known stays known"
    );
    let held = |process: &mut Process| {
        let paths = (0..100).map(|n| format!("/{n}")).collect::<Vec<_>>();
        let calls = paths.iter().map(|path| get(A).path(path).header("x-api-key", "k"));
        calls.filter(|call| process.call_on(0, call) == Got::Pass).count()
    };
    assert!(held(&mut process) <= 20, "its credential can");
    process.configure(&enforce(
        r#""volume": {"key": ["client", "route"], "threshold": 20, "tarpit_threshold": 20}"#,
    ));
    assert!(held(&mut process) < 20, "and so can its route");
}

#[test]
fn failures_never_lead_to_a_ban() {
    let mut process = process(1, r#""loop_breaker": {"threshold": 2}, "policy": {"ledger": {"limit": 1}}"#);
    for _ in 0..500 {
        process.wait_ms(100);
        tries(&mut process, 0, &get(A).path("/orders"));
    }
    assert_eq!(process.metric("weir_bans_active"), 0);
    assert_eq!(process.metric("weir_ledger_charges_total"), 0);
}

#[test]
fn a_detector_that_goes_takes_its_gauges_along_and_comes_back_to_its_counters() {
    let both = r#""first_sighting": {}, "volume": {"threshold": 20}"#;
    let mut process = process(1, both);
    process.passes(10, &get(A));
    process.wait_ms(200);
    assert_eq!(process.metric("weir_first_sightings_total"), 2);
    assert_eq!(process.metric("weir_table_slots_used.table.volume"), 2);
    process.configure(&enforce(r#""events": {"log": false}"#));
    process.wait_ms(200);
    assert_eq!(process.metric("weir_table_slots_used.table.volume"), 0);
    process.configure(&enforce(both));
    process.passes(10, &get(A));
    process.wait_ms(200);
    assert_eq!(process.metric("weir_first_sightings_total"), 3, "everybody is new again");
}

#[test]
fn filters_with_other_thresholds_have_breakers_of_their_own() {
    for (own, other) in [(20, 5), (5, 1_000)] {
        let breaker = |threshold| {
            enforce(&format!(r#""loop_breaker": {{"threshold": {threshold}, "tick_seconds": 3600}}"#))
        };
        let mut process = Process::new(1, &breaker(own));
        process.call_on(0, &get(B));
        process.use_filter("other", &breaker(other));
        for n in 0..50 {
            assert_eq!(tries(&mut process, 0, &get(A)), n < other.min(50), "the other opens at {other}");
        }
        let mut process = Process::new(1, &breaker(own));
        process.call_on(0, &get(B));
        let first = process.use_filter("other", &breaker(other));
        process.switch_to(first);
        let seen = (0..100).filter(|_| tries(&mut process, 0, &get(A))).count();
        assert_eq!(seen, own, "beside one that opens at {other}");
    }
}

#[test]
fn one_client_on_many_paths_makes_one_event_per_action_and_interval() {
    let mut process = process(1, r#""volume": {"threshold": 2, "tarpit_threshold": 2}"#);
    let mut events = 0;
    for n in 0..2_000 {
        process.wait_ms(1);
        let path = format!("/{}", n / 2);
        events += process.decide_on(0, &get(A).path(&path)).events.len();
    }
    assert_eq!(events, 1);
}
