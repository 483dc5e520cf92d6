//! Stories of the traffic guard, tiers, ledger and bans, on fake time, against the engine that the module runs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)] // a test fails by panicking

mod bans;
mod crowd;
mod floods;
mod innocents;
mod ledger;
#[path = "../support/mod.rs"]
mod support;
mod tarpit;
mod telling;
mod tiers;

use support::{Call, Process};

const A: &str = "203.0.113.7";
const B: &str = "203.0.113.8";

impl Process {
    /// Some callers send so many requests a second each, for some seconds, spread evenly over time and over the workers.
    /// Hands each result to `each(caller, seconds since the beginning, what it got)`.
    fn play(
        &mut self,
        callers: &[(Call, f64)],
        seconds: u64,
        mut each: impl FnMut(usize, f64, &support::Told),
    ) {
        const STEP_MS: u64 = 10;
        let workers = self.workers();
        let mut owed = vec![0.0; callers.len()];
        let mut sent = 0;
        for step in 0..seconds * 1000 / STEP_MS {
            self.wait_ms(STEP_MS);
            for (who, (call, per_second)) in callers.iter().enumerate() {
                owed[who] += per_second * STEP_MS as f64 / 1000.0;
                while owed[who] >= 1.0 {
                    owed[who] -= 1.0;
                    let told = self.decide_on(sent % workers, call);
                    sent += 1;
                    each(who, (step * STEP_MS) as f64 / 1000.0, &told);
                }
            }
        }
    }

    /// The same where nobody looks.
    fn live(&mut self, callers: &[(Call, f64)], seconds: u64) {
        self.play(callers, seconds, |_, _, _| ());
    }
}
