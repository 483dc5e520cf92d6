use super::*;
use crate::counters::ewma::Span;
use crate::detect::signal::Evidence;
use crate::shared::mem::MemStore;
use crate::shared::names::{ShardName, Sharded};

const SIZES: Sizes = Sizes { keys: 4096, interval: Nanos::from_millis(200) };
const SEED: Seed = Seed([7; 16]);
const BUCKET: Nanos = Nanos::from_secs(10);
const START: Nanos = Nanos::from_secs(1_000_000);

fn settings() -> Settings {
    let judge = Judge { factor: 3.0, deviations: 0.0, floor: 50.0, weight: 40, relearn_after: None };
    Settings {
        bucket: BUCKET,
        learning: Span::new(60),
        warmup: 6,
        dimensions: [Some(Judge { floor: 200.0, ..judge }), Some(judge), Some(judge), None],
        routes: Box::new([("quiet".into(), Judge { floor: 60.0, weight: 11, ..judge })]),
    }
}

fn worker(store: &MemStore) -> Surge<MemStore> {
    Surge::new(store.clone(), SIZES, settings(), &SEED, 0)
}

fn source(n: u64) -> Subjects<'static> {
    Subjects { of: [None, Some(SubjectHash(n)), None, None], route: None }
}

/// So many requests in each of some buckets from one on, and the ticks between. Gives how many met a signal.
fn run(worker: &mut Surge<MemStore>, of: &Subjects, buckets: core::ops::Range<u64>, requests: u64) -> usize {
    let mut signals = 0;
    for bucket in buckets {
        for request in 0..requests {
            let now = START + BUCKET.times(bucket) + Nanos(BUCKET.0 / requests * request);
            signals += usize::from(!worker.observe(&settings(), of, true, now).is_empty());
            worker.tick(now);
        }
    }
    signals
}

#[test]
fn a_signal_says_who_departs_how_far_from_what() {
    let mut worker = worker(&MemStore::new());
    assert_eq!(run(&mut worker, &source(1), 0..20, 30), 0);
    let now = START + BUCKET.times(20);
    let signals: Vec<Signals> =
        (0..200).map(|_| worker.observe(&settings(), &source(1), true, now)).collect();
    let first = signals.iter().position(|signals| !signals.is_empty()).unwrap();
    let signal = *signals[first].iter().next().unwrap();
    let Evidence { count, baseline, threshold, factor } = signal.evidence;
    assert_eq!((first, count, signal.weight, signal.subject), (90, 91, 40, SubjectHash(1)));
    assert_eq!((baseline.round(), threshold.round()), (30.0, 90.0));
    assert!(factor > 1.0 && factor < 1.02);
    assert_eq!(signals[199].iter().next().unwrap().weight, 60);
}

#[test]
fn a_named_route_is_judged_in_its_own_way() {
    let (mut one, mut other) = (worker(&MemStore::new()), worker(&MemStore::new()));
    let route = |n, route: &'static str| Subjects {
        of: [Some(SubjectHash(n)), None, None, None],
        route: Some(route.as_bytes()),
    };
    for (worker, name, found) in [(&mut one, "quiet", 10), (&mut other, "other", 0)] {
        run(worker, &route(1, name), 0..10, 20);
        assert_eq!(run(worker, &route(1, name), 10..11, 70), found, "{name}");
        assert_eq!(worker.stats().surged, [0; 4], "the bucket is not over");
        run(worker, &route(1, name), 11..12, 20);
    }
    assert_eq!(one.stats().surged, [1, 0, 0, 0], "ticks fold by the route's own judge too");
    assert_eq!(other.stats().surged, [0; 4]);
}

#[test]
fn another_epoch_knows_nobody() {
    let store = MemStore::new();
    let mut worker = worker(&store);
    run(&mut worker, &source(1), 0..20, 30);
    worker.rebind(&SEED, 0);
    assert!(run(&mut worker, &source(1), 20..21, 200) > 0);
    worker.rebind(&SEED, 1);
    assert_eq!(run(&mut worker, &source(1), 22..23, 200), 0);
}

#[test]
fn a_cleared_worker_finds_everything_in_shared_data() {
    let mut worker = worker(&MemStore::new());
    run(&mut worker, &source(1), 0..20, 30);
    worker.clear();
    assert!(run(&mut worker, &source(1), 20..21, 200) >= 109);
}

#[test]
fn a_dimension_that_was_switched_off_is_told_to_nobody() {
    let store = MemStore::new();
    let mut worker = worker(&store);
    worker.observe(&settings(), &source(1), true, START);
    let off = Settings { dimensions: [None; 4], ..settings() };
    worker.reconfigure(SIZES, off, START);
    run(&mut worker, &Subjects::default(), 1..3, 5);
    assert!(store.keys().iter().all(|key| store.peek(key).is_some_and(|value| value.is_empty())));
    assert_eq!(worker.stats().table.used, 0);
}

#[test]
fn asks_are_bounded_and_beyond_that_the_own_view_decides() {
    let mut worker = worker(&MemStore::new());
    for n in 0..1_500 {
        for _ in 0..50 {
            worker.observe(&settings(), &source(n), true, START);
        }
    }
    assert_eq!((worker.stats().asks, worker.stats().unasked), (1_000, 500));
}

#[test]
fn foreign_values_are_counted_and_replaced() {
    let store = MemStore::new();
    let mut worker = worker(&store);
    for shard in 0..SHARDS as usize {
        store.overwrite(ShardName::new(Sharded::Traffic, shard).as_str(), &[1; 41]);
    }
    run(&mut worker, &source(1), 0..2, 30);
    assert_eq!(worker.stats().corrupt, 1);
    store.overwrite(ShardName::new(Sharded::Traffic, 0).as_str(), &vec![0; 1 << 20]);
    run(&mut worker, &source(1), 2..3, 30);
    assert!(worker.blob.capacity() <= MAX_VALUE.max(1 << 20));
}

#[test]
fn a_full_shard_leaves_the_rest_unjudged_and_counts_them() {
    let sizes = Sizes { keys: 256, ..SIZES };
    let mut worker = Surge::new(MemStore::new(), sizes, settings(), &SEED, 0);
    for n in 0..2_000 {
        worker.observe(&settings(), &source(n), true, START + Nanos(n));
    }
    worker.tick(START + Nanos::from_secs(1));
    let stats = worker.stats();
    assert!(stats.full > 1_000 && stats.table.used > 1_600, "{stats:?}");
}

#[test]
fn memory_and_shared_data_are_what_is_said() {
    let sizes = Sizes { keys: 200_000, ..SIZES };
    let slots = Table::<Tally>::slots_for(SHARDS, sizes.keys);
    assert_eq!(slots, 200_704);
    let marks = 2 * slots / 8;
    let told = slots / 256 * size_of::<Told>() as u64;
    assert_eq!(sizes.memory_bytes(), slots * 41 + marks + told + MAX_VALUE as u64);
    assert_eq!(sizes.shared_bytes(), 256 * 782 * 36);
}
