//! The exchange: neither a request nor a tick allocates.

use super::allocations;
use weir::counters::bucket::{Charge, Meter, Quota};
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::{Key, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

const INTERVAL: Nanos = Nanos::from_millis(200);

/// Ten exchanges of a second's traffic: busy keys, and one-off keys that overflow the table.
fn traffic(worker: &mut Exchange<MemStore>, start: Nanos) {
    let quota = Quota { interval: Nanos::from_millis(100), burst: 10, charge: Charge::Every };
    for round in 0..10u64 {
        for i in 0..2_000u64 {
            let now = start + INTERVAL.times(round) + Nanos(i * 100_000);
            let subject = if i % 2 == 0 { i % 50 } else { round * 10_000 + i };
            worker.charge(Key(mix(subject + 1)), &quota, now);
        }
        worker.tick(start + INTERVAL.times(round + 1), Gauges { held: 1, in_flight: 2, newcomers: 3 });
    }
}

#[test]
fn after_warm_up_requests_and_ticks_allocate_nothing() {
    let settings = Settings { slots: 4096, sketch_buckets: 512, interval: INTERVAL };
    let start = Nanos::from_secs(1000);
    // The values of the store itself are of full length first, as they are of the host.
    let store = MemStore::new();
    let own = Own { seed: [1; 16], nonce: 1 };
    let mut worker = Exchange::new(store.clone(), settings, own, start);
    for round in 0..5 {
        traffic(&mut worker, start + Nanos::from_secs(round * 10));
    }
    let allocated = allocations(|| traffic(&mut worker, start + Nanos::from_secs(1000)));
    assert!(worker.stats().table.tracked > 10_000 && worker.stats().syncs > 1_000);
    assert_eq!(allocated, 0);
}
