use super::*;
use crate::counters::bucket::Charge;
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

fn quota(interval: u64, burst: u32, charge: Charge) -> Quota {
    Quota { interval: Nanos(interval), burst, charge }
}

#[test]
fn what_is_owed_is_taken_back_once() {
    let mut arrears = Arrears::new(64);
    assert_eq!(arrears.take(key(1), NOW), None);
    assert_eq!(arrears.put(key(1), ahead(5000), NOW), None);
    assert_eq!(arrears.put(key(2), ahead(7000), NOW), None);
    assert_eq!(arrears.stats(), Stats { tracked: 2, used: 2, ..Stats::default() });
    assert_eq!(arrears.take(key(1), ahead(1000)), Some(ahead(5000)));
    assert_eq!(arrears.take(key(1), ahead(1000)), None);
    assert_eq!(arrears.take(key(2), ahead(7000)), None, "a bucket that is full again");
    assert_eq!(arrears.stats().used, 0);
}

#[test]
fn a_full_bucket_is_not_worth_a_word() {
    let mut arrears = Arrears::new(64);
    for tat in [Nanos::ZERO, NOW, NOW + Nanos(MILLI - 1)] {
        assert_eq!(arrears.put(key(1), tat, NOW), None);
    }
    assert_eq!(arrears.stats(), Stats::default());
}

#[test]
fn a_debt_put_again_replaces_the_one_before() {
    let mut arrears = Arrears::new(64);
    arrears.put(key(1), ahead(9000), NOW);
    arrears.put(key(1), ahead(3000), NOW);
    assert_eq!((arrears.stats().used, arrears.take(key(1), NOW)), (1, Some(ahead(3000))));
}

#[test]
fn twelve_days_are_the_furthest_that_a_debt_reaches() {
    let mut arrears = Arrears::new(64);
    arrears.put(key(1), Nanos::MAX, NOW);
    assert_eq!(arrears.take(key(1), NOW), Some(NOW + Nanos::from_millis(FURTHEST)));
}

#[test]
fn what_is_over_is_swept_away_a_few_lines_at_a_time() {
    let mut arrears = Arrears::new(64);
    (0..100).for_each(|n| {
        arrears.put(key(n), ahead(10 + n * 10), NOW);
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
fn a_pause_of_weeks_leaves_no_debt_whatever_the_clock_of_words_says() {
    let mut arrears = Arrears::new(64);
    arrears.sweep(NOW);
    arrears.put(key(1), ahead(5000), NOW);
    let weeks = NOW + Nanos::from_millis(u64::from(u32::MAX) - 10);
    arrears.sweep(weeks);
    assert_eq!((arrears.stats().used, arrears.take(key(1), weeks)), (0, None));
}

#[test]
fn who_never_owed_is_not_taken_for_a_debtor() {
    let mut arrears = Arrears::new(4096);
    for n in 0..50_000 {
        arrears.put(key(n), ahead(100_000 + n), NOW);
    }
    assert!(arrears.stats().used > 32_000);
    // 5 million at 2e-9 each: one run in a hundred has one.
    let taken = (0..5_000_000).filter(|n| arrears.take(key(n | 1 << 40), NOW).is_some()).count();
    assert!(taken <= 1, "{taken}");
}

/// Fast and slow rates, far below and above the resolution of a millisecond.
#[test]
fn a_key_without_a_slot_is_held_to_its_rate() {
    for (interval, burst, seconds) in
        [(10_000, 1_000, 2), (300_000, 50, 10), (SECOND / 75, 10, 100), (10 * SECOND, 6, 10_000)]
    {
        let mut arrears = Arrears::new(64);
        let rule = quota(interval, burst, Charge::Admitted);
        let asks = seconds * SECOND / interval * 3;
        let at = |i: u64| NOW + Nanos(i * interval / 3);
        let admitted =
            (0..asks).filter(|&i| arrears.charge(key(1), &rule, at(i)) == Verdict::Admit).count() as f64;
        let ideal = f64::from(burst) + (seconds * SECOND / interval) as f64;
        let (interval, milli) = (interval as f64, MILLI as f64);
        let rounding = (interval * milli).sqrt().min(milli / 2.0) * ideal.sqrt() / interval;
        assert!(
            (admitted - ideal).abs() <= 3.0 * rounding + 1.0,
            "{interval}: {admitted} of {ideal} ± {rounding}"
        );
    }
}

#[test]
fn a_burst_without_a_slot_is_the_burst_to_a_few_tokens() {
    let mut arrears = Arrears::new(64);
    for n in 0..100 {
        let rule = quota(10_000_000, 100, Charge::Every);
        let admitted = (0..300).filter(|_| arrears.charge(key(n), &rule, NOW) == Verdict::Admit).count();
        assert!((98..=102).contains(&admitted), "{admitted}");
        let Verdict::Refuse { wait } = arrears.charge(key(n), &rule, NOW) else { panic!("in debt") };
        assert!(wait.as_millis().abs_diff(2010) < 30, "{wait:?}");
    }
}

#[test]
fn where_all_others_owe_more_there_is_no_verdict() {
    let mut arrears = Arrears::new(2);
    let here = |n: u64| Key(mix(n + 1) >> 1);
    (0..8).for_each(|n| {
        arrears.put(here(n), ahead(60_000), NOW);
    });
    let rule = quota(1_000_000_000, 5, Charge::Admitted);
    assert_eq!(arrears.charge(here(9), &rule, NOW), Verdict::Untracked);
    assert_eq!(arrears.stats().contest_lost, 1);
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
        prop_assert_eq!(arrears.put(key(1), tat, now), None);
        let back = arrears.take(key(1), then).unwrap_or(then);
        prop_assert!(back <= tat.max(then));
        prop_assert!(back + Nanos(MILLI) > tat.min(then + Nanos(owed)) || tat <= then + Nanos(MILLI));
    }

    /// Keys of one line: whatever comes by, the eight longest debts are those that stay, and each of the others is
    /// handed back once.
    #[test]
    fn the_longest_debts_stay(mut debts in vec(1u64..300_000, 1..60)) {
        let mut arrears = Arrears::new(2);
        let here = |n: usize| Key(mix(n as u64 + 1) >> 1);
        let lost: Vec<u64> = debts.iter().enumerate()
            .filter_map(|(n, &debt)| arrears.put(here(n), ahead(debt), NOW))
            .map(|lost| (lost - NOW).as_millis())
            .collect();
        let mut kept: Vec<u64> =
            (0..debts.len()).filter_map(|n| arrears.take(here(n), NOW)).map(|tat| (tat - NOW).as_millis()).collect();
        kept.sort_unstable();
        debts.sort_unstable();
        prop_assert_eq!(&kept, &debts[debts.len().saturating_sub(8)..]);
        prop_assert_eq!(lost.len(), debts.len() - kept.len());
        prop_assert_eq!(lost.iter().chain(&kept).sum::<u64>(), debts.iter().sum::<u64>());
    }

    #[test]
    fn no_clock_and_no_key_makes_it_trap_or_miscount(
        acts in vec((0u8..4, 0u64..40, any::<u64>(), any::<u64>()), 0..200), every in any::<bool>(),
    ) {
        let mut arrears = Arrears::new(4);
        let rule = quota(7_000_000, 3, if every { Charge::Every } else { Charge::Admitted });
        for (act, n, tat, now) in acts {
            match act {
                0 => { arrears.put(key(n), Nanos(tat), Nanos(now)); }
                1 => { arrears.take(key(n), Nanos(now)); }
                2 => { arrears.charge(key(n), &rule, Nanos(now)); }
                _ => arrears.sweep(Nanos(now)),
            }
            let used = (0..4).flat_map(|line| arrears.lines.get(line)).filter(|&word| word != 0).count();
            prop_assert_eq!(used as u64, arrears.stats().used);
        }
    }
}
