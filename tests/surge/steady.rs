//! What is as usual, or becomes so, is no surge.

use crate::process::*;
use weir::detect::surge::Dimension;

#[test]
fn a_steady_key_above_its_floor_never_surges() {
    for plain in [true, false] {
        for workers in [1, 2, 4, 16] {
            for (per_second, buckets) in [(5.1, 400), (10.0, 400), (100.0, 400)] {
                let mut process = Process::with(workers, settings(plain), 4096);
                let signals = process.signals(&[Flow::source(1, per_second)], buckets * BUCKET);
                assert_eq!((signals, process.surged(Dimension::Source)), (0, 0), "{workers}, {per_second}");
            }
        }
    }
}

#[test]
fn a_very_busy_key_never_surges_either() {
    for (workers, buckets) in [(1, 400), (16, 70)] {
        let mut process = Process::new(workers);
        assert_eq!(process.signals(&[Flow::client(1, 2, 10_000.0)], buckets * BUCKET), 0);
    }
}

#[test]
fn a_connection_that_moves_between_workers_is_as_usual() {
    for workers in [2, 4, 16] {
        for per_second in [5.1, 50.0] {
            let mut process = Process::new(workers);
            let flow = Flow::source(1, per_second).moving(60);
            assert_eq!(process.signals(&[flow], 150 * BUCKET), 0, "{workers}, {per_second}");
        }
    }
}

#[test]
fn the_morning_after_a_silent_night_is_not_a_surge_for_ever() {
    let mut process = Process::new(4);
    let by_day = Flow::source(1, 6.0);
    process.signals(&[by_day], 20 * BUCKET);
    process.signals(&[by_day.at(0.2)], 100 * BUCKET);
    process.wait(8.0 * 3600.0);
    assert_eq!(process.signals(&[by_day.at(20.0)], 60 * BUCKET), 0, "nothing is left of the day before");
}

/// From 1 to 60 requests a second within an hour.
#[test]
fn a_ramp_after_a_low_night_is_followed() {
    for workers in [1, 4] {
        let mut process = Process::new(workers);
        process.signals(&[Flow::client(1, 2, 1.0)], 200 * BUCKET);
        for minute in 0..60 {
            let per_second = 60f64.powf(f64::from(minute) / 59.0);
            assert_eq!(process.signals(&[Flow::client(1, 2, per_second)], 60), 0, "minute {minute}");
        }
    }
}

#[test]
fn what_stays_below_the_floor_is_never_a_surge_and_never_asks() {
    let mut process = Process::new(4);
    process.signals(&[Flow::source(1, 0.2)], 20 * BUCKET);
    assert_eq!(process.signals(&[Flow::source(1, 4.9)], 20 * BUCKET), 0);
    assert_eq!(process.stats(|stats| stats.asks), 0);
}

#[test]
fn a_launch_that_lasts_is_learned_on_the_route_after_an_hour_and_not_before() {
    let mut process = Process::new(2);
    process.signals(&[Flow::route(1, 10.0)], 30 * BUCKET);
    let begin = 30.0 * BUCKET as f64;
    let (mut first, mut last) = (f64::MAX, 0.0f64);
    process.run(&[Flow::route(1, 40.0)], 400 * BUCKET, |met| {
        if met.surges(Dimension::Route) {
            first = first.min(met.at - begin);
            last = met.at - begin;
        }
    });
    assert!(first <= BUCKET as f64, "{first}");
    assert!((3590.0..=3601.0).contains(&last), "360 buckets surge: {last}");
    assert_eq!(process.surged(Dimension::Route), 360);
    assert!(process.signals(&[Flow::route(1, 160.0)], 2 * BUCKET) > 0, "and it is compared with that now");
}

#[test]
fn plans_come_and_go_and_what_is_usual_stays_unless_time_is_cut_otherwise() {
    let mut process = Process::new(2);
    let noticed = |process: &mut Process| process.signals(&[Flow::source(1, 40.0)], 5) > 0;
    process.signals(&[Flow::source(1, 6.0)], 20 * BUCKET);
    let mut other = settings(false);
    other.dimensions[0] = None;
    other.warmup = 8;
    let reload = |process: &mut Process, keys| {
        let (now, sizes) = (process.now, weir::detect::surge::Sizes { keys, ..process.sizes });
        for worker in &mut process.workers {
            worker.reconfigure(sizes, process.settings.clone(), weir::time::Nanos(now));
        }
    };
    process.settings = other.clone();
    reload(&mut process, 4096);
    assert!(noticed(&mut process));
    process.wait(60.0);
    reload(&mut process, 8192);
    assert!(noticed(&mut process), "a table of another size finds it in shared data");
    process.wait(60.0);
    process.settings.bucket = weir::time::Nanos::from_secs(5);
    reload(&mut process, 8192);
    assert!(!noticed(&mut process));
}
