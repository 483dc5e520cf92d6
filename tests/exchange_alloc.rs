//! After warm-up neither a request nor a tick allocates: memory does not grow with traffic.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use weir::counters::bucket::{Charge, Meter, Quota};
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::{Key, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what this thread asks of it.
struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe by its interface; this one passes every call on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller's.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
        worker.tick(start + INTERVAL.times(round + 1), Gauges { held: 1, in_flight: 2 });
    }
}

#[test]
fn after_warm_up_requests_and_ticks_allocate_nothing() {
    let settings = Settings { slots: 4096, interval: INTERVAL };
    let start = Nanos::from_secs(1000);
    // The values of the store itself are of full length first, as they are of the host.
    let store = MemStore::new();
    let own = Own { seed: [1; 16], nonce: 1 };
    let mut worker = Exchange::new(store.clone(), settings, own, start);
    for round in 0..5 {
        traffic(&mut worker, start + Nanos::from_secs(round * 10));
    }
    let before = ALLOCATIONS.with(Cell::get);
    traffic(&mut worker, start + Nanos::from_secs(1000));
    let allocated = ALLOCATIONS.with(Cell::get) - before;
    assert!(worker.stats().table.tracked > 10_000 && worker.stats().syncs > 1_000);
    assert_eq!(allocated, 0);
}
