//! Requests that are held.

use super::support::{Process, get};
use super::{A, B};
use weir::policy::Action;
use weir::policy::tarpit::StreamId;
use weir::time::Nanos;

const CONFIG: &str = r#"{"mode": "enforce", "policy": {"tarpit": {"delay_ms": 2000, "max_concurrent": 6}},
    "rules": [{"name": "slow", "filter": {"max_req_rate": 1}, "action": ["tarpit"]}]}"#;

/// Has a worker decide and hold `n` requests; says how many are held.
fn hold(process: &mut Process, worker: usize, from: &str, streams: core::ops::Range<u32>) -> usize {
    let mut held = 0;
    for stream in streams {
        let told = process.decide_on(worker, &get(from));
        if told.decision.action() == Some(Action::Tarpit) {
            let (instance, now) = (process.instance(worker), process.now);
            held += usize::from(process.engine(worker).hold(instance, StreamId(stream), now));
        }
    }
    held
}

/// A worker that has served, and knows that it is alone.
fn serving() -> Process {
    let mut process = Process::new(1, CONFIG);
    assert_eq!(hold(&mut process, 0, B, 0..1), 0);
    process.wait_ms(6000);
    process
}

fn due(process: &mut Process, worker: usize) -> Vec<u32> {
    let engine = process.engine(worker);
    core::iter::from_fn(|| engine.due()).map(|stream| stream.0).collect()
}

#[test]
fn a_held_request_goes_on_after_its_delay_and_once() {
    let mut process = serving();
    assert_eq!(hold(&mut process, 0, A, 0..3), 2, "the first is within the rate");
    process.wait_ms(1900);
    assert!(due(&mut process, 0).is_empty());
    process.wait_ms(200);
    assert_eq!(due(&mut process, 0), [1, 2]);
    assert!(due(&mut process, 0).is_empty());
}

#[test]
fn all_workers_together_hold_no_more_than_there_are_places() {
    let mut process = Process::new(3, CONFIG);
    (0..3).for_each(|worker| assert_eq!(hold(&mut process, worker, B, 90..91), 0));
    process.wait_ms(6000);
    let mut held = 0;
    for round in 0..10 {
        for worker in 0..3 {
            held += hold(&mut process, worker, A, round * 10..round * 10 + 5);
        }
        process.wait_ms(150);
    }
    assert!((5..=6).contains(&held), "{held}");
    assert_eq!(process.metric("weir_tarpit_held"), held as i64);
    assert!(process.metric("weir_tarpit_skipped_total") > 50, "the others passed at once");
}

#[test]
fn a_caller_that_leaves_makes_room_at_once() {
    let mut process = serving();
    assert_eq!(hold(&mut process, 0, A, 0..20), 6);
    let engine = process.engine(0);
    (0..20).for_each(|stream| engine.leave(StreamId(stream)));
    assert_eq!(hold(&mut process, 0, A, 20..40), 6);
    process.wait_ms(2100);
    assert!(due(&mut process, 0).iter().all(|stream| *stream >= 20), "nobody who left goes on");
}

#[test]
fn what_is_held_goes_on_after_a_reload_that_holds_nobody() {
    let mut process = serving();
    assert_eq!(hold(&mut process, 0, A, 0..3), 2);
    process.configure(r#"{"mode": "enforce"}"#);
    process.wait_ms(2100);
    assert_eq!(due(&mut process, 0), [1, 2]);
}

#[test]
fn ticks_come_often_enough_for_the_delay_where_anything_is_held() {
    let tick = |config: &str| super::support::plan(config).tick();
    assert_eq!(tick(CONFIG), Nanos::from_millis(40));
    assert_eq!(tick("{}"), Nanos::from_millis(200));
}
