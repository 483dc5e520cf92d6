//! What goes wrong costs accuracy within a bound, and never refuses a client that keeps its limit.

use crate::sim::*;
use weir::counters::bucket::Verdict;
use weir::shared::mem::Faults;

const SECONDS: u64 = 15;

/// Faults that meet the ledger; a seed or a roster that is lost has its own tests.
const LEDGER: Faults = Faults { prefix: "weir/2/l/", ..Faults::NONE };

/// A client at four times its limit, and one at four fifths of it, evenly spread; every second one worker is
/// replaced if `reload`.
fn run_both(workers: usize, ticks: Ticks, reload: bool, faults: Faults) -> (Account, Account) {
    let quota = per_second(100, 100);
    let mut process = Process::new(workers);
    process.ticks = ticks;
    process.store.inject(faults);
    let (mut greedy, mut polite) = (Account::new(quota), Account::new(quota));
    let mut dice = Dice::new(11);
    let mut reloads = 0;
    for i in 0..SECONDS * 480 {
        let now = START + i * SECOND / 480;
        if reload && (now - START) / SECOND > reloads {
            process.reload(reloads as usize % workers, now);
            reloads += 1;
        }
        let worker = dice.below(workers as u64) as usize;
        let (client, account) = if i % 6 == 0 { (2, &mut polite) } else { (1, &mut greedy) };
        account.record(process.charge(worker, client, &quota, now), now);
    }
    (greedy, polite)
}

fn check(name: &str, (greedy, polite): (Account, Account), tolerance: f64, worst_excess: f64) {
    println!(
        "{name:32}  mean {:.3}  worst second {:.2}  excess {:5.1} %  refused wrongly {}",
        greedy.mean(SECONDS),
        greedy.worst_second(),
        greedy.excess() * 100.0,
        polite.false_refusals
    );
    assert_eq!(polite.false_refusals, 0, "{name}");
    assert!((greedy.mean(SECONDS) - 1.0).abs() <= tolerance, "{name}: {}", greedy.mean(SECONDS));
    assert!(greedy.excess() <= worst_excess, "{name}: {}", greedy.excess());
}

const BAD_TICKS: Ticks = Ticks { late: 10, missed: 10 };

#[test]
fn late_and_missed_ticks_cost_nothing_near_the_limit() {
    for workers in [4, 16] {
        check(
            &format!("bad ticks, {workers} workers"),
            run_both(workers, BAD_TICKS, false, Faults::NONE),
            0.01,
            0.2,
        );
    }
}

#[test]
fn a_worker_that_never_ticks_still_keeps_the_limit() {
    let ticks = Ticks { late: 0, missed: 100 };
    for workers in [4, 16] {
        check(
            &format!("no ticks at all, {workers} workers"),
            run_both(workers, ticks, false, Faults::NONE),
            0.02,
            0.52,
        );
    }
}

#[test]
fn each_worker_reloaded_in_turn_loses_no_more_than_its_allowance() {
    for workers in [1, 2, 4, 16] {
        check(
            &format!("reloads, {workers} workers"),
            run_both(workers, BAD_TICKS, true, Faults::NONE),
            0.015,
            0.52,
        );
    }
}

#[test]
fn refused_writes_are_tried_again() {
    let faults = Faults { refuse_writes: 300_000, ..Faults::NONE };
    for workers in [4, 16] {
        check(
            &format!("30 % refused, {workers} workers"),
            run_both(workers, BAD_TICKS, true, faults),
            0.02,
            0.52,
        );
    }
}

#[test]
fn lost_writes_and_stale_reads_are_healed_by_what_every_worker_knows() {
    let lost = Faults { lose_writes: 10_000, ..LEDGER };
    let stale = Faults { stale_reads: 10_000, ..LEDGER };
    for workers in [4, 16] {
        check(&format!("1 % lost, {workers} workers"), run_both(workers, BAD_TICKS, true, lost), 0.03, 0.6);
        check(&format!("1 % stale, {workers} workers"), run_both(workers, BAD_TICKS, true, stale), 0.03, 0.6);
    }
}

/// Two wipes a second of one bucket: each loses what the first to come back had not heard yet.
#[test]
fn wiped_values_are_healed_by_what_every_worker_knows() {
    let faults = Faults { wipe_reads: 10_000, ..LEDGER };
    for workers in [4, 16] {
        check(
            &format!("1 % wiped, {workers} workers"),
            run_both(workers, BAD_TICKS, false, faults),
            0.15,
            2.5,
        );
    }
}

#[test]
fn a_worker_that_joins_in_the_middle_of_a_flood_doubles_no_burst() {
    let quota = per_second(1, 100);
    let mut process = Process::new(1);
    let mut account = Account::new(quota);
    for i in 0..400 {
        let now = START + i * 10_000;
        account.record(process.charge(0, 1, &quota, now), now);
        if i == 40 {
            process.join(now);
        }
        if i > 40 {
            account.record(process.charge(1, 1, &quota, now), now);
        }
    }
    println!("joined in a flood: {} of {}", account.total(), account.ideal_admitted);
    assert!(account.false_refusals == 0 && account.excess() <= 0.52, "{}", account.total());
}

#[test]
fn a_worker_that_joins_a_lone_one_finds_the_bucket_as_it_is() {
    let quota = per_second(1, 50);
    let mut process = Process::new(1);
    let admitted = |process: &mut Process, at: usize, now: u64| {
        (0..100).filter(|_| process.charge(at, 1, &quota, now) == Verdict::Admit).count()
    };
    assert_eq!(admitted(&mut process, 0, START), 50);
    process.reload(0, START + SECOND / 2);
    assert_eq!(admitted(&mut process, 0, START + SECOND / 2), 0);
}
