//! What is unusual is noticed: on whom, how soon, how heavily, and for how long.

use crate::process::*;
use weir::detect::surge::Dimension::{self, Route, Source};

const BUCKET_S: f64 = BUCKET as f64;

/// A process that knows one client at so many requests a second.
fn used_to(workers: usize, flow: Flow) -> Process {
    let mut process = Process::new(workers);
    assert_eq!(process.signals(&[flow], 30 * BUCKET), 0);
    process
}

#[test]
fn a_lone_worker_is_exact_from_the_request_on_that_crosses_the_threshold() {
    let mut process = used_to(1, Flow::source(1, 6.0));
    let (mut requests, mut first) = (0, 0);
    process.run(&[Flow::source(1, 100.0)], BUCKET, |met| {
        requests += 1;
        if first == 0 && met.surges(Source) {
            first = requests;
        }
    });
    assert_eq!(first, 181, "three times 60 is allowed");
}

#[test]
fn many_workers_notice_nearly_as_soon_and_none_too_early() {
    for workers in [2, 4, 16] {
        let mut process = used_to(workers, Flow::source(1, 6.0));
        let (mut requests, mut first) = (0, 0);
        process.run(&[Flow::source(1, 100.0)], BUCKET, |met| {
            requests += 1;
            if first == 0 && met.surges(Source) {
                first = requests;
            }
        });
        println!("{workers} workers: request {first} of a flood of 100 per second");
        assert!((181..=300).contains(&first), "{workers}: {first}");
    }
}

#[test]
fn a_flood_of_hours_never_becomes_usual_for_its_source() {
    let mut process = used_to(4, Flow::source(1, 6.0));
    let (mut all, mut surging) = (0, 0);
    process.run(&[Flow::source(1, 40.0)], 3 * 3600, |met| {
        all += 1;
        surging += usize::from(met.surges(Source));
    });
    assert!(surging * 1000 >= all * 998, "{surging} of {all}");
    assert_eq!(process.surged(Source), 3 * 360 - 1, "the last is not over");
}

#[test]
fn a_flood_that_ends_is_forgiven_within_a_fraction_of_a_bucket() {
    for workers in [1, 4, 16] {
        for (flood, usual) in [(20.0, 6.0), (500.0, 6.0), (500.0, 1.0)] {
            let mut process = used_to(workers, Flow::source(1, usual));
            process.signals(&[Flow::source(1, flood)], 5 * BUCKET);
            let ended = 35.0 * BUCKET_S;
            let mut last = ended;
            process.run(&[Flow::source(1, usual)], 3 * BUCKET, |met| {
                if met.surges(Source) {
                    last = met.at;
                }
            });
            assert!(last - ended <= 0.3 * BUCKET_S, "{workers}, {flood}: {:.1} s", last - ended);
        }
    }
}

/// Neither a tooth per bucket nor a severity that jumps: each second of a constant flood is answered alike.
#[test]
fn a_constant_flood_is_answered_evenly() {
    for workers in [1, 4, 16] {
        for per_second in [22.0, 45.0, 200.0] {
            let mut process = used_to(workers, Flow::source(1, 6.0));
            process.signals(&[Flow::source(1, per_second)], 2 * BUCKET);
            let begin = 32.0 * BUCKET_S;
            let mut seconds = [(0u32, 0u32, 0u32); 100];
            process.run(&[Flow::source(1, per_second)], 10 * BUCKET, |met| {
                let second = &mut seconds[(met.at - begin) as usize];
                second.0 += 1;
                second.1 += u32::from(met.surges(Source));
                second.2 += u32::from(met.weight(Source));
            });
            // What workers don't know of each other yet is up to a tick of the flood.
            let least = if workers == 1 { 1.0 } else { 0.85 };
            let share = |&(all, surging, _): &(u32, u32, u32)| f64::from(surging) / f64::from(all);
            let mean = seconds.iter().map(share).sum::<f64>() / 100.0;
            assert!(
                seconds.iter().all(|second| share(second) >= least),
                "{workers}, {per_second}: {seconds:?}"
            );
            assert!(mean > 0.99, "{workers}, {per_second}: {mean}");
            let weights = seconds.iter().map(|&(all, _, sum)| f64::from(sum) / f64::from(all));
            let (least, most) = weights.fold((f64::MAX, 0.0f64), |(a, b), w| (a.min(w), b.max(w)));
            println!("{workers} workers, {per_second} per second: weight {least:.0} to {most:.0}");
            assert!(most - least <= 20.0, "{workers}, {per_second}: weight {least} to {most}");
        }
    }
}

#[test]
fn the_weight_grows_with_a_caller_and_never_with_a_route() {
    let heaviest = |flow: Flow, flood: f64, dimension: Dimension| {
        let mut process = used_to(2, flow);
        let mut weight = 0;
        process.run(&[flow.at(flood)], BUCKET, |met| weight = weight.max(met.weight(dimension)));
        weight
    };
    assert_eq!(heaviest(Flow::source(1, 6.0), 25.0, Source), 40);
    assert_eq!(heaviest(Flow::source(1, 6.0), 45.0, Source), 60);
    assert_eq!(heaviest(Flow::source(1, 6.0), 100.0, Source), 80);
    assert_eq!(heaviest(Flow::route(1, 30.0), 2000.0, Route), 40);
}

#[test]
fn one_flooding_client_leaves_its_route_and_all_others_in_peace() {
    for workers in [1, 4] {
        let mut process = Process::new(workers);
        let mut flows: Vec<Flow> = (0..20).map(|n| Flow::client(7, 100 + n, 2.0)).collect();
        process.signals(&flows, 20 * BUCKET);
        flows[0] = flows[0].at(300.0);
        let (mut own, mut route, mut others) = (0, 0, 0);
        process.run(&flows, 10 * BUCKET, |met| {
            own += usize::from(met.flow == 0 && met.surges(Source));
            route += usize::from(met.surges(Route));
            others += usize::from(met.flow != 0 && !met.signals.is_empty());
        });
        assert!(own > 10 * 2900, "{own}");
        assert_eq!((route, others), (0, 0), "{workers}");
    }
}

#[test]
fn what_never_gets_to_the_route_counts_for_its_callers_alone() {
    for reaches in [false, true] {
        let mut process = used_to(1, Flow::client(7, 1, 4.0));
        let (mut own, mut shared) = (0, 0);
        for request in 0..2_000 {
            // Half of them one client's, half of them of as many clients as requests.
            let source = if request % 2 == 0 { 1 } else { 1_000 + request };
            let signals = process.request(0, [Some(7), Some(source), None, Some(3)], reaches);
            own += signals.iter().filter(|signal| signal.kind == Source.kind()).count();
            shared += signals.iter().filter(|signal| signal.kind == Route.kind()).count();
            process.wait(0.001);
        }
        assert_eq!((own > 800, shared > 800), (true, reaches), "{own} {shared}");
    }
}

#[test]
fn a_distributed_flood_is_the_routes_and_no_sources() {
    let mut process = Process::with(4, settings(false), 20_000);
    let usual: Vec<Flow> = (0..50).map(|n| Flow::client(7, n, 1.0)).collect();
    process.signals(&usual, 20 * BUCKET);
    let flood: Vec<Flow> = (0..10_000).map(|n| Flow::client(7, 1_000 + n, 0.1)).collect();
    let (mut route, mut source) = (0, 0);
    process.run(&flood, 4 * BUCKET, |met| {
        route += usize::from(met.surges(Route));
        source += usize::from(met.surges(Source));
    });
    assert!(route > 30_000, "{route} of 40,000");
    assert_eq!(source, 0);
}

#[test]
fn a_new_worker_knows_at_once_what_is_usual() {
    let mut process = used_to(1, Flow::source(1, 6.0));
    process.workers[0] = process.fresh();
    let first = (1..=400).find(|_| !process.request(0, [None, Some(1), None, None], true).is_empty());
    assert_eq!(first, Some(181));
}
