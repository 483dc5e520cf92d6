//! What is counted: one closed list. A series is a family with one value for each of its labels, all from closed
//! sets; the only open set is the operator's rule names. Nothing that a client sends becomes a name or a label.
//!
//! The core adds to plain numbers; the host carries the differences out at each tick, so a request pays no host
//! call for its metrics. Names carry labels as `.label.value` suffixes, which Envoy's `stats_tags` turn into labels.

use crate::policy::{Action, Mode, Response};

/// How a family's numbers behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down; the workers' values add up.
    Gauge,
}

/// One label: its name and all values that it can have.
type Label = (&'static str, &'static [&'static str]);

/// One family of series.
pub struct Family {
    /// Which.
    pub metric: Metric,
    /// Prometheus name.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// Its labels with their values. The rule label of [`RULES_MATCHED`] is the operator's.
    pub labels: &'static [Label],
    /// What it means.
    pub help: &'static str,
}

/// The families with fixed series, in the order of [`FAMILIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is described by its row in FAMILIES
pub enum Metric {
    Requests,
    RequestsExempt,
    RequestsInFlight,
    Actions,
    ActionsFailed,
    Events,
    FactsMissing,
    IdentitySuspect,
    ConfigRejected,
    ClockSteps,
    TableTracked,
    TableUntracked,
    TableEvictions,
    TableScanExhausted,
    TableSlotsUsed,
    ExchangeSyncs,
    ExchangeConflicts,
    ExchangeCorrupt,
    ExchangeFull,
    ExchangeUnsynced,
    ExchangeLost,
    ExchangeReseeded,
    ExchangeGivenUp,
    ExchangeAge,
    Workers,
    PlanMemory,
}

const ACTION: Label = ("action", &["log", "throttle", "deny"]);
const MODE: Label = ("mode", &["observe", "enforce"]);
const TABLE: Label = ("table", &["limits", "arrears"]);

/// A table of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The buckets that a worker keeps in slots.
    Limits,
    /// What keys without a slot owe.
    Arrears,
}

/// Why a request was not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExemptReason {
    /// Its path is exempt.
    Path,
    /// Its address is trusted.
    Trusted,
    /// It is a CORS preflight.
    Preflight,
}

/// A fact that a verdict needed and the request did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// No readable client address.
    Address,
    /// No `:path`.
    Path,
    /// No `:authority`.
    Authority,
    /// A part of a rule's key.
    Key,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutcome {
    /// Written.
    Sent,
    /// This client had one within the interval, or the worker wrote too many.
    Suppressed,
    /// No place to remember the client, so not written.
    Untracked,
    /// The host did not take it.
    Dropped,
}

/// Every family but [`RULES_MATCHED`].
#[rustfmt::skip]
pub const FAMILIES: &[Family] = &[
    Family { metric: Metric::Requests, name: "weir_requests_total", kind: Kind::Counter, labels: &[], help: "requests seen" },
    Family { metric: Metric::RequestsExempt, name: "weir_requests_exempt_total", kind: Kind::Counter, labels: &[("reason", &["path", "trusted", "preflight"])], help: "requests that were not judged and not counted, by why" },
    Family { metric: Metric::RequestsInFlight, name: "weir_requests_in_flight", kind: Kind::Gauge, labels: &[], help: "requests that have begun and not ended" },
    Family { metric: Metric::Actions, name: "weir_actions_total", kind: Kind::Counter, labels: &[ACTION, MODE], help: "actions of the rules that decided; mode observe: what would have been done. How many of the action log became events is in weir_events_total" },
    Family { metric: Metric::ActionsFailed, name: "weir_actions_failed_total", kind: Kind::Counter, labels: &[ACTION], help: "actions that Envoy did not carry out" },
    Family { metric: Metric::Events, name: "weir_events_total", kind: Kind::Counter, labels: &[("outcome", &["sent", "suppressed", "untracked", "dropped"])], help: "events of the log action: written; held back as the client's second in its interval, or above 100 a second of a worker (1,000 at once); held back as there was no place to remember the client; refused by Envoy" },
    Family { metric: Metric::FactsMissing, name: "weir_facts_missing_total", kind: Kind::Counter, labels: &[("fact", &["address", "path", "authority", "key"])], help: "requests without a fact that a verdict needs: no verdict was given on it" },
    Family { metric: Metric::IdentitySuspect, name: "weir_identity_suspect_total", kind: Kind::Counter, labels: &[], help: "requests whose client address is a proxy's of client.proxies: not limited by client" },
    Family { metric: Metric::ConfigRejected, name: "weir_config_rejected_total", kind: Kind::Counter, labels: &[], help: "configurations refused" },
    Family { metric: Metric::ClockSteps, name: "weir_clock_steps_total", kind: Kind::Counter, labels: &[], help: "readings of the monotonic clock that lay behind an earlier one" },
    Family { metric: Metric::TableTracked, name: "weir_table_tracked_total", kind: Kind::Counter, labels: &[TABLE], help: "keys that found a place" },
    Family { metric: Metric::TableUntracked, name: "weir_table_untracked_total", kind: Kind::Counter, labels: &[TABLE], help: "keys that found none. Of limits: let pass, uncounted (which does not happen as long as debts can be evicted). Of arrears: what they owed is forgotten, as others owe more" },
    Family { metric: Metric::TableEvictions, name: "weir_table_evictions_total", kind: Kind::Counter, labels: &[TABLE], help: "keys that gave their place to another before they were idle. Of limits: what they owe goes to the arrears. Of arrears: it is forgotten here, as others owe more" },
    Family { metric: Metric::TableScanExhausted, name: "weir_table_scan_exhausted_total", kind: Kind::Counter, labels: &[TABLE], help: "searches for a place that met only keys which may not be evicted" },
    Family { metric: Metric::TableSlotsUsed, name: "weir_table_slots_used", kind: Kind::Gauge, labels: &[TABLE], help: "places taken, over all workers" },
    Family { metric: Metric::ExchangeSyncs, name: "weir_exchange_syncs_total", kind: Kind::Counter, labels: &[], help: "requests that asked the process's ledger" },
    Family { metric: Metric::ExchangeConflicts, name: "weir_exchange_conflicts_total", kind: Kind::Counter, labels: &[], help: "writes that met another worker's and were done again" },
    Family { metric: Metric::ExchangeCorrupt, name: "weir_exchange_corrupt_total", kind: Kind::Counter, labels: &[], help: "shared values of a wrong form, treated as empty" },
    Family { metric: Metric::ExchangeFull, name: "weir_exchange_full_total", kind: Kind::Counter, labels: &[], help: "entries for which a ledger shard had no place: that key is limited per worker" },
    Family { metric: Metric::ExchangeUnsynced, name: "weir_exchange_unsynced_total", kind: Kind::Counter, labels: &[], help: "requests judged on the worker's own view, as the budget for asking was spent" },
    Family { metric: Metric::ExchangeLost, name: "weir_exchange_lost_total", kind: Kind::Counter, labels: &[], help: "charges lost with an evicted key before they were exchanged" },
    Family { metric: Metric::ExchangeReseeded, name: "weir_exchange_reseeded_total", kind: Kind::Counter, labels: &[], help: "times a worker forgot all buckets, as the process's seed or epoch changed" },
    Family { metric: Metric::ExchangeGivenUp, name: "weir_exchange_given_up_total", kind: Kind::Counter, labels: &[], help: "writes given up as every try met another worker's, or as Envoy refused; what they held goes out with the next" },
    Family { metric: Metric::ExchangeAge, name: "weir_exchange_age_ms", kind: Kind::Gauge, labels: &[], help: "milliseconds between a worker's last two exchanges, over all workers: divide by weir_workers" },
    Family { metric: Metric::Workers, name: "weir_workers", kind: Kind::Gauge, labels: &[], help: "workers that serve requests" },
    Family { metric: Metric::PlanMemory, name: "weir_plan_memory_bytes", kind: Kind::Gauge, labels: &[], help: "bytes of tables and configuration, over all workers that serve" },
];

/// Which rule matched, and whether it binds. Its first label is the operator's rule name.
pub const RULES_MATCHED: &str = "weir_rules_matched_total";
/// What [`RULES_MATCHED`] means.
pub const RULES_MATCHED_HELP: &str = "requests that a rule decided; mode observe: would have decided";

/// One series: its full name and its number.
#[derive(Debug)]
struct Series {
    name: Box<str>,
    kind: Kind,
    value: i64,
    published: i64,
}

/// The two series of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleSeries(usize);

/// All series of one worker.
#[derive(Debug)]
pub struct Metrics {
    series: Vec<Series>,
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
                series.push(Series { name: name.into(), kind: family.kind, value: 0, published: 0 });
            });
        }
        Metrics { series, offsets: offsets.into_boxed_slice() }
    }

    /// The series of a rule; the same ones when the name comes again.
    pub fn rule(&mut self, rule: &str) -> RuleSeries {
        let name = |mode| format!("{RULES_MATCHED}.rule.{rule}.mode.{mode}");
        let first = name(MODE.1.first().copied().unwrap_or_default());
        if let Some(index) = self.series.iter().position(|series| *series.name == *first) {
            return RuleSeries(index);
        }
        let index = self.series.len();
        for mode in MODE.1 {
            self.series.push(Series { name: name(mode).into(), kind: Kind::Counter, value: 0, published: 0 });
        }
        RuleSeries(index)
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

    /// A ruling: the rule that decided and the actions that follow.
    pub fn count_ruling(&mut self, rule: Option<&RuleSeries>, response: Response) {
        if let Some(&rule) = rule {
            self.count_rule(rule, response.mode);
        }
        for action in response.actions.iter() {
            self.count_action(action, response.mode);
        }
    }

    fn count_rule(&mut self, rule: RuleSeries, mode: Mode) {
        if let Some(series) = self.series.get_mut(rule.0 + mode as usize) {
            series.value += 1;
        }
    }

    /// Sets a number that is kept elsewhere: a gauge, or a counter's running total.
    pub fn set(&mut self, metric: Metric, value: u64) {
        self.put(metric, 0, value);
    }

    /// Sets such a number of one table.
    pub fn set_table(&mut self, metric: Metric, table: Table, value: u64) {
        self.put(metric, table as usize, value);
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
        if let Some(series) = self.at(metric, series) {
            series.value = value.min(i64::MAX as u64) as i64;
        }
    }

    fn at(&mut self, metric: Metric, series: usize) -> Option<&mut Series> {
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
    use crate::policy::Actions;

    fn flushed(metrics: &mut Metrics) -> Vec<(String, i64)> {
        let mut out = Vec::new();
        metrics.flush(|_, name, _, difference| {
            out.push((name.to_owned(), difference));
            true
        });
        out
    }

    #[test]
    fn families_stand_in_the_order_of_their_names() {
        for (index, family) in FAMILIES.iter().enumerate() {
            assert_eq!(family.metric as usize, index, "{}", family.name);
        }
    }

    #[test]
    fn labels_have_the_words_of_actions_and_modes() {
        assert_eq!(ACTION.1, Action::ALL.map(Action::name));
        assert_eq!(MODE.1, [Mode::Observe, Mode::Enforce].map(Mode::name));
    }

    #[test]
    fn each_count_goes_to_its_own_series() {
        let mut metrics = Metrics::new();
        metrics.count(Metric::Requests);
        let actions = Actions::new(&[Action::Throttle]).unwrap();
        metrics.count_ruling(None, Response { mode: Mode::Enforce, actions });
        metrics.count_exempt(ExemptReason::Preflight);
        metrics.count_missing(Fact::Key);
        metrics.count_event(EventOutcome::Dropped);
        let rule = metrics.rule("r");
        metrics.count_rule(rule, Mode::Observe);
        assert_eq!(metrics.rule("r"), rule);
        let names: Vec<String> = flushed(&mut metrics).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "weir_requests_total",
                "weir_requests_exempt_total.reason.preflight",
                "weir_actions_total.action.throttle.mode.enforce",
                "weir_events_total.outcome.dropped",
                "weir_facts_missing_total.fact.key",
                "weir_rules_matched_total.rule.r.mode.observe",
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
        assert!(flushed(&mut metrics).is_empty(), "a counter never goes down");
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
