//! The numbers of one worker, a series for each combination of labels in [`families`](super::families).
//!
//! The core adds to plain numbers; the host carries the differences out at each tick, so a request pays no host
//! call for its metrics. Names carry labels as `.label.value` suffixes, which Envoy's `stats_tags` turn into labels.

pub use super::families::{Closing, ErrorFate, EventOutcome, ExemptReason, Fact, Kind, Label, Metric, Table};
use super::families::{FAMILIES, MODE, RULES_MATCHED, TIERS_DECIDED};

use super::webhook;
use crate::bans::Reason;
use crate::counters::{sketch, table};
use crate::detect::Detector;
use crate::detect::rules::Rate;
use crate::detect::signal::Kind as Signal;
use crate::detect::surge::Dimension;
use crate::policy::{Action, Cause, Mode, Ruling, Rulings};
use crate::request::fault::Fault;
use crate::request::fingerprint::Layout;

/// One series: its full name and its number.
#[derive(Debug)]
struct Number {
    name: Box<str>,
    kind: Kind,
    value: i64,
    published: i64,
    /// What it was last set to.
    set: i64,
}

/// The two series, by mode, of one rule or tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series(usize);

/// All series of one worker.
#[derive(Debug)]
pub struct Metrics {
    series: Vec<Number>,
    /// Where each family's series begin.
    offsets: Box<[usize]>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// All fixed series, at zero.
    pub fn new() -> Metrics {
        let mut series = Vec::new();
        let mut offsets = Vec::with_capacity(FAMILIES.len());
        for family in FAMILIES {
            offsets.push(series.len());
            expand(family.name, family.labels, &mut |name| {
                series.push(Number { name: name.into(), kind: family.kind, value: 0, published: 0, set: 0 });
            });
        }
        Metrics { series, offsets: offsets.into_boxed_slice() }
    }

    /// The series of a rule; the same ones when the name comes again.
    pub fn rule(&mut self, rule: &str) -> Series {
        self.by_mode(&format!("{RULES_MATCHED}.rule.{rule}"))
    }

    /// The series of the tier that begins at a score.
    pub fn tier(&mut self, min_score: u8) -> Series {
        self.by_mode(&format!("{TIERS_DECIDED}.tier.{min_score}"))
    }

    fn by_mode(&mut self, family: &str) -> Series {
        let name = |mode| format!("{family}.mode.{mode}");
        let first = name(MODE.1.first().copied().unwrap_or_default());
        if let Some(index) = self.series.iter().position(|series| *series.name == *first) {
            return Series(index);
        }
        let index = self.series.len();
        for mode in MODE.1 {
            self.series.push(Number {
                name: name(mode).into(),
                kind: Kind::Counter,
                value: 0,
                published: 0,
                set: 0,
            });
        }
        Series(index)
    }

    /// One more in a family without labels.
    pub fn count(&mut self, metric: Metric) {
        self.add(metric, 0, 1);
    }

    /// A request that was not judged.
    pub fn count_exempt(&mut self, reason: ExemptReason) {
        self.add(Metric::RequestsExempt, reason as usize, 1);
    }

    /// A fact that was missing.
    pub fn count_missing(&mut self, fact: Fact) {
        self.add(Metric::FactsMissing, fact as usize, 1);
    }

    /// An event's end.
    pub fn count_event(&mut self, outcome: EventOutcome) {
        self.add(Metric::Events, outcome as usize, 1);
    }

    fn count_action(&mut self, action: Action, mode: Mode) {
        self.add(Metric::Actions, action as usize * MODE.1.len() + mode as usize, 1);
    }

    /// An action that the host did not carry out.
    pub fn count_failed(&mut self, action: Action) {
        self.add(Metric::ActionsFailed, action as usize, 1);
    }

    /// A signal that was raised.
    pub fn count_signal(&mut self, signal: Signal) {
        self.add(Metric::Signals, signal as usize, 1);
    }

    /// A fault of an HTTP/2 caller.
    pub fn count_fault(&mut self, fault: Fault, fate: ErrorFate) {
        self.add(Metric::Http2Errors, fault as usize * 2 + fate as usize, 1);
    }

    /// How a request for a connection's end went.
    pub fn count_closing(&mut self, outcome: Closing) {
        self.add(Metric::ConnectionsClosed, outcome as usize, 1);
    }

    /// A fingerprint that was not there.
    pub fn count_unavailable(&mut self, layout: Layout) {
        self.add(Metric::FingerprintsUnavailable, layout as usize, 1);
    }

    /// An answer that gave a clearance: by work, or by waiting.
    pub fn count_passed(&mut self, by_work: bool) {
        self.add(Metric::ChallengesPassed, usize::from(!by_work), 1);
    }

    /// An answer that was none.
    pub fn count_failed_answer(&mut self, fault: usize) {
        self.add(Metric::ChallengesFailed, fault, 1);
    }

    /// A ban that was made.
    pub fn count_ban(&mut self, reason: Reason) {
        self.add(Metric::BansIssued, reason as usize, 1);
    }

    /// The rulings on what happens: what decided, and the actions that follow, of those that are carried out there.
    /// `series` finds a rule's or tier's. Of a rule that a more severe ruling overrules, only its log is carried out.
    pub fn count_rulings(
        &mut self,
        happens: Rate,
        rulings: &Rulings,
        series: impl Fn(&Cause) -> Option<Series>,
    ) {
        for ruling in rulings.iter() {
            self.count_cause(happens, ruling, &series);
            for action in ruling.response.actions.iter().filter(|action| action.is_done_at(happens)) {
                self.count_action(action, ruling.response.mode);
            }
        }
        if let Some(overruled) = &rulings.overruled {
            self.count_cause(happens, overruled, &series);
            if overruled.response.actions.log {
                self.count_action(Action::Log, overruled.response.mode);
            }
        }
    }

    fn count_cause(&mut self, happens: Rate, ruling: &Ruling, series: &impl Fn(&Cause) -> Option<Series>) {
        let mode = ruling.response.mode;
        let rejected = match happens {
            Rate::Connections => Metric::ConnectionsRejected,
            Rate::Requests | Rate::Errors => Metric::BansRejected,
        };
        match (ruling.cause, series(&ruling.cause)) {
            (Cause::Ban(_), _) => self.add(rejected, mode as usize, 1),
            (Cause::Detector(detector), _) => {
                self.add(Metric::DetectorsDecided, detector as usize * MODE.1.len() + mode as usize, 1);
            }
            (_, Some(series)) => {
                if let Some(number) = self.series.get_mut(series.0 + mode as usize) {
                    number.value += 1;
                }
            }
            (_, None) => {}
        }
    }

    /// Sets a number that is kept elsewhere: a gauge, or a counter's running total. A total that has begun anew, with what
    /// keeps it, goes on from what it was.
    pub fn set(&mut self, metric: Metric, value: u64) {
        self.put(metric, 0, value);
    }

    /// Sets the surges of one dimension so far.
    pub fn set_surges(&mut self, dimension: Dimension, value: u64) {
        self.put(Metric::Surges, dimension as usize, value);
    }

    /// Sets what a detector's counts were not told to others.
    pub fn set_untold(&mut self, detector: Detector, value: u64) {
        self.put(Metric::CountsUntold, detector as usize, value);
    }

    /// Sets what became of events for the webhook.
    pub fn set_webhook(&mut self, stats: &webhook::Stats) {
        for (series, value) in [stats.delivered, stats.failed, stats.dropped].into_iter().enumerate() {
            self.put(Metric::WebhookEvents, series, value);
        }
    }

    /// Sets how full a sketch is.
    pub fn set_sketch(&mut self, table: Table, stats: &sketch::Stats) {
        self.set_table(Metric::TableEvictions, table, stats.evictions);
        self.set_table(Metric::TableSlotsUsed, table, stats.used);
    }

    /// Sets such a number of one table.
    pub fn set_table(&mut self, metric: Metric, table: Table, value: u64) {
        self.put(metric, table as usize, value);
    }

    /// Sets what one table of cells did.
    pub fn set_cells(&mut self, table: Table, stats: &table::Stats) {
        for (metric, value) in [
            (Metric::TableTracked, stats.tracked),
            (Metric::TableUntracked, stats.contest_lost + stats.scan_exhausted),
            (Metric::TableEvictions, stats.evictions),
            (Metric::TableScanExhausted, stats.scan_exhausted),
            (Metric::TableSlotsUsed, stats.used.into()),
        ] {
            self.set_table(metric, table, value);
        }
    }

    /// Hands every difference since the last time to `publish(series, name, kind, difference)`. One that is not
    /// taken is offered again.
    pub fn flush(&mut self, mut publish: impl FnMut(usize, &str, Kind, i64) -> bool) {
        for (index, series) in self.series.iter_mut().enumerate() {
            let difference = series.value.saturating_sub(series.published);
            let due = difference > 0 || (difference < 0 && series.kind == Kind::Gauge);
            if due && publish(index, &series.name, series.kind, difference) {
                series.published = series.value;
            }
        }
    }

    /// Takes back what the gauges have published: this worker's part in them ends, or begins anew with the next flush.
    pub fn withdraw(&mut self, mut publish: impl FnMut(usize, &str, Kind, i64) -> bool) {
        for (index, series) in self.series.iter_mut().enumerate() {
            let due = series.kind == Kind::Gauge && series.published != 0;
            if due && publish(index, &series.name, series.kind, series.published.saturating_neg()) {
                series.published = 0;
            }
        }
    }

    /// Every series, in the order of [`Metrics::flush`]'s indices: one that stays at zero is worth showing too.
    pub fn names(&self) -> impl Iterator<Item = (usize, &str, Kind)> {
        self.series.iter().enumerate().map(|(index, series)| (index, &*series.name, series.kind))
    }

    fn add(&mut self, metric: Metric, series: usize, n: i64) {
        if let Some(series) = self.at(metric, series) {
            series.value = series.value.saturating_add(n);
        }
    }

    fn put(&mut self, metric: Metric, series: usize, value: u64) {
        let Some(series) = self.at(metric, series) else { return };
        let value = value.min(i64::MAX as u64) as i64;
        let before = if value < series.set { 0 } else { series.set };
        series.value = match series.kind {
            Kind::Gauge => value,
            Kind::Counter => series.value.saturating_add(value - before),
        };
        series.set = value;
    }

    fn at(&mut self, metric: Metric, series: usize) -> Option<&mut Number> {
        let offset = *self.offsets.get(metric as usize)?;
        self.series.get_mut(offset + series)
    }
}

/// Every combination of label values, the last label fastest.
fn expand(name: &str, labels: &[Label], each: &mut impl FnMut(&str)) {
    match labels.split_first() {
        None => each(name),
        Some(((label, values), rest)) => {
            values.iter().for_each(|value| expand(&format!("{name}.{label}.{value}"), rest, each));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Actions, Response};

    fn flushed(metrics: &mut Metrics) -> Vec<(String, i64)> {
        let mut out = Vec::new();
        metrics.flush(|_, name, _, difference| {
            out.push((name.to_owned(), difference));
            true
        });
        out
    }

    #[test]
    fn each_count_goes_to_its_own_series() {
        let mut metrics = Metrics::new();
        metrics.count(Metric::Requests);
        let rule = metrics.rule("r");
        assert_eq!(metrics.rule("r"), rule);
        let tier = metrics.tier(60);
        let ruling = |cause, mode, actions: &[Action]| {
            let response = Response { mode, actions: Actions::new(actions).unwrap() };
            Some(Ruling { cause, response, counted: None, limit: None })
        };
        let rulings = Rulings {
            enforced: ruling(Cause::Tier(60), Mode::Enforce, &[Action::Throttle]),
            observed: ruling(Cause::Ban(Reason::Ledger), Mode::Observe, &[Action::Deny]),
            overruled: ruling(Cause::Rule(0), Mode::Enforce, &[Action::Log, Action::Tarpit]),
        };
        metrics.count_rulings(Rate::Requests, &rulings, |cause| match cause {
            Cause::Rule(_) => Some(rule),
            Cause::Tier(_) => Some(tier),
            Cause::Ban(_) | Cause::Detector(_) => None,
        });
        metrics.count_signal(Signal::SourceSurge);
        metrics.count_ban(Reason::Tier);
        metrics.count_exempt(ExemptReason::Preflight);
        metrics.count_missing(Fact::Key);
        metrics.count_event(EventOutcome::Dropped);
        let names: Vec<String> = flushed(&mut metrics).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "weir_requests_total",
                "weir_requests_exempt_total.reason.preflight",
                "weir_actions_total.action.log.mode.enforce",
                "weir_actions_total.action.throttle.mode.enforce",
                "weir_actions_total.action.deny.mode.observe",
                "weir_events_total.outcome.dropped",
                "weir_facts_missing_total.fact.key",
                "weir_signals_total.signal.traffic_source_surge",
                "weir_bans_issued_total.reason.tier",
                "weir_bans_rejected_total.mode.observe",
                "weir_rules_matched_total.rule.r.mode.enforce",
                "weir_tiers_decided_total.tier.60.mode.enforce",
            ]
        );
    }

    #[test]
    fn differences_are_published_once_and_again_only_when_not_taken() {
        let mut metrics = Metrics::new();
        metrics.set_table(Metric::TableSlotsUsed, Table::Limits, 5);
        metrics.flush(|_, _, _, _| false);
        assert_eq!(flushed(&mut metrics), [("weir_table_slots_used.table.limits".to_owned(), 5)]);
        metrics.set(Metric::TableSlotsUsed, 3);
        metrics.set(Metric::ExchangeSyncs, 7);
        assert_eq!(flushed(&mut metrics).len(), 2);
        metrics.set(Metric::ExchangeSyncs, 4);
        assert_eq!(flushed(&mut metrics), [("weir_exchange_syncs_total".to_owned(), 4)], "it has begun anew");
        metrics.set(Metric::ExchangeSyncs, 4);
        assert!(flushed(&mut metrics).is_empty());
    }

    #[test]
    fn a_worker_that_goes_takes_its_part_of_the_gauges_along() {
        let mut metrics = Metrics::new();
        metrics.set(Metric::Workers, 1);
        metrics.count(Metric::Requests);
        flushed(&mut metrics);
        let mut taken = Vec::new();
        metrics.withdraw(|_, name, _, difference| {
            taken.push((name.to_owned(), difference));
            true
        });
        assert_eq!(taken, [("weir_workers".to_owned(), -1)], "and leaves the counters");
        let mut again = 0;
        metrics.withdraw(|_, _, _, _| {
            again += 1;
            true
        });
        assert_eq!(again, 0, "nothing is taken back twice");
        assert_eq!(flushed(&mut metrics), [("weir_workers".to_owned(), 1)], "it may come back");
    }
}
