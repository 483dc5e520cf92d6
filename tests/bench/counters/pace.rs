//! What one event costs, by the number of keys that take turns at random.

use std::time::Instant;

use weir::hash::mix;
use weir::time::Nanos;

use crate::contenders::{Contender, START, WEIR, address, shown};
use crate::memory::{self, mib};
use crate::numbers::Spread;
use crate::paper::grouped;
use crate::rivals::RIVALS;

const KEYS: [u32; 4] = [1_000, 50_000, 1_000_000, 5_000_000];

/// Rounds over all contenders, and events of each in one.
const ROUNDS: usize = 15;
const EVENTS: u64 = 200_000;

/// 50,000 events a second.
const STEP: Nanos = Nanos(20_000);

/// Events between two ticks of 200 ms.
const TICK: u64 = 10_000;

/// One contender in a field of keys, and what was measured.
struct Runner {
    contender: Box<dyn Contender>,
    bytes: usize,
    count: u64,
    keys: u32,
    nanos: Vec<f64>,
}

/// The table.
pub fn print() {
    let columns: Vec<Vec<Runner>> = KEYS.into_iter().map(measure).collect();
    let heads: Vec<String> = KEYS.iter().map(|&keys| format!("{} keys", grouped(keys as usize))).collect();
    println!(
        "| ns per event, hashing the address included (median of {ROUNDS} rounds) | {} | memory | keys kept |",
        heads.join(" | ")
    );
    println!("|---|{}--:|--:|", "--:|".repeat(KEYS.len()));
    for (row, name) in WEIR.iter().chain(&RIVALS).map(|entry| entry.name).enumerate() {
        let runners: Vec<&Runner> = columns.iter().map(|column| &column[row]).collect();
        let nanos: Vec<String> =
            runners.iter().map(|runner| format!("{:.0}", Spread::of(&runner.nanos).median)).collect();
        let (least, most) = (runners.first().unwrap(), runners.last().unwrap());
        println!(
            "| {name} | {} | {} | {} |",
            nanos.join(" | "),
            memory_of(least.bytes, most.bytes),
            shown(most.contender.kept())
        );
    }
}

/// "4.0 MiB", or "0.0 to 333 MiB" for what grows.
fn memory_of(least: usize, most: usize) -> String {
    match most - least.min(most) < 1 << 20 {
        true => format!("{:.1} MiB", mib(most)),
        false => format!("{:.1} to {:.0} MiB", mib(least), mib(most)),
    }
}

fn measure(keys: u32) -> Vec<Runner> {
    let mut runners: Vec<Runner> = Vec::new();
    for entry in WEIR.iter().chain(&RIVALS) {
        let before = memory::live();
        let mut runner =
            Runner { contender: (entry.make)(keys), bytes: 0, count: 0, keys, nanos: Vec::new() };
        runner.run(u64::from(keys).next_multiple_of(TICK));
        runner.bytes = memory::taken_by(&*runner.contender, before);
        runners.push(runner);
    }
    for round in 0..ROUNDS {
        for turn in 0..runners.len() {
            let at = (round + turn) % runners.len();
            let began = Instant::now();
            runners[at].run(EVENTS);
            let nanos = began.elapsed().as_nanos() as f64 / EVENTS as f64;
            runners[at].nanos.push(nanos);
        }
    }
    runners
}

impl Runner {
    /// First each key in turn, then at random.
    fn run(&mut self, events: u64) {
        for _ in 0..events {
            let random = ((mix(self.count) >> 32) * u64::from(self.keys)) >> 32;
            let who = if self.count < u64::from(self.keys) { self.count } else { random };
            self.count += 1;
            let now = START + STEP.times(self.count);
            std::hint::black_box(self.contender.event(address(0x0a00_0000 + who as u32), now));
            if self.count.is_multiple_of(TICK) {
                self.contender.tick(now);
            }
        }
    }
}
