//! The traffic guard: neither a request nor a tick allocates, and the memory is what is said.

use super::{allocations, bytes};
use weir::counters::ewma::Span;
use weir::detect::surge::{Judge, Settings, Sizes, Subjects, Surge};
use weir::hash::{Seed, SubjectHash, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

const INTERVAL: Nanos = Nanos::from_millis(200);
const SIZES: Sizes = Sizes { keys: 16_384, interval: INTERVAL };

fn settings() -> Settings {
    let judge = Judge { factor: 3.0, deviations: 0.0, floor: 50.0, weight: 40, relearn_after: Some(360) };
    let routes = [("checkout".into(), Judge { factor: 5.0, ..judge })].into();
    Settings {
        bucket: Nanos::from_secs(10),
        learning: Span::new(60),
        warmup: 6,
        dimensions: [Some(judge); 4],
        routes,
    }
}

fn guard(store: &MemStore) -> Surge<MemStore> {
    Surge::new(store.clone(), SIZES, settings(), &Seed([7; 16]), 0)
}

/// So many busy keys, and one-off keys that overflow table and shards.
fn traffic(worker: &mut Surge<MemStore>, settings: &Settings, busy: u64, start: Nanos) -> usize {
    let mut signals = 0;
    for round in 0..100u64 {
        for i in 0..1_000u64 {
            let now = start + INTERVAL.times(round) + Nanos(i * 100_000);
            let source = if i % 2 == 0 { i / 2 % busy } else { round * 10_000 + 1_000 + i };
            let of =
                [Some(7), Some(source), Some(source % 90), Some(3)].map(|n| n.map(|n| SubjectHash(mix(n))));
            let subjects = Subjects { of, route: Some(b"checkout") };
            signals += worker.observe(settings, &subjects, i % 3 > 0, now).iter().count();
        }
        worker.tick(start + INTERVAL.times(round + 1));
    }
    signals
}

#[test]
fn after_warm_up_requests_and_ticks_allocate_nothing() {
    let store = MemStore::new();
    let (mut worker, settings) = (guard(&store), settings());
    let start = Nanos::from_secs(10_000);
    for round in 0..6 {
        traffic(&mut worker, &settings, 50, start + Nanos::from_secs(round * 20));
    }
    let mut signals = 0;
    let start = start + Nanos::from_secs(120);
    let allocated = allocations(|| signals = traffic(&mut worker, &settings, 5, start));
    let stats = worker.stats();
    assert!(stats.table.evictions > 1_000 && stats.full > 100 && stats.asks > 5, "{stats:?}");
    assert!(signals > 0, "{stats:?}");
    assert_eq!(allocated, 0);
}

#[test]
fn what_is_allocated_is_what_is_said() {
    let (store, settings) = (MemStore::new(), settings());
    for keys in [1, 4_096, 200_000] {
        let sizes = Sizes { keys, ..SIZES };
        let (store, settings) = (store.clone(), settings.clone());
        let mut worker = None;
        // The names of the four families are made and dropped.
        let allocated = bytes(|| worker = Some(Surge::new(store, sizes, settings, &Seed([7; 16]), 0)));
        assert_eq!(allocated, sizes.memory_bytes(), "{keys}");
    }
}
