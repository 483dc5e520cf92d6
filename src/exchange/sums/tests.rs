use super::*;
use crate::hash::mix;
use crate::shared::mem::{Faults, MemStore};
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_secs(1000);
const END: Nanos = Nanos::from_secs(1010);

/// A key of the first shard.
fn key(n: u64) -> Key {
    Key(mix(n) >> 6)
}

fn before(sums: &mut Sums<MemStore>, n: u64, amount: u32, most: u32, now: Nanos) -> Option<u32> {
    sums.charge(key(n), amount, most, now + Nanos::from_secs(10), now).map(|charged| charged.before)
}

#[test]
fn a_window_adds_up_to_its_most_and_then_begins_anew() {
    let mut sums = Sums::new(MemStore::new());
    for before in [0, 30, 60, 90] {
        assert_eq!(sums.charge(key(1), 30, 100, END, NOW), Some(Charged { before, end: END }));
    }
    assert_eq!(sums.charge(key(1), 30, 100, END, NOW), Some(Charged { before: 120, end: END }));
    let (later, end) = (END, END + Nanos(5));
    assert_eq!(sums.charge(key(1), 30, 100, end, later), Some(Charged { before: 0, end }));
}

#[test]
fn a_running_window_keeps_its_end_whatever_is_asked() {
    let mut sums = Sums::new(MemStore::new());
    sums.charge(key(1), 1, 9, END, NOW);
    for end in [Nanos::ZERO, NOW, END + END, Nanos::MAX] {
        assert_eq!(sums.charge(key(1), 0, 9, end, NOW), Some(Charged { before: 1, end: END }));
    }
}

#[test]
fn a_spent_key_is_refused_from_memory_for_a_second() {
    let store = MemStore::new();
    let mut sums = Sums::new(store.clone());
    (0..3).for_each(|_| _ = before(&mut sums, 1, 1, 2, NOW));
    let calls = store.calls();
    assert_eq!(before(&mut sums, 1, 1, 2, NOW + BELIEVED - Nanos(1)), Some(2));
    assert_eq!((store.calls(), sums.stats().remembered), (calls, 1));
    assert_eq!(before(&mut sums, 1, 1, 3, NOW), Some(2), "it is not spent against a larger quota");
    assert_eq!(before(&mut sums, 1, 1, 3, NOW + BELIEVED), Some(3));
    assert_eq!(store.calls().gets, calls.gets + 2);
}

#[test]
fn a_settled_key_begins_anew_here_at_once_and_elsewhere_within_a_second() {
    let store = MemStore::new();
    let (mut one, mut other) = (Sums::new(store.clone()), Sums::new(store.clone()));
    before(&mut one, 1, 100, 100, NOW);
    assert_eq!(before(&mut other, 1, 1, 100, NOW), Some(100));
    assert_eq!(before(&mut one, 1, 1, 100, NOW), Some(100));
    assert!(one.settle(key(1), NOW));
    assert_eq!(before(&mut one, 1, 1, 100, NOW), Some(0));
    assert_eq!(before(&mut other, 1, 1, 100, NOW), Some(100));
    assert_eq!(before(&mut other, 1, 1, 100, NOW + BELIEVED), Some(1));
    before(&mut one, 1, 98, 100, NOW + BELIEVED);
    assert_eq!(before(&mut other, 1, 1, 100, NOW + BELIEVED), Some(100));
    one.settle(key(1), NOW);
    other.clear();
    assert_eq!(before(&mut other, 1, 1, 100, NOW + BELIEVED), Some(0), "under another epoch it asks");
}

#[test]
fn charging_nothing_tells_the_sum_and_writes_nothing() {
    let store = MemStore::new();
    let mut sums = Sums::new(store.clone());
    assert_eq!(before(&mut sums, 1, 0, 9, NOW), Some(0));
    before(&mut sums, 1, 4, 9, NOW);
    assert_eq!(before(&mut sums, 1, 0, 9, NOW), Some(4));
    assert_eq!(store.calls().sets, 1);
}

#[test]
fn a_window_that_is_over_before_it_begins_holds_nothing() {
    let store = MemStore::new();
    let mut sums = Sums::new(store.clone());
    for _ in 0..3 {
        assert_eq!(sums.charge(key(1), 5, 5, NOW, NOW), Some(Charged { before: 0, end: NOW }));
    }
    assert_eq!(store.calls().sets, 0);
}

#[test]
fn what_can_not_be_known_is_not_told() {
    let store = MemStore::new();
    let mut sums = Sums::new(store.clone());
    store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
    assert_eq!(before(&mut sums, 1, 1, 9, NOW), None);
    assert!(!sums.settle(key(1), NOW) || store.keys().is_empty());
    assert_eq!(sums.stats().given_up, 1);
    store.inject(Faults::NONE);
    let asked = (0..10_000).filter(|_| before(&mut sums, 1, 1, u32::MAX, NOW).is_some()).count();
    let Stats { unsynced, full, .. } = sums.stats();
    assert_eq!((asked as u64, unsynced, full), (1_999, 8_001, 0), "the budget's depth");
}

#[test]
fn a_full_shard_costs_as_much_of_the_budget_as_it_is_long() {
    let store = MemStore::new();
    let mut sums = Sums::new(store.clone());
    (0..MAX_ENTRIES as u64).for_each(|n| _ = before(&mut sums, n, 1, 9, NOW + Nanos(n * 1_000_000)));
    let later = NOW + Nanos::from_secs(9);
    let asked = (0..10_000).filter(|_| before(&mut sums, 1, 1, u32::MAX, later).is_some()).count();
    assert_eq!(asked, 2_000 / (MAX_ENTRIES / 128));
}

/// Fills the first shard: key `n` has the sum `n + 1`, and ends at its own time.
fn full(store: &MemStore) -> Sums<MemStore> {
    let mut sums = Sums::new(store.clone());
    for n in 0..MAX_ENTRIES as u64 {
        let now = NOW + Nanos(n * 1_000_000);
        assert_eq!(before(&mut sums, n, n as u32 + 1, u32::MAX, now), Some(0));
    }
    sums
}

#[test]
fn a_full_shard_forgets_the_smallest_sum_for_one_of_at_least_as_much() {
    let store = MemStore::new();
    let (mut sums, now) = (full(&store), NOW + Nanos::from_secs(5));
    assert_eq!(before(&mut sums, 9_000, 1, 99, now), Some(0), "it displaces the 1 of key 0");
    assert_eq!(before(&mut sums, 0, 0, 99, now), Some(0));
    assert_eq!(before(&mut sums, 9_001, 1, 99, now), Some(0), "and is displaced by an equal");
    assert_eq!(before(&mut sums, 9_000, 0, 99, now), Some(0));
    assert_eq!(before(&mut sums, 9_002, 2, 99, now), Some(0));
    assert_eq!(
        (before(&mut sums, 9_003, 1, 99, now), sums.stats().full),
        (None, 1),
        "the smallest are 2 now"
    );
    for n in 2..MAX_ENTRIES as u64 {
        sums = Sums::new(store.clone());
        assert_eq!(before(&mut sums, n, 0, u32::MAX, now), Some(n as u32 + 1));
    }
}

#[test]
fn of_equal_sums_the_one_that_ends_first_goes_and_before_all_what_is_over() {
    let mut bytes = Vec::new();
    let sum = |sum, end| Sum { sum, end: NOW + Nanos(end) };
    let ends = |n: u64| if n == 77 { 5 } else { 10 + n };
    for n in 0..MAX_ENTRIES as u64 {
        Shard::open(&mut bytes, NOW).charge(key(n), sum(3, ends(n)), 9);
    }
    Shard::open(&mut bytes, NOW).charge(key(5_000), sum(3, 90), 9);
    let mut shard = Shard::open(&mut bytes, NOW);
    assert_eq!((shard.get(key(77)), shard.get(key(5_000))), (None, Some(sum(3, 90))));
    assert_eq!(shard.charge(key(5_001), sum(2, 90), 9), None);
    let mut later = Shard::open(&mut bytes, NOW + Nanos(10));
    assert!(later.charge(key(5_001), sum(1, 90), 9).is_some(), "key 0 is over");
    assert_eq!(later.entries(), MAX_ENTRIES);
}

#[test]
fn foreign_bytes_are_counted_and_a_foreign_end_is_over() {
    let store = MemStore::new();
    store.overwrite("weir/2/s/000", &[0xff; 25]);
    let mut sums = Sums::new(store.clone());
    assert_eq!((before(&mut sums, 1, 1, 9, NOW), sums.stats().corrupt), (Some(0), 1));
    let mut record = store.peek("weir/2/s/000").unwrap();
    record[8..16].fill(0xff);
    record[16..20].fill(0xff);
    store.overwrite("weir/2/s/000", &record);
    assert_eq!(before(&mut sums, 1, 1, 9, NOW), Some(0));
    assert_eq!(before(&mut sums, 1, 1, 9, NOW), Some(1));
}

#[test]
fn an_end_further_ahead_than_a_day_is_cut_to_a_day() {
    let mut sums = Sums::new(MemStore::new());
    let day = NOW + MAX_WINDOW;
    assert_eq!(sums.charge(key(1), 1, 9, Nanos::MAX, NOW), Some(Charged { before: 0, end: day }));
    assert_eq!(sums.charge(key(1), 1, 9, END, NOW - Nanos(5)), Some(Charged { before: 1, end: day }));
}

proptest! {
    /// Few keys, few shards, several workers: as one map would have it.
    #[test]
    fn workers_together_add_up_as_one_would(
        acts in vec((0usize..3, 0u64..4, 0u32..50, 1u32..100, 0u64..400), 0..80),
    ) {
        let store = MemStore::new();
        let mut workers = [0; 3].map(|_| Sums::new(store.clone()));
        let mut model = [Sum { sum: 0, end: Nanos::ZERO }; 4];
        let mut now = NOW;
        for (worker, n, amount, most, pause) in acts {
            now = now + Nanos::from_millis(pause);
            let end = Nanos((now.0 / 1_000_000_000 + 1) * 1_000_000_000);
            let sum = &mut model[n as usize];
            if sum.end <= now {
                *sum = Sum { sum: 0, end };
            }
            let charged = workers[worker].charge(Key(mix(n)), amount, most, end, now).unwrap();
            // A worker that knows the key to be spent says by how much it was when it asked.
            let remembered = charged.before >= most && sum.sum >= charged.before;
            prop_assert!(charged.before == sum.sum || remembered);
            prop_assert!(charged.end == sum.end || sum.sum == 0);
            if sum.sum < most {
                sum.sum += amount;
            }
        }
    }

    #[test]
    fn a_full_shard_never_loses_what_is_larger_than_the_newcomer(sums in vec(1u32..60, 1..200), bid in 1u32..60) {
        let mut bytes = Vec::new();
        let sum = |sum| Sum { sum, end: END };
        for n in 0..MAX_ENTRIES {
            Shard::open(&mut bytes, NOW).charge(key(n as u64), sum(sums[n % sums.len()]), u32::MAX);
        }
        let mut shard = Shard::open(&mut bytes, NOW);
        let placed = shard.charge(key(9_999), sum(bid), u32::MAX).is_some();
        prop_assert_eq!(placed, sums.iter().any(|other| *other <= bid));
        let lost: Vec<u32> = (0..MAX_ENTRIES).filter(|n| shard.get(key(*n as u64)).is_none()).map(|n| sums[n % sums.len()]).collect();
        prop_assert_eq!(lost.len(), usize::from(placed));
        prop_assert!(lost.iter().all(|lost| Some(lost) == sums.iter().min()));
    }
}
