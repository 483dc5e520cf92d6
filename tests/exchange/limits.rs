//! The limit holds for the process, however many workers there are and however a client is spread over them.

use crate::sim::*;
use weir::counters::bucket::{Charge, Quota, Verdict};
use weir::time::Nanos;

const HUNDRED: u32 = 100;

#[test]
fn the_table_of_means_worst_seconds_and_excess() {
    println!("workers  spread        mean   worst second  excess %  of ideal  syncs/request");
    for workers in [1, 2, 4, 16] {
        for spread in SPREADS {
            let mut process = Process::new(workers);
            let account = run(&mut process, per_second(HUNDRED, HUNDRED), Arrivals::Poisson(400), spread, 30);
            let syncs: u64 = process.workers.iter().map(|w| w.stats().syncs).sum();
            println!(
                "{workers:7}  {:12}  {:.3}  {:12.2}  {:8.1}  {:.4}  {:.3}",
                format!("{spread:?}"),
                account.mean(30),
                account.worst_second(),
                account.excess() * 100.0,
                account.total() as f64 / account.ideal_admitted as f64,
                syncs as f64 / account.offered as f64,
            );
            assert!((account.mean(30) - 1.0).abs() < 0.01, "{workers} {spread:?}: {}", account.mean(30));
            assert!(account.worst_second() <= 1.12, "{workers} {spread:?}: {}", account.worst_second());
            assert!(account.excess() <= 0.52);
        }
    }
}

#[test]
fn a_client_below_its_limit_is_never_refused() {
    let cases = [
        (per_second(100, 100), Arrivals::Regular(80)),
        (per_second(100, 100), Arrivals::Poisson(80)),
        (per_second(100, 100), Arrivals::Bursts(80)),
        (per_second(100, 100), Arrivals::Bursts(95)),
        (per_second(10, 10), Arrivals::Regular(8)),
        (per_second(10, 10), Arrivals::Bursts(8)),
        (per_second(2, 2), Arrivals::Regular(1)),
    ];
    for workers in [1, 2, 4, 16] {
        for spread in [Spread::Even, Spread::Zipf, Spread::One, Spread::Moving(500)] {
            for (quota, arrivals) in cases {
                let account = run(&mut Process::new(workers), quota, arrivals, spread, 10);
                assert_eq!(account.false_refusals, 0, "{workers} {spread:?} {quota:?} {arrivals:?}");
            }
        }
    }
}

#[test]
fn a_client_at_four_fifths_of_six_per_minute_is_never_refused() {
    let quota = Quota { interval: Nanos(10 * SECOND), burst: 6, charge: Charge::Admitted };
    for workers in [1, 4, 16] {
        let mut process = Process::new(workers);
        let mut account = Account::new(quota);
        for i in 0..48 {
            let now = START + i * 12_500 * MILLI;
            account.record(process.charge(i as usize % workers, 1, &quota, now), now);
        }
        assert_eq!((account.total(), account.false_refusals), (48, 0));
    }
}

/// 4,000 requests in 40 ms, evenly spread, after a client's usual traffic at `usual` per second on `known` workers.
fn flash(workers: usize, usual: u32, known: usize) -> Account {
    let quota = per_second(HUNDRED, HUNDRED);
    let mut process = Process::new(workers);
    let mut account = Account::new(quota);
    let mut dice = Dice::new(3);
    for at in Arrivals::Regular(usual.max(1)).over(if usual > 0 { 5 } else { 0 }, &mut dice) {
        let worker = dice.below(known as u64) as usize;
        account.record(process.charge(worker, 1, &quota, START + at), START + at);
    }
    for i in 0..4_000 {
        let now = START + 5 * SECOND + i * 10_000;
        account.record(process.charge(dice.below(workers as u64) as usize, 1, &quota, now), now);
    }
    account
}

#[test]
fn a_flash_exceeds_the_burst_by_no_more_than_half() {
    println!("workers  unseen  known on one  known on all   (excess in % of the burst)");
    for workers in [1, 2, 4, 8, 16] {
        let cases = [flash(workers, 0, 1), flash(workers, 60, 1), flash(workers, 60, workers)];
        println!(
            "{workers:7}  {:6.1}  {:12.1}  {:12.1}",
            cases[0].excess() * 100.0,
            cases[1].excess() * 100.0,
            cases[2].excess() * 100.0
        );
        assert!(cases.iter().all(|account| account.excess() <= 0.52));
        assert!(cases[0].excess() <= 0.05, "an unseen key is a newcomer everywhere");
    }
}

#[test]
fn a_burst_of_the_capacity_is_admitted_whole_and_the_next_request_is_not() {
    for workers in [1, 4, 16] {
        let mut process = Process::new(workers);
        let mut account = Account::new(per_second(10, 200));
        for i in 0..400 {
            account.record(process.charge(i as usize % workers, 1, &per_second(10, 200), START), START);
        }
        assert_eq!(account.false_refusals, 0);
        assert!((200..=204).contains(&account.total()), "{workers}: {}", account.total());
    }
}

#[test]
fn fractional_rates_are_exact_over_a_long_time() {
    // Events in seconds, exchange interval, offered per event, periods.
    for (events, seconds, interval, periods) in [
        (30, 1, 200 * MILLI, 60),
        (60, 1, 200 * MILLI, 60),
        (75, 1, 200 * MILLI, 60),
        (6, 60, SECOND, 40),
        (1, 3600, 60 * SECOND, 50),
    ] {
        let burst = if events == 1 { 2 } else { 6 };
        let quota = Quota {
            interval: Nanos((seconds * SECOND + events / 2) / events),
            burst,
            charge: Charge::Admitted,
        };
        let mut process = Process::with_interval(4, interval);
        let mut admitted = 0;
        let step = quota.interval.0 * 2 / 7;
        let end = seconds * periods * SECOND;
        for i in 0..end / step {
            let verdict = process.charge(i as usize % 4, 1, &quota, START + i * step);
            admitted += u64::from(verdict == Verdict::Admit);
        }
        let exact = events * periods + u64::from(burst);
        println!("{events}/{seconds}s: {admitted} of {exact}");
        assert!(
            admitted <= exact + 2 && admitted + exact / 100 + 2 >= exact,
            "{events}/{seconds}s: {admitted} of {exact}"
        );
    }
}

#[test]
fn charging_every_event_keeps_out_who_hammers_on() {
    let quota = Quota { charge: Charge::Every, ..per_second(HUNDRED, HUNDRED) };
    for workers in [1, 4, 16] {
        for spread in SPREADS {
            let mut process = Process::new(workers);
            let account = run(&mut process, quota, Arrivals::Regular(400), spread, 6);
            let (total, ideal) = (account.total(), account.ideal_admitted);
            println!("{workers:2} workers, {spread:?}: {total} of {ideal}");
            assert!(
                total + 1 >= ideal && total <= ideal + u64::from(quota.burst) / 4,
                "{workers} {spread:?}: {total}"
            );
            // A worker that last saw the bucket half full lends B / (4 × workers) before it hears of the debt.
            assert!(account.between(1, 6) <= 5, "once in debt it stays there while it sends");
            // 300 a second too many for 6 s, repaid at 100 a second.
            let quiet = START + 6 * SECOND + 18 * SECOND;
            let verdict = process.charge(0, 1, &quota, quiet + SECOND);
            assert_eq!(verdict, Verdict::Admit, "{workers} {spread:?}");
        }
    }
}

#[test]
fn many_busy_keys_each_get_their_limit() {
    let quota = per_second(10, 10);
    let mut process = Process::new(4);
    let mut dice = Dice::new(5);
    let mut admitted = vec![0u64; 100];
    for i in 0..30_000u64 {
        let client = dice.below(100);
        let now = START + i * SECOND / 3_000;
        let verdict = process.charge(dice.below(4) as usize, client, &quota, now);
        admitted[client as usize] += u64::from(verdict == Verdict::Admit);
    }
    // Ten seconds: 10 at once and 10 a second.
    let (least, most) = (admitted.iter().min(), admitted.iter().max());
    println!("100 keys over their limit: {least:?} to {most:?} of 110");
    assert!(admitted.iter().all(|n| (100..=115).contains(n)), "{admitted:?}");
}

/// Workers that all start in the middle of a flood, while the epoch by which keys know their workers turns: whoever
/// was there for one request before the turn is no established worker that may divide by those it has seen.
#[test]
fn workers_that_start_while_the_epoch_turns_give_one_burst() {
    let quota = Quota { interval: Nanos(8 * SECOND), burst: HUNDRED, charge: Charge::Admitted };
    for workers in [2, 4, 16] {
        for first in [1, 5, 20] {
            let turn = (START >> 31 << 31) + (1 << 31);
            let mut process = Process::starting(workers, turn - 10 * MILLI);
            let mut account = Account::new(quota);
            let early = (0..first).map(|_| (0, turn - 5 * MILLI));
            let one = (0..first).map(|_| (0, turn + MILLI));
            let others =
                (0..1_000u64).map(|i| (1 + i as usize % (workers - 1), turn + 2 * MILLI + i * 10_000));
            let last = (0..200).map(|_| (0, turn + 20 * MILLI));
            for (worker, now) in early.chain(one).chain(others).chain(last) {
                account.record(process.charge(worker, 1, &quota, now), now);
            }
            assert!((100..=105).contains(&account.total()), "{workers} {first}: {}", account.total());
        }
    }
}
