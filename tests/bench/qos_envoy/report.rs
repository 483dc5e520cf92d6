//! The table, in Markdown, as README has it.

use std::fmt::Write;

use super::outcome::{ONSET, Outcome, Share};
use super::paper::{machine, today};
use super::schedule::{ORDINARY, VISITORS, attackers};
use super::slots::SLOTS;
use super::{Run, Settings};

/// The table and what it was measured on.
pub fn write(settings: &Settings, runs: &[Run]) -> String {
    let mut text = format!(
        "Measured with `make bench-qos` on {}: {}; Envoy {} with {} workers. The service has {SLOTS} slots and one queue; it \
         takes 10 ms for an asset, 30 for a page, 40 for a search (now and then many times that), 400 for a report, also for \
         who has left meanwhile. {VISITORS} people view pages, each with four assets, two searches, and with every seventh a report: {:.0} % of the capacity. \
         After {} s come attackers, each asks for one report a second, and bring the load to so many times the capacity, for \
         {} s. *Good*: answered with 2xx within 2 s. *p50*, *p95*: of people's requests that were not refused; after 5 s \
         everybody gives up. *Steady*: without the first {} s of the attack. adaptive_concurrency has the settings \
         of its documentation's example.\n\n",
        today(),
        machine(),
        settings.envoy_version,
        settings.workers,
        ORDINARY * 100.0,
        settings.times.quiet.as_secs(),
        settings.times.attack.as_secs(),
        ONSET.as_secs(),
    );
    text.push_str(
        "| load | protection | people: good | steady | p50 | p95 | p95 steady | refused | refused before the attack | \
         attackers: served | refused | service busy |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for run in runs {
        writeln!(text, "{}", row(run)).unwrap();
    }
    text
}

/// What is to be seen while the rest is measured, and whether that can be trusted: requests that are sent late, or break off,
/// tell of the machine.
pub fn line(name: &str, run: &Run) -> String {
    let Outcome { quiet, ordinary, attackers, busy, late, .. } = run.outcome;
    format!(
        "{}× {name}: {} good before the attack; during it {} of {} people's requests (refused {}, gave up {}, broke off {}), \
         attackers' served {} of {}; service busy {:.0} %; 99 of 100 sent within {:.1} ms of their time",
        run.load,
        percent(quiet.good, quiet),
        percent(ordinary.good, ordinary),
        ordinary.requests,
        ordinary.refused,
        ordinary.gave_up,
        ordinary.broke_off,
        attackers.served,
        attackers.requests,
        busy * 100.0,
        late * 1e3,
    )
}

fn row(run: &Run) -> String {
    let Outcome { quiet, ordinary, steady, attackers: hostile, busy, .. } = run.outcome;
    let cells = [
        format!("{}× ({} attackers)", run.load, attackers(run.load)),
        run.label.to_owned(),
        format!("**{}**", percent(ordinary.good, ordinary)),
        percent(steady.good, steady),
        wait(ordinary.p50),
        wait(ordinary.p95),
        wait(steady.p95),
        percent(ordinary.refused, ordinary),
        percent(quiet.refused, quiet),
        percent(hostile.served, hostile),
        percent(hostile.refused, hostile),
        format!("{:.0} %", busy * 100.0),
    ];
    format!("| {} |", cells.join(" | "))
}

fn percent(part: usize, of: Share) -> String {
    match of.requests {
        0 => "–".to_owned(),
        all => format!("{:.1} %", part as f64 * 100.0 / all as f64),
    }
}

fn wait(seconds: f64) -> String {
    format!("{:.0} ms", seconds * 1e3)
}
