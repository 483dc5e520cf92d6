use super::*;
use crate::counters::bucket::{Charge, Quota};
use crate::hash::mix;
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_secs(1000);
const SECOND: u64 = 1_000_000_000;

fn key(n: u64) -> Key {
    Key(mix(n + 1))
}

fn ahead(millis: u64) -> Nanos {
    NOW + Nanos::from_millis(millis)
}

/// Of a quota with this interval.
fn pace(interval: Nanos) -> Pace {
    Pace::of(&Quota { interval, burst: 1, charge: Charge::Every })
}

const MILLI: Nanos = Nanos::from_millis(1);

/// What a rule of one event per millisecond leaves.
fn put(arrears: &mut Arrears, key: Key, tat: Nanos) -> Option<Nanos> {
    arrears.put(key, tat, pace(MILLI), NOW)
}

#[test]
fn what_is_owed_is_taken_back_once() {
    let mut arrears = Arrears::new(64);
    assert_eq!(arrears.take(key(1), NOW), None);
    assert_eq!(put(&mut arrears, key(1), ahead(5000)), None);
    assert_eq!(put(&mut arrears, key(2), ahead(7000)), None);
    assert_eq!(arrears.stats(), Stats { tracked: 2, used: 2, ..Stats::default() });
    assert_eq!(arrears.take(key(1), ahead(1000)), Some(ahead(5000)));
    assert_eq!(arrears.take(key(1), ahead(1000)), None);
    assert_eq!(arrears.take(key(2), ahead(7000)), None, "a bucket that is full again");
    assert_eq!(arrears.stats().used, 0);
}

#[test]
fn a_full_bucket_is_not_worth_a_word() {
    let mut arrears = Arrears::new(64);
    for tat in [Nanos::ZERO, NOW, NOW + MILLI - Nanos(1)] {
        assert_eq!(put(&mut arrears, key(1), tat), None);
    }
    assert_eq!(arrears.stats(), Stats::default());
}

#[test]
fn of_two_debts_of_one_key_the_longer_is_remembered() {
    let mut arrears = Arrears::new(64);
    put(&mut arrears, key(1), ahead(9000));
    put(&mut arrears, key(1), ahead(3000));
    put(&mut arrears, key(1), ahead(4000));
    assert_eq!((arrears.stats().used, arrears.take(key(1), NOW)), (1, Some(ahead(9000))));
}

#[test]
fn twelve_days_are_the_furthest_that_a_debt_reaches() {
    let mut arrears = Arrears::new(64);
    put(&mut arrears, key(1), Nanos::MAX);
    assert_eq!(arrears.take(key(1), NOW), Some(NOW + Nanos::from_millis(FURTHEST)));
}

#[test]
fn what_is_over_is_swept_away_a_few_lines_at_a_time() {
    let mut arrears = Arrears::new(64);
    (0..100).for_each(|n| {
        put(&mut arrears, key(n), ahead(10 + n * 10));
    });
    arrears.sweep(ahead(500));
    assert!(arrears.stats().used > 40);
    for _ in 0..SWEEPS {
        arrears.sweep(ahead(500));
    }
    assert_eq!(arrears.stats().used, 50);
    assert!((50..100).all(|n| arrears.take(key(n), ahead(500)) == Some(ahead(10 + n * 10))));
}

#[test]
fn no_debt_comes_alive_again_however_seldom_it_is_swept() {
    for days in [1, 11, 13] {
        let mut arrears = Arrears::new(256);
        arrears.sweep(NOW);
        (0..1000).for_each(|n| {
            put(&mut arrears, key(n), ahead(5000));
        });
        for later in 1..60 / days {
            arrears.sweep(NOW + Nanos::from_secs(86_400 * days * later));
        }
        assert_eq!(arrears.stats().used, 0, "every {days} days");
    }
}

#[test]
fn of_more_keys_than_there_are_words_as_many_are_remembered() {
    let mut arrears = Arrears::new(1024);
    let keys = 3 * 8192;
    let hour = Nanos::from_secs(3600);
    for turn in 0..3 {
        let mut known = 0;
        for n in 0..keys {
            let now = NOW + Nanos::from_millis(turn * 60_000 + n);
            known += u64::from(arrears.take(key(n), now).is_some());
            arrears.put(key(n), now + hour, pace(hour), now);
        }
        assert!(turn == 0 || known > 7_000, "{known} of {keys} in turn {turn}");
    }
}

#[test]
fn a_pause_of_weeks_leaves_no_debt_whatever_the_clock_of_words_says() {
    let mut arrears = Arrears::new(64);
    arrears.sweep(NOW);
    put(&mut arrears, key(1), ahead(5000));
    let weeks = NOW + Nanos::from_millis(u64::from(u32::MAX) - 10);
    arrears.sweep(weeks);
    assert_eq!((arrears.stats().used, arrears.take(key(1), weeks)), (0, None));
}

#[test]
fn who_never_owed_is_not_taken_for_a_debtor() {
    let mut arrears = Arrears::new(4096);
    for n in 0..50_000 {
        put(&mut arrears, key(n), ahead(100_000 + n));
    }
    assert!(arrears.stats().used > 32_000);
    // 5 million at 1.2e-7 each: some 0.6.
    let taken = (0..5_000_000).filter(|n| arrears.take(key(n | 1 << 40), NOW).is_some()).count();
    assert!(taken <= 4, "{taken}");
}

#[test]
fn memory_is_what_was_announced() {
    assert_eq!(Arrears::memory_bytes(65_536), 4 * 1024 * 1024 + 56);
}

proptest! {
    #[test]
    fn less_than_a_millisecond_is_lost_and_nothing_is_added(
        now in 0u64..1 << 62, owed in 0u64..400 * SECOND, later in 0u64..400 * SECOND,
    ) {
        let (now, tat, then) = (Nanos(now), Nanos(now + owed), Nanos(now + later));
        let mut arrears = Arrears::new(2);
        prop_assert_eq!(arrears.put(key(1), tat, pace(MILLI), now), None);
        let back = arrears.take(key(1), then).unwrap_or(then);
        prop_assert!(back <= tat.max(then));
        prop_assert!(back + MILLI > tat.min(then + Nanos(owed)) || tat <= then + MILLI);
    }

    /// Keys of one line and of rules of any rate: nothing is kept that is of a lower octave than something that was
    /// lost; what was lost is told, and none of it was worth telling that owed one event.
    #[test]
    fn the_dearest_debts_stay(debts in vec((1u64..5_000, 0u32..18), 1..60)) {
        let mut arrears = Arrears::new(2);
        let here = |n: usize| Key(mix(n as u64 + 1) >> 1);
        // So many events of so long an interval: 1 ms to 9 minutes.
        let owed = |&(events, slow): &(u64, u32)| Nanos::from_millis(events << slow);
        let price = |debt: &(u64, u32)| Price::of(owed(debt), pace(Nanos::from_millis(1 << debt.1)));
        let mut told = 0;
        for (n, debt) in debts.iter().enumerate() {
            let before = arrears.stats();
            let lost = arrears.put(here(n), NOW + owed(debt), pace(Nanos::from_millis(1 << debt.1)), NOW);
            let after = arrears.stats();
            let forgotten = after.evictions + after.contest_lost > before.evictions + before.contest_lost;
            prop_assert!(lost.is_none() || forgotten);
            told += u64::from(lost.is_some());
        }
        let kept = |n: &usize| position(&arrears.lines.get(0), |word| Word(word).is(here(*n))).is_some();
        let (kept, lost): (Vec<usize>, Vec<usize>) = (0..debts.len()).partition(kept);
        prop_assert_eq!(kept.len(), debts.len().min(8));
        let octave = |n: &usize| price(&debts[*n]).octave();
        let dearest_lost = lost.iter().map(octave).max().unwrap_or_default();
        prop_assert!(kept.iter().all(|n| octave(n) >= dearest_lost));
        let worth_telling = lost.iter().filter(|n| price(&debts[**n]).exceeds_one_event()).count();
        prop_assert_eq!(told, worth_telling as u64);
    }

    #[test]
    fn no_clock_and_no_key_makes_it_trap_or_miscount(
        acts in vec((0u8..3, 0u64..40, any::<u64>(), any::<u64>()), 0..200),
    ) {
        let mut arrears = Arrears::new(4);
        for (act, n, tat, now) in acts {
            match act {
                0 => { arrears.put(key(n), Nanos(tat), Pace::from_bits(tat), Nanos(now)); }
                1 => { arrears.take(key(n), Nanos(now)); }
                _ => arrears.sweep(Nanos(now)),
            }
            let used = (0..4).flat_map(|line| arrears.lines.get(line)).filter(|&word| word != 0).count();
            prop_assert_eq!(used as u64, arrears.stats().used);
        }
    }
}
