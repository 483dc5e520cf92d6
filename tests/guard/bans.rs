//! Bans: who is out, where, and for how long.

use super::support::{Got, Process, get};
use super::{A, B};
use weir::policy::{Action, Cause};
use weir::time::Nanos;

const OUT: Got = Got::Refused(Action::Deny);

/// Bans who comes more often than twice at once.
fn config(key: &str) -> String {
    format!(
        r#"{{"mode": "enforce", "consumer": {{"from": [{{"header": "x-api-key"}}]}},
        "policy": {{"ban": {{"duration_seconds": 60}}}},
        "rules": [{{"name": "r", "filter": {{"max_req_rate": 2, "key": {key}}}, "action": ["log", "block"]}}]}}"#
    )
}

/// Every worker serves, and has heard of the others.
fn meet_all(process: &mut Process) {
    for worker in 0..process.workers() {
        assert_eq!(process.call_on(worker, &get(&format!("198.51.100.{worker}"))), Got::Pass);
    }
    process.wait_ms(6000);
}

fn provoke(process: &mut Process, worker: usize) {
    let refused = (0..6).map(|_| process.call_on(worker, &get(A)));
    assert!(refused.last() == Some(OUT));
}

#[test]
fn who_is_banned_is_refused_by_every_worker_at_once_and_nobody_else_is() {
    let mut process = Process::new(4, &config(r#""client""#));
    meet_all(&mut process); // every worker has heard of the others
    provoke(&mut process, 1);
    for worker in 0..4 {
        let told = process.decide_on(worker, &get(A));
        let ruling = told.decision.rulings.enforced.unwrap();
        assert!(matches!(ruling.cause, Cause::Ban(_)), "{ruling:?} on worker {worker}");
        process.wait_ms(500);
        assert_eq!(process.call_on(worker, &get(B)), Got::Pass);
    }
    assert_eq!(process.metric("weir_bans_active"), 1, "one ban, not one per worker");
    assert_eq!(process.metric("weir_bans_issued_total.reason.rule"), 1);
    assert_eq!(process.metric("weir_bans_rejected_total.mode.enforce"), 4 + 3);
}

#[test]
fn a_ban_whose_notice_is_lost_holds_within_two_exchanges() {
    let mut process = Process::new(4, &config(r#""client""#));
    process.deaf = true;
    meet_all(&mut process);
    provoke(&mut process, 0);
    process.wait_ms(400);
    assert!((0..4).all(|worker| process.call_on(worker, &get(A)) == OUT));
}

#[test]
fn a_ban_ends_when_it_is_over_and_its_end_is_told_once() {
    let mut process = Process::new(2, &config(r#""client""#));
    process.wait_ms(6000);
    provoke(&mut process, 0);
    process.wait(Nanos::from_secs(59));
    assert!((0..2).all(|worker| process.call_on(worker, &get(A)) == OUT));
    process.wait(Nanos::from_secs(301)); // and the debt of the rule is repaid
    let mut ends = Vec::new();
    for worker in [0, 1, 0, 1] {
        let told = process.decide_on(worker, &get(A));
        assert_eq!(told.decision.action(), None);
        ends.extend(told.events.iter().map(|event| event.to_json(0)).filter(|line| line.contains("unban")));
        process.wait_ms(2000);
    }
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert!(
        ends[0].contains(r#""weir.subject":"client:203.0.113.7""#)
            && ends[0].contains(r#""weir.reason":"rule""#)
    );
    assert_eq!(process.metric("weir_bans_active"), 0);
}

#[test]
fn a_ban_outlives_a_reload_and_a_new_vm_knows_it_at_its_first_request() {
    let mut process = Process::new(2, &config(r#""client""#));
    process.wait_ms(6000);
    provoke(&mut process, 0);
    process.configure(&config(r#""client""#).replace("\"r\"", "\"another\""));
    assert!((0..2).all(|worker| process.call_on(worker, &get(A)) == OUT));
    process.restart_worker(1, &config(r#""client""#));
    assert_eq!(process.call_on(1, &get(A)), OUT);
    assert_eq!(process.call_on(1, &get(B)), Got::Pass);
}

#[test]
fn who_is_banned_is_whom_the_rule_counts() {
    for (key, same, other) in [
        (r#""consumer""#, get(B).header("x-api-key", "k"), get(A).header("x-api-key", "l")),
        (r#"["client", "consumer"]"#, get(A).header("x-api-key", "k"), get(B).header("x-api-key", "k")),
        (r#""header:x-tenant""#, get(B).header("x-tenant", "t"), get(A).header("x-tenant", "u")),
        (r#""client""#, get(A), get(B).header("x-api-key", "k")),
    ] {
        let mut process = Process::new(1, &config(key));
        let culprit = get(A).header("x-api-key", "k").header("x-tenant", "t");
        assert_eq!((0..6).map(|_| process.call(&culprit)).last(), Some(OUT), "{key}");
        assert_eq!(process.call(&same), OUT, "{key}");
        assert_eq!(process.call(&other), Got::Pass, "{key}");
    }
}

#[test]
fn all_addresses_of_a_household_are_banned_together_and_the_neighbour_is_not() {
    let mut process = Process::new(1, &config(r#""client""#));
    assert_eq!((1..8).map(|i| process.call(&get(&format!("2001:db8::{i}")))).last(), Some(OUT));
    assert_eq!(process.call(&get("2001:db8::ffff")), OUT);
    assert_eq!(process.call(&get("2001:db8:0:1::1")), Got::Pass);
}

#[test]
fn an_unban_lifts_a_ban_on_all_workers_and_a_later_ban_counts_again() {
    let mut process = Process::new(3, &config(r#""client""#));
    meet_all(&mut process);
    provoke(&mut process, 0);
    let subject = process.decide_on(0, &get(A)).decision.rulings.enforced.unwrap().counted.unwrap().subject;
    let now = process.now;
    assert!(process.engine(2).unban(subject, now));
    process.wait_ms(10_000); // and the debt of the rule is repaid
    for worker in 0..3 {
        assert_eq!(process.call_on(worker, &get(A)), Got::Pass, "on worker {worker}");
        process.wait_ms(1000);
    }
    provoke(&mut process, 1);
    process.wait_ms(400);
    assert!((0..3).all(|worker| process.call_on(worker, &get(A)) == OUT));
}

#[test]
fn trusted_addresses_proxies_and_exempt_paths_are_never_banned() {
    let config = config(r#""client""#).replacen(
        r#""mode""#,
        r#""client": {"trusted_ips": ["203.0.113.7"], "proxies": ["203.0.113.8"]}, "exempt": [{"path": "/healthz"}], "mode""#,
        1,
    );
    let mut process = Process::new(1, &config);
    for call in [get(A), get(B), get("203.0.113.9").path("/healthz")] {
        assert_eq!(process.passes(50, &call), 50);
    }
    assert_eq!((0..6).map(|_| process.call(&get("203.0.113.9"))).last(), Some(OUT));
    assert_eq!(process.call(&get("203.0.113.9").path("/healthz")), Got::Pass, "also for who is banned");
}

#[test]
fn bans_do_not_bind_where_everything_observes() {
    let mut process = Process::new(1, &config(r#""client""#));
    provoke(&mut process, 0);
    process.configure(&config(r#""client""#).replace("enforce", "observe"));
    let told = process.decide_on(0, &get(A));
    assert_eq!(told.decision.action(), None);
    assert!(matches!(told.decision.rulings.observed.unwrap().cause, Cause::Ban(_)));
    process.configure(&config(r#""client""#));
    assert_eq!(process.call(&get(A)), OUT, "the ban is still there");
}

#[test]
fn a_clock_that_stands_still_or_jumps_keeps_nobody_out_for_ever() {
    let mut process = Process::new(2, &config(r#""client""#));
    process.wait_ms(6000);
    provoke(&mut process, 0);
    process.step_clock(process.now + Nanos::from_secs(86_400));
    process.wait_ms(400);
    assert!((0..2).all(|worker| process.call_on(worker, &get(A)) == Got::Pass));
}

#[test]
fn a_crowd_of_bans_is_told_in_part_and_the_end_of_one_is_not_lost_in_other_lines() {
    let mut process = Process::new(1, &config(r#""client""#));
    process.call(&get(B));
    process.wait_ms(6000);
    provoke(&mut process, 0);
    process.wait(Nanos::from_secs(361)); // the ban is over, and the debt repaid
    let (mut bans, mut unbans) = (0, 0);
    for number in 0..3_000 {
        let from = format!("2001:db8:0:{number:x}::1");
        for _ in 0..3 {
            let told = process.decide_on(0, &get(&from));
            bans += told.events.iter().filter(|event| event.to_json(0).contains(r#"action":"ban""#)).count();
        }
    }
    assert!((1..=1_000).contains(&bans), "{bans} of 3,000 at once");
    process.wait_ms(1000);
    let told = process.decide_on(0, &get(A));
    unbans += told.events.iter().filter(|event| event.to_json(0).contains("unban")).count();
    assert_eq!(unbans, 1);
}
