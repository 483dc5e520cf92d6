use super::*;
use crate::hash::mix;
use proptest::prelude::*;

/// A cell that is worth its number, and stays whatever happens if that is `u64::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Worth(u64);

impl Cell for Worth {
    fn stake(&self, _: Nanos) -> Option<u64> {
        (self.0 != u64::MAX).then_some(self.0)
    }
}

const NOW: Nanos = Nanos(1);

fn insert(table: &mut Table<Worth>, key: Key, worth: u64) -> Result<Placed<Worth>, Untracked> {
    let placed = table.insert(key, worth, NOW)?;
    table.put(placed.slot, Worth(worth));
    Ok(placed)
}

fn key(n: u64) -> Key {
    Key(mix(n + 1))
}

#[test]
fn a_key_finds_its_own_cell_until_removed() {
    let mut table = Table::new(4, 1000);
    for n in 0..500 {
        insert(&mut table, key(n), n).unwrap();
    }
    for n in 0..500 {
        let slot = table.find(key(n)).unwrap();
        assert_eq!((table.key(slot), table.cell(slot)), (Some(key(n)), Worth(n)));
    }
    let slot = table.find(key(7)).unwrap();
    table.remove(slot);
    assert_eq!((table.find(key(7)), table.stats().used), (None, 499));
}

#[test]
fn slots_of_a_key_lie_in_its_range() {
    let mut table = Table::<Worth>::new(512, 50_000);
    for n in 0..40_000 {
        let slot = table.insert(key(n), u64::MAX, NOW).unwrap().slot;
        assert_eq!(slot.index() / table.slots_per_range(), (key(n).0 >> 55) as usize);
    }
}

/// Evictions while `keys` distinct keys arrive at a table of 50,000 slots.
fn evictions(ranges: u32, keys: u64) -> u64 {
    let mut table = Table::new(ranges, 50_000);
    for n in 0..keys {
        let placed = table.insert(key(n), u64::MAX, NOW).unwrap();
        table.put(placed.slot, Worth(1));
    }
    table.stats().evictions
}

#[test]
fn few_keys_are_displaced_before_the_table_is_full() {
    assert!(evictions(512, 35_000) < 10);
    assert!(evictions(512, 45_000) < 45_000 / 90);
    assert!(evictions(512, 50_000) < 50_000 / 25);
}

#[test]
fn the_cheapest_candidate_goes_and_is_handed_over() {
    let mut table = Table::new(1, 1);
    for n in 0..8 {
        insert(&mut table, key(n), 100 + n).unwrap();
    }
    let placed = insert(&mut table, key(8), 500).unwrap();
    assert_eq!(placed.evicted, Some((key(0), Worth(100))));
    assert_eq!(table.find(key(0)), None);
    assert_eq!(table.stats(), Stats { tracked: 9, evictions: 1, used: 8, ..Stats::default() });
}

#[test]
fn a_newcomer_that_bids_too_little_loses_the_contest() {
    let mut table = Table::new(1, 1);
    for n in 0..8 {
        insert(&mut table, key(n), 100).unwrap();
    }
    assert_eq!(insert(&mut table, key(8), 100), Err(Untracked::ContestLost));
    assert_eq!(table.stats().contest_lost, 1);
    assert_eq!((0..8).filter(|&n| table.find(key(n)).is_some()).count(), 8);
}

#[test]
fn protected_cells_outlast_any_flood() {
    let mut table = Table::new(1, 64);
    insert(&mut table, key(0), u64::MAX).unwrap();
    for n in 1..10_000 {
        let _ = insert(&mut table, key(n), 5 + n);
    }
    assert!(table.find(key(0)).is_some());
    let mut full = Table::new(1, 1);
    for n in 0..8 {
        insert(&mut full, key(n), u64::MAX).unwrap();
    }
    assert_eq!(insert(&mut full, key(9), u64::MAX), Err(Untracked::ScanExhausted));
    assert_eq!(full.stats().scan_exhausted, 1);
}

#[test]
fn idle_cells_are_swept_away_a_few_at_a_time() {
    let mut table = Table::new(1, 64);
    for n in 0..20 {
        insert(&mut table, key(n), n % 2).unwrap();
    }
    for _ in 0..8 {
        table.sweep(8, NOW);
    }
    assert_eq!(table.stats().used, 10);
    assert!((0..20).all(|n| table.find(key(n)).is_some() == (n % 2 == 1)));
}

#[test]
fn iteration_shows_every_key_once() {
    let mut table = Table::new(8, 500);
    for n in 0..300 {
        insert(&mut table, key(n), n).unwrap();
    }
    let mut seen: Vec<u64> = table
        .iter()
        .map(|(slot, key, cell)| {
            assert_eq!(table.find(key), Some(slot));
            cell.0
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..300).collect::<Vec<u64>>());
}

#[test]
fn memory_is_what_was_announced() {
    let table = Table::<Worth>::new(512, 50_000);
    let held = size_of_val(&*table.hints) + size_of_val(&*table.entries);
    assert_eq!(Table::<Worth>::memory_bytes(512, 50_000), held as u64);
    assert_eq!(table.slots(), 53_248);
}

#[test]
fn both_sets_of_a_key_are_different_and_lie_in_its_range() {
    for (ranges, slots) in [(1, 16), (3, 100), (512, 4_096), (512, 50_000), (1, 50_000), (7, 1_000_000)] {
        let table = Table::<Worth>::new(ranges, slots);
        let sets = table.slots_per_range() / WAYS;
        for n in 0..2_000 {
            let (first, second) = table.sets(key(n));
            let range = table.range(key(n));
            assert_eq!((first / sets, second / sets), (range, range));
            assert_eq!(first == second, sets == 1);
        }
    }
}

#[test]
fn key_zero_is_a_key_like_any_other() {
    let mut table = Table::new(1, 8);
    assert_eq!(table.find(Key(0)), None);
    insert(&mut table, Key(0), 3).unwrap();
    assert_eq!(table.find(Key(0)).map(|slot| table.cell(slot)), Some(Worth(3)));
}

proptest! {
    /// Keys that differ in what the hints don't see only, in few sets.
    #[test]
    fn keys_with_equal_hints_are_told_apart(tops in proptest::collection::vec(0u64..8, 1..40)) {
        let mut table = Table::new(2, 64);
        let key = |n: usize, top: u64| Key(top << 61 | (n as u64) << 33 | 0x55_000);
        for (n, &top) in tops.iter().enumerate() {
            let placed = insert(&mut table, key(n, top), u64::MAX);
            if let Ok(placed) = placed {
                prop_assert_eq!(table.find(key(n, top)), Some(placed.slot));
            }
        }
        for (slot, key, _) in table.iter() {
            prop_assert_eq!(table.find(key), Some(slot));
        }
        prop_assert_eq!(table.find(key(99, 0)), None);
    }

    #[test]
    fn the_table_agrees_with_its_count_whatever_is_done_to_it(
        steps in proptest::collection::vec((0u64..60, 0u64..4, 0u8..4), 0..300),
    ) {
        let mut table = Table::new(2, 32);
        for (n, worth, act) in steps {
            match (act, table.find(key(n))) {
                (0, Some(slot)) => table.remove(slot),
                (1, _) => table.sweep(5, NOW),
                (_, Some(slot)) => table.put(slot, Worth(worth)),
                (_, None) => { let _ = insert(&mut table, key(n), worth); }
            }
            let keys: Vec<Key> = table.iter().map(|(_, key, _)| key).collect();
            prop_assert_eq!(keys.len(), table.stats().used as usize);
            prop_assert!(keys.iter().all(|&key| table.find(key).is_some()));
        }
    }
}
