//! The numbers of a run, and their means over several.

use crate::report::Report;

#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// Percent of ordinary calls that got a good answer.
    pub good: f64,
    pub good_steady: f64,
    pub good_newcomers: f64,
    /// Of the second site.
    pub good_other: f64,
    pub p95: f64,
    pub p95_steady: f64,
    /// Percent of all ordinary calls that were answered within one and a half times the target.
    pub within: f64,
    pub shed_ordinary: f64,
    pub shed_attackers: f64,
    /// Of ordinary callers, before the window.
    pub shed_before: f64,
    pub held_ordinary: f64,
    pub oscillation: f64,
    pub zone_changes: f64,
    pub engagements: f64,
    pub unreachable: f64,
}

impl Numbers {
    pub fn of(report: &Report) -> Numbers {
        let ordinary = report.ordinary.first().copied().unwrap_or_default();
        let [p95, p95_steady] = report.p95();
        Numbers {
            good: ordinary.goodput(),
            good_steady: report.steady_goodput(),
            good_newcomers: report.newcomers.goodput(),
            good_other: report.ordinary.get(1).map_or(0.0, |tally| tally.goodput()),
            p95,
            p95_steady,
            within: report.within(1.5 * crate::scenarios::DELAY_MS),
            shed_ordinary: ordinary.shed(),
            shed_attackers: report.attackers.shed(),
            shed_before: report.before.shed(),
            held_ordinary: ordinary.held(),
            oscillation: report.oscillation(),
            zone_changes: report.zone_changes.into(),
            engagements: report.engagements.into(),
            unreachable: report.unreachable as f64,
        }
    }

    /// Of at least one run.
    pub fn mean(runs: &[Numbers]) -> Numbers {
        let of = |field: fn(&Numbers) -> f64| runs.iter().map(field).sum::<f64>() / runs.len() as f64;
        Numbers {
            good: of(|n| n.good),
            good_steady: of(|n| n.good_steady),
            good_newcomers: of(|n| n.good_newcomers),
            good_other: of(|n| n.good_other),
            p95: of(|n| n.p95),
            p95_steady: of(|n| n.p95_steady),
            within: of(|n| n.within),
            shed_ordinary: of(|n| n.shed_ordinary),
            shed_attackers: of(|n| n.shed_attackers),
            shed_before: of(|n| n.shed_before),
            held_ordinary: of(|n| n.held_ordinary),
            oscillation: of(|n| n.oscillation),
            zone_changes: of(|n| n.zone_changes),
            engagements: of(|n| n.engagements),
            unreachable: of(|n| n.unreachable),
        }
    }
}
