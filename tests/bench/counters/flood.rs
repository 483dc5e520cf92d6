//! What is left of a limit, and of innocents, while five million addresses come by once each within a minute.
//!
//! Beside the passers-by there are: one *heavy* address, 40 events a second; one that *returns*, 60 events at once
//! every ten seconds; and 1,000 *regulars*, one event every two seconds, far below the quota. What an exact bucket
//! that forgets nothing admits of the first two is the measure.

use core::net::IpAddr;
use std::time::Instant;

use weir::time::Nanos;

use crate::contenders::{Contender, Entry, QUOTA, START, WEIR, address, shown};
use crate::memory::{self, mib};
use crate::paper::grouped;
use crate::rivals::RIVALS;

const SECONDS: u64 = 60;
const PASSERS_BY: u64 = 5_000_000;
const REGULARS: u32 = 1_000;

/// Those with a clock of their own are paced by it, for a part of the flood at the same rate.
const PACED_SECONDS: u64 = 5;

const HEAVY: IpAddr = address(0xc000_0201);
const RETURNING: IpAddr = address(0xc000_0202);

/// Thousandths of a second: in each some passers-by come, and whoever else is due.
const STEPS: u64 = 1000;

/// Events, and how many of them passed.
#[derive(Default)]
struct Tally {
    events: u64,
    passed: u64,
    /// As an exact bucket has it, for one address.
    exact: Nanos,
    ideal: u64,
}

#[derive(Default)]
struct Outcome {
    heavy: Tally,
    returning: Tally,
    regulars: Tally,
    passers_by: Tally,
    kept: Option<u64>,
    bytes: usize,
}

/// The table.
pub fn print() {
    println!(
        "| {} addresses seen once each in {SECONDS} s, and beside them: | one at 40 times its limit | one that comes back every 10 s for another burst | innocents refused | memory, keys kept |",
        grouped(PASSERS_BY as usize)
    );
    println!("|---|--:|--:|--:|--:|");
    for entry in WEIR.iter().skip(1).chain(&RIVALS) {
        let part = if entry.own_clock { format!(" ({PACED_SECONDS} s of it)") } else { String::new() };
        println!("| {}{part} | {} |", entry.name, row(entry, &run(entry)).join(" | "));
    }
}

fn row(entry: &Entry, outcome: &Outcome) -> [String; 4] {
    let limit = |tally: &Tally| match entry.counts_only {
        true => format!("{} of its events told", percent(tally.events - tally.passed, tally.events)),
        false => format!("got {} of its limit", percent(tally.passed, tally.ideal)),
    };
    let returning = if entry.counts_only { "–".to_owned() } else { limit(&outcome.returning) };
    let innocent = outcome.regulars.events + outcome.passers_by.events;
    let refused = innocent - outcome.regulars.passed - outcome.passers_by.passed;
    let memory = format!("{:.1} MiB, {}", mib(outcome.bytes), shown(outcome.kept));
    [limit(&outcome.heavy), returning, percent(refused, innocent), memory]
}

/// "0 %" only for none, "98 %", "0.03 %".
fn percent(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole as f64;
    match part {
        0 => "0 %".to_owned(),
        _ if percent < 1.0 => format!("{percent:.3} %"),
        _ => format!("{percent:.0} %"),
    }
}

fn run(entry: &Entry) -> Outcome {
    let before = memory::live();
    let mut contender = (entry.make)(PASSERS_BY as u32);
    let seconds = if entry.own_clock { PACED_SECONDS } else { SECONDS };
    let mut outcome = Outcome::default();
    let began = Instant::now();
    for step in 0..seconds * STEPS {
        let since = Nanos(step * 1_000_000_000 / STEPS);
        while entry.own_clock && (began.elapsed().as_nanos() as u64) < since.0 {
            std::hint::spin_loop();
        }
        outcome.step(&mut *contender, step, START + since);
    }
    outcome.kept = contender.kept();
    outcome.bytes = memory::taken_by(&*contender, before);
    outcome
}

impl Outcome {
    fn step(&mut self, contender: &mut dyn Contender, step: u64, now: Nanos) {
        if step.is_multiple_of(200) {
            contender.tick(now);
        }
        let passers_by = PASSERS_BY / (SECONDS * STEPS) + u64::from(step.is_multiple_of(3));
        for n in 0..passers_by {
            let who = address(0x0a00_0000 + (step * 100 + n) as u32);
            self.passers_by.event(contender, who, now);
        }
        if step.is_multiple_of(STEPS / 40) {
            self.heavy.event(contender, HEAVY, now);
        }
        if step.is_multiple_of(10 * STEPS) {
            (0..QUOTA.burst).for_each(|_| self.returning.event(contender, RETURNING, now));
        }
        let regular = address(0xc612_0000 + (step / 2) as u32 % REGULARS);
        if step.is_multiple_of(2) {
            self.regulars.event(contender, regular, now);
        }
    }
}

impl Tally {
    fn event(&mut self, contender: &mut dyn Contender, who: IpAddr, now: Nanos) {
        self.events += 1;
        self.passed += u64::from(contender.event(who, now));
        let admitted = QUOTA.admits(self.exact, now);
        self.ideal += u64::from(admitted);
        self.exact = QUOTA.after(self.exact, admitted, now);
    }
}
