//! Sums over windows: what a quota admits in all, whatever the number of workers and whatever goes wrong.

use crate::sim::{Dice, SECOND};
use weir::exchange::sums::{Charged, Sums};
use weir::hash::{Key, mix};
use weir::shared::mem::{Faults, MemStore};
use weir::time::Nanos;

const START: u64 = 1_000 * SECOND;
const WINDOW: u64 = 10 * SECOND;
const QUOTA: u32 = 20;

/// The end of the clock-aligned window in which `now` is.
fn end(now: u64) -> Nanos {
    Nanos((now / WINDOW + 1) * WINDOW)
}

fn workers(store: &MemStore, count: usize) -> Vec<Sums<MemStore>> {
    (0..count).map(|_| Sums::new(store.clone())).collect()
}

/// Admitted in each of six windows of one key that is charged 50 times a second at workers in no order; and how many charges
/// nobody could tell of.
fn admitted(count: usize, amount: u32, faults: Faults) -> ([u32; 6], u32) {
    let store = MemStore::new();
    store.inject(faults);
    let (mut workers, mut dice) = (workers(&store, count), Dice::new(count as u64));
    let (mut windows, mut unknown) = ([0; 6], 0);
    for i in 0..6 * 10 * 50 {
        let now = START + i * SECOND / 50;
        let worker = &mut workers[dice.below(count as u64) as usize];
        match worker.charge(Key(mix(1)), amount, QUOTA, end(now), Nanos(now)) {
            Some(Charged { before, end }) => {
                assert!(end.0 - now <= WINDOW);
                if before < QUOTA {
                    windows[((now - START) / WINDOW) as usize] += amount;
                }
            }
            None => unknown += 1,
        }
    }
    (windows, unknown)
}

#[test]
fn any_number_of_workers_admits_exactly_the_quota_in_every_window() {
    for count in [1, 2, 4, 16] {
        assert_eq!(admitted(count, 1, Faults::NONE), ([QUOTA; 6], 0), "{count} workers");
        assert_eq!(admitted(count, 7, Faults::NONE), ([21; 6], 0), "{count} workers, by sevens");
    }
}

#[test]
fn writes_that_are_refused_are_made_again_and_cost_no_exactness() {
    for count in [1, 2, 4, 16] {
        let faults = Faults { refuse_writes: 200_000, ..Faults::NONE };
        assert_eq!(admitted(count, 1, faults), ([QUOTA; 6], 0), "{count} workers");
    }
}

#[test]
fn lost_writes_and_wiped_values_admit_a_little_more_and_never_less() {
    let lost = Faults { lose_writes: 10_000, ..Faults::NONE };
    let wiped = Faults { wipe_reads: 3_000, ..Faults::NONE };
    for (name, faults) in [("1 % lost", lost), ("0.3 % wiped", wiped)] {
        for count in [1, 4, 16] {
            let (windows, unknown) = admitted(count, 1, faults);
            println!("sums, {name:12} {count:2} workers: {windows:?} of {QUOTA}");
            assert!(unknown == 0 && windows.iter().all(|sum| (QUOTA..=3 * QUOTA).contains(sum)));
        }
    }
}

#[test]
fn a_clock_that_stands_still_keeps_the_window_open_and_the_quota_exact() {
    let store = MemStore::new();
    let mut workers = workers(&store, 4);
    let admitted = (0..4_000).filter(|i| {
        let charged = workers[i % 4].charge(Key(9), 1, 500, end(START), Nanos(START));
        charged.is_some_and(|charged| charged.before < 500)
    });
    assert_eq!(admitted.count(), 500);
}

#[test]
fn refusals_of_a_hammering_key_cost_next_to_no_shared_calls() {
    let store = MemStore::new();
    let mut workers = workers(&store, 4);
    for i in 0..200_000u64 {
        let now = START + i * SECOND / 20_000;
        workers[i as usize % 4].charge(Key(mix(1)), 1, QUOTA, end(now), Nanos(now));
    }
    // 20 admitted, and each worker asks once a second.
    assert!(store.calls().gets <= u64::from(QUOTA) + 4 * 11, "{:?}", store.calls());
}

#[test]
fn a_flood_of_made_up_keys_takes_nobody_near_its_quota_out_of_the_sums() {
    let store = MemStore::new();
    let mut workers = workers(&store, 4);
    let charge = |workers: &mut Vec<Sums<MemStore>>, key: u64, i: u64, now: u64| {
        workers[i as usize % 4].charge(Key(mix(key)), 1, QUOTA, end(now), Nanos(now))
    };
    for i in 0..5 {
        assert!(charge(&mut workers, 1, i, START).is_some());
    }
    let mut unknown = 0;
    for i in 0..300_000u64 {
        let now = START + i * SECOND / 40_000;
        unknown += u64::from(charge(&mut workers, 1_000 + i, i, now).is_none());
    }
    let now = START + 9 * SECOND;
    assert_eq!(charge(&mut workers, 1, 0, now).map(|charged| charged.before), Some(5));
    println!("sums, 300,000 keys at 40,000/s on 4 workers: {unknown} not known");
}
