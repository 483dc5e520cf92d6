use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn quota(interval: u64, burst: u32, charge: Charge) -> Quota {
    Quota { interval: Nanos(interval), burst, charge }
}

/// One event on a lone bucket.
fn offer(quota: &Quota, tat: &mut Nanos, now: Nanos) -> bool {
    let admitted = quota.admits(*tat, now);
    *tat = quota.after(*tat, admitted, now);
    admitted
}

fn admitted(quota: &Quota, tat: &mut Nanos, arrivals: impl Iterator<Item = Nanos>) -> u64 {
    arrivals.filter(|&now| offer(quota, tat, now)).count() as u64
}

#[test]
fn a_burst_of_the_capacity_is_admitted_and_one_more_is_not() {
    for burst in [1, 2, 7, 100] {
        let q = quota(10_000_000, burst, Charge::Admitted);
        let burst_at_once = (0..burst + 5).map(|_| Nanos(SECOND));
        assert_eq!(admitted(&q, &mut Nanos::default(), burst_at_once), u64::from(burst));
    }
}

#[test]
fn every_rate_is_exact_over_time() {
    // (events, in seconds): 30, 60, 75 per second, 6 per minute, 1 per hour.
    for (events, seconds) in [(30, 1), (60, 1), (75, 1), (6, 60), (1, 3600)] {
        let q = quota((seconds * SECOND + events / 2) / events, 2, Charge::Admitted);
        let step = q.interval.0 * 3 / 7;
        let arrivals = (0..1000 * seconds * SECOND / step).map(|i| Nanos(SECOND + i * step));
        let got = admitted(&q, &mut Nanos::default(), arrivals);
        assert!(got.abs_diff(events * 1000 + 2) <= 1, "{events}/{seconds}s: {got}");
    }
}

#[test]
fn credit_between_tokens_is_not_lost() {
    let q = quota(SECOND / 75, 1, Charge::Admitted);
    // Asking at 80 per second, out of step with the tokens.
    let got = admitted(&q, &mut Nanos::default(), (0..8000).map(|i| Nanos(SECOND + i * SECOND / 80)));
    assert!((4000..=7501).contains(&got), "{got}");
    let q = quota(SECOND / 75, 2, Charge::Admitted);
    let got = admitted(&q, &mut Nanos::default(), (0..8000).map(|i| Nanos(SECOND + i * SECOND / 80)));
    assert!(got.abs_diff(7501) <= 2, "{got}");
}

#[test]
fn refused_events_become_debt_only_when_every_event_is_charged() {
    let polite = quota(SECOND / 10, 10, Charge::Admitted);
    let strict = quota(SECOND / 10, 10, Charge::Every);
    let flood = || (0..30).map(|_| Nanos(SECOND));
    let (mut a, mut b) = (Nanos::ZERO, Nanos::ZERO);
    assert_eq!(admitted(&polite, &mut a, flood()), 10);
    assert_eq!(admitted(&strict, &mut b, flood()), 10);
    assert_eq!(polite.wait(a, Nanos(SECOND)), Nanos(SECOND / 10));
    assert_eq!(strict.wait(b, Nanos(SECOND)), Nanos(SECOND / 10 * 21), "20 in debt and one to come");
}

#[test]
fn debt_is_repaid_within_its_cap_after_any_flood() {
    let q = quota(SECOND, 5, Charge::Every);
    let mut tat = Nanos::ZERO;
    let now = Nanos(SECOND);
    assert_eq!(admitted(&q, &mut tat, (0..100_000).map(|_| now)), 5);
    assert_eq!(q.wait(tat, now), MAX_DEBT + q.interval);
}

#[test]
fn extreme_quotas_and_clocks_neither_trap_nor_refuse_a_first_event() {
    for interval in [0, 1, u64::MAX] {
        for burst in [1, u32::MAX] {
            for now in [0, 1, u64::MAX] {
                let q = quota(interval, burst, Charge::Every);
                assert!(offer(&q, &mut Nanos::default(), Nanos(now)), "{interval} {burst} {now}");
            }
        }
    }
}

proptest! {
    #[test]
    fn refused_until_the_promised_instant_and_admitted_at_it(
        interval in 1u64..10 * SECOND, burst in 1u32..1000, ahead in 0u64..400 * SECOND, now in 0u64..1 << 60, every in any::<bool>(),
    ) {
        let q = quota(interval, burst, if every { Charge::Every } else { Charge::Admitted });
        let (now, tat) = (Nanos(now), Nanos(now + ahead));
        let wait = q.wait(tat, now);
        prop_assert!(q.admits(tat, now + wait));
        if wait > Nanos::ZERO {
            prop_assert!(!q.admits(tat, now + wait - Nanos(1)));
        }
    }

    #[test]
    fn no_clock_keeps_a_caller_waiting_for_longer_than_the_deepest_debt(
        interval in 1u64..10 * SECOND, burst in 1u32..1000, clock in proptest::collection::vec(any::<u64>(), 1..50), every in any::<bool>(),
    ) {
        let q = quota(interval, burst, if every { Charge::Every } else { Charge::Admitted });
        let debt = if every { MAX_DEBT } else { q.capacity() };
        let mut tat = Nanos::ZERO;
        for now in clock.into_iter().map(Nanos) {
            offer(&q, &mut tat, now);
            prop_assert!(q.wait(tat, now) <= debt + q.interval);
            let wait = q.wait(tat, now);
            prop_assert!(now.0.checked_add(wait.0 + q.capacity().0).is_none() || q.admits(tat, now + wait));
        }
    }

    #[test]
    fn the_level_is_what_can_be_charged_before_a_refusal(
        interval in 1u64..SECOND, burst in 1u32..200, ahead in 0u64..200 * SECOND,
    ) {
        let q = quota(interval, burst, Charge::Admitted);
        let now = Nanos(SECOND);
        let mut tat = now + Nanos(ahead);
        let level = q.level(tat, now);
        prop_assert_eq!(admitted(&q, &mut tat, (0..burst + 1).map(|_| now)), u64::from(level));
    }

    #[test]
    fn no_sequence_is_admitted_beyond_burst_and_rate(
        interval in 1_000u64..SECOND, burst in 1u32..50, gaps in proptest::collection::vec(0u64..SECOND, 1..200),
    ) {
        let q = quota(interval, burst, Charge::Admitted);
        let (mut tat, mut now, mut count) = (Nanos::ZERO, Nanos(SECOND), 0);
        for gap in gaps {
            now = now + Nanos(gap);
            count += u64::from(offer(&q, &mut tat, now));
        }
        prop_assert!(count <= u64::from(burst) + (now.0 - SECOND) / interval);
    }
}
