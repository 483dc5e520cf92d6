//! Real threads on one mutex map, with a clock that every request moves on: no sleep, no wall clock, and as much
//! contention as the machine gives.

use crate::sim::{MILLI, START, key, per_second};
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use weir::counters::bucket::{Meter, Quota, Verdict};
use weir::exchange::sums::{Charged, Sums};
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::Key;
use weir::shared::mem::MemStore;
use weir::time::Nanos;

const THREADS: u64 = 8;
const REQUESTS: u64 = 20_000;
/// Each request moves the clock by 10 µs: 100,000 a second on one key, 1.6 s in all.
const STEP: u64 = 10_000;

fn worker(store: &MemStore, clock: &AtomicU64, quota: &Quota, nonce: u64) -> (u64, u64) {
    let settings = Settings { slots: 4096, sketch_buckets: 512, interval: Nanos::from_millis(200) };
    let own = Own { seed: [1; 16], nonce };
    let mut exchange = Exchange::new(store.clone(), settings, own, Nanos(START));
    let (mut admitted, mut due) = (0, START + nonce * 20 * MILLI);
    for _ in 0..REQUESTS {
        let now = clock.fetch_add(STEP, Ordering::Relaxed);
        if now >= due {
            exchange.tick(Nanos(now), Gauges::default());
            due = now + 200 * MILLI;
        }
        let key = key(&exchange, 1);
        admitted += u64::from(exchange.charge(key, quota, Nanos(now)) == Verdict::Admit);
    }
    (admitted, exchange.stats().cas_lost)
}

#[test]
fn eight_threads_on_one_key_admit_no_more_than_the_bound() {
    for rate in [100, 1_000, 20_000] {
        let quota = per_second(rate, rate);
        let (store, clock) = (MemStore::new(), AtomicU64::new(START));
        let results: Vec<(u64, u64)> = thread::scope(|scope| {
            let spawn = |nonce| {
                scope.spawn({
                    let (store, clock) = (&store, &clock);
                    move || worker(store, clock, &quota, nonce)
                })
            };
            let handles: Vec<_> = (1..=THREADS).map(spawn).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        let admitted: u64 = results.iter().map(|(admitted, _)| admitted).sum();
        let lost: u64 = results.iter().map(|(_, lost)| lost).sum();
        let elapsed = THREADS * REQUESTS * STEP;
        let limit = u64::from(rate) + elapsed / quota.interval.0;
        println!("8 threads, {rate} per second: {admitted} of {limit}, {lost} writes forestalled");
        assert!(admitted <= limit + u64::from(rate) / 2, "{admitted} of {limit}");
        assert!(admitted * 100 >= limit * 85, "{admitted} of {limit}");
    }
}

#[test]
fn eight_threads_add_up_to_exactly_the_quota_of_every_window() {
    const WINDOW: u64 = 10_000 * MILLI;
    let (store, clock) = (MemStore::new(), AtomicU64::new(START));
    let windows = [0; 9].map(AtomicU64::new);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut sums = Sums::new(store.clone());
                for _ in 0..10_000 {
                    let now = clock.fetch_add(MILLI, Ordering::Relaxed);
                    let charged =
                        sums.charge(Key(7), 1, 2_000, Nanos((now / WINDOW + 1) * WINDOW), Nanos(now));
                    if let Some(Charged { end, .. }) = charged.filter(|charged| charged.before < 2_000) {
                        let window = end.0 / WINDOW - START / WINDOW - 1;
                        windows[window as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    // At the border a thread with an older time may count into the newer window, never the other way.
    let windows = windows.map(AtomicU64::into_inner);
    println!("sums, 8 threads: {windows:?} of 2,000");
    assert!(windows.iter().all(|admitted| (1_990..=2_000).contains(admitted)), "{windows:?}");
}
