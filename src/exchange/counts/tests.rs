use super::*;
use crate::hash::mix;
use crate::shared::mem::MemStore;
use proptest::collection::vec;
use proptest::prelude::*;

const TICK: Nanos = Nanos::from_secs(1);
const EXCHANGE: Nanos = Nanos::from_millis(200);
const SETTINGS: Settings = Settings { lines: 1_024, tick: TICK };
const BOUND: Bound = Bound { threshold: 60_000, most: 65_535 };

fn workers(count: usize, settings: Settings) -> Vec<Counts<MemStore>> {
    let store = MemStore::new();
    (0..count).map(|_| Counts::new(store.clone(), Sharded::Volume, settings)).collect()
}

fn key(n: u64) -> Key {
    Key(mix(n))
}

/// `per_tick` events in each tick, spread over the workers in turn, with exchanges in between: the last estimate that each
/// worker had.
fn steady(workers: &mut [Counts<MemStore>], key: Key, per_tick: u64, ticks: u64) -> Vec<u32> {
    bounded(workers, key, &BOUND, per_tick, ticks)
}

fn bounded(workers: &mut [Counts<MemStore>], key: Key, bound: &Bound, per_tick: u64, ticks: u64) -> Vec<u32> {
    let mut last = vec![0; workers.len()];
    let mut due = TICK;
    for n in 0..per_tick * ticks {
        let now = TICK + Nanos(n * TICK.0 / per_tick);
        while now >= due {
            workers.iter_mut().for_each(|worker| worker.publish(due));
            due = due + EXCHANGE;
        }
        let at = n as usize % workers.len();
        last[at] = workers[at].observe(key, bound, now);
    }
    last
}

#[test]
fn one_worker_counts_as_its_sketch_does() {
    let mut alone = workers(1, SETTINGS);
    let mut sketch = Sketch::new(SETTINGS.lines, TICK);
    let mut expected = 0;
    for n in 0..500 {
        expected = sketch.observe(key(1), TICK + Nanos(n * TICK.0 / 100)).estimate;
    }
    let found = steady(&mut alone, key(1), 100, 5)[0];
    assert!(found.abs_diff(expected) <= 1, "{found} {expected}");
}

#[test]
fn workers_judge_by_what_all_of_them_counted() {
    let alone = steady(&mut workers(1, SETTINGS), key(1), 120, 10)[0];
    for count in [2, 4, 16] {
        let found = steady(&mut workers(count, SETTINGS), key(1), 120, 10);
        // What the others counted since their last exchange is not known, and they may have had theirs after this one: two
        // fifths of a tick's, here.
        let least = alone - 2 * 120 / 5 - count as u32;
        assert!(
            found.iter().all(|estimate| (least..=alone + 1).contains(estimate)),
            "{count}: {found:?} of {alone}"
        );
    }
}

#[test]
fn of_a_burst_on_all_workers_at_once_little_passes_beyond_the_threshold() {
    for (count, threshold) in [(2, 80), (4, 80), (16, 80), (16, 10), (2, 1_000)] {
        let mut all = workers(count, SETTINGS);
        let bound = Bound { threshold, ..BOUND };
        all.iter_mut().for_each(|worker| worker.share(count as u32));
        let passed = (0..8_000)
            .filter(|n| all[n % count].observe(key(1), &bound, TICK + Nanos(*n as u64 * 5_000)) < threshold)
            .count();
        // Two events of a key are not told of on each worker.
        let most = threshold as usize * 13 / 8 + 2 * count;
        println!("{count} workers: {passed} of at most {threshold}");
        assert!(
            passed >= threshold as usize - 1 && passed <= most,
            "{count} workers: {passed} of {threshold}"
        );
        let asks: u64 = all.iter().map(|worker| worker.stats().asks).sum();
        assert!(asks <= 16 * count as u64, "{count} workers: {asks} asks");
    }
}

#[test]
fn a_count_never_exceeds_what_is_counted_at_most_and_is_below_it_a_tick_later() {
    let bound = Bound { most: 20, ..BOUND };
    let mut all = workers(4, SETTINGS);
    let last = bounded(&mut all, key(1), &bound, 400, 1);
    assert!(last.iter().all(|estimate| (20..24).contains(estimate)), "{last:?}");
    all.iter_mut().for_each(|worker| worker.publish(TICK + Nanos::from_millis(990)));
    for worker in &mut all {
        worker.publish(TICK.times(2) + EXCHANGE);
        assert!(worker.look(key(1), TICK.times(2) + EXCHANGE) < 20);
    }
}

#[test]
fn a_flood_of_keys_that_come_once_makes_no_shared_call_and_hides_nobody() {
    let store = MemStore::new();
    let mut worker = Counts::new(store.clone(), Sharded::Volume, SETTINGS);
    for n in 0..100 {
        worker.observe(key(1), &BOUND, TICK + Nanos(n));
    }
    let calls = store.calls();
    for n in 0..200_000 {
        worker.observe(key(1_000 + n), &BOUND, TICK + Nanos(1_000 + n));
    }
    assert_eq!(worker.look(key(1), TICK + EXCHANGE), 100);
    worker.publish(TICK + EXCHANGE);
    assert_eq!(store.calls().sets - calls.sets, 1, "one shard has something to tell");
}

#[test]
fn where_more_keys_come_than_there_are_places_the_largest_are_told_of() {
    let mut all = workers(2, Settings { lines: 16_384, ..SETTINGS });
    for round in 0..50u64 {
        for n in 0..PLACES as u64 * 3 {
            if round < 3 || n < 100 {
                all[0].observe(key(n), &BOUND, TICK + Nanos(round * 1_000 + n));
            }
        }
    }
    all[0].publish(TICK + EXCHANGE);
    assert!(all[0].stats().untold > 0);
    let heard = (0..100).filter(|n| {
        all[1].observe(key(*n), &BOUND, TICK + EXCHANGE);
        all[1].observe(key(*n), &BOUND, TICK + EXCHANGE);
        all[1].publish(TICK + EXCHANGE);
        all[1].look(key(*n), TICK + EXCHANGE) >= 50
    });
    assert!(heard.count() >= 95);
}

#[test]
fn what_shared_data_loses_is_put_back_by_who_heard_it() {
    let mut all = workers(2, SETTINGS);
    steady(&mut all, key(1), 100, 2);
    let now = TICK.times(3) + Nanos(1);
    let before = all[0].look(key(1), now);
    let name = ShardName::new(Sharded::Volume, Sharded::Volume.of(key(1)));
    all[0].store.wipe(name.as_str());
    all[0].observe(key(1), &BOUND, now);
    all[0].publish(now);
    all[1].observe(key(1), &BOUND, now);
    all[1].publish(now);
    assert!(all[1].look(key(1), now) >= before);
}

#[test]
fn another_tick_or_size_begins_at_nothing_and_the_same_one_goes_on() {
    let mut worker = workers(1, SETTINGS).remove(0);
    for n in 0..10 {
        worker.observe(key(1), &BOUND, TICK + Nanos(n));
    }
    worker.reconfigure(SETTINGS);
    assert_eq!(worker.look(key(1), TICK), 10);
    worker.reconfigure(Settings { tick: TICK.times(2), ..SETTINGS });
    assert_eq!(worker.look(key(1), TICK), 0);
}

proptest! {
    #[test]
    fn whatever_is_in_shared_data_a_count_is_never_more_than_most(
        bytes in vec(any::<u8>(), 0..200), events in 1u32..50, most in 2u32..100) {
        let bound = Bound { most, ..BOUND };
        let mut worker = workers(1, SETTINGS).remove(0);
        let name = ShardName::new(Sharded::Volume, Sharded::Volume.of(key(1)));
        worker.store.overwrite(name.as_str(), &bytes);
        for n in 0..events {
            worker.observe(key(1), &bound, TICK + Nanos(u64::from(n)));
            worker.publish(TICK + Nanos(u64::from(n)));
        }
        prop_assert!(worker.look(key(1), TICK + EXCHANGE) <= most.max(events.min(most)));
    }

    #[test]
    fn a_shard_keeps_the_larger_counts(counts in vec(1u32..1_000, 1..600)) {
        let mut bytes = Vec::new();
        for (n, count) in counts.iter().enumerate() {
            Shard::open(&mut bytes, 7).join(Key(n as u64 + 1), Tally::heard(*count, 7, u32::MAX));
        }
        prop_assert!(bytes.len() <= MAX_BYTES);
        let shard = Shard::open(&mut bytes, 7);
        let mut kept: Vec<u32> = (1..=counts.len() as u64).map(|n| shard.get(Key(n))).filter(|count| *count > 0).collect();
        let mut largest = counts.clone();
        largest.sort_unstable_by(|a, b| b.cmp(a));
        largest.truncate(MAX_ENTRIES);
        kept.sort_unstable_by(|a, b| b.cmp(a));
        prop_assert_eq!(kept, largest);
    }
}
