//! What is told about a decision: counters, the reason for the access log, and at most one event.

use super::{Engine, Instance, InstanceId, Serving};
use crate::config::plan::Plan;
use crate::counters::bucket::{Charge, Meter, Quota, Verdict};
use crate::hash::SubjectHash;
use crate::identity::Source;
use crate::identity::key::{Caller, KeySpec};
use crate::policy::{Ruling, Rulings};
use crate::request::{Request, path};
use crate::shared::Store;
use crate::telemetry::events::Event;
use crate::telemetry::metrics::{EventOutcome, Metric, Table};
use crate::time::Nanos;
use core::fmt::Write;
use core::net::IpAddr;

impl<S: Store + Clone> Engine<S> {
    /// Why the last request that matched a rule was decided so: `rule=NAME SUBJECT`.
    pub fn reason(&self) -> &str {
        &self.scratch.reason
    }

    /// Counts the rulings, writes the reason and makes the event where one is due. `request` has its headers, needed
    /// for the decision or not.
    pub fn report(
        &mut self,
        id: InstanceId,
        rulings: &Rulings,
        request: &Request,
        now: Nanos,
    ) -> Option<Event> {
        let (now, _) = self.clock.read(now); // the decision's reading: what it met is counted already
        let Instance { plan, series, .. } = self.instances.get(id.0)?.as_ref()?;
        for ruling in rulings.iter() {
            self.metrics.count_ruling(series.get(usize::from(ruling.hit.rule)), ruling.response);
        }
        let mut caller = Caller::of(&plan.identity, request);
        let shown = rulings.iter().next()?;
        name(plan, shown, &mut caller, &mut self.scratch.subject);
        self.scratch.reason.clear();
        let _ = write!(self.scratch.reason, "rule={} {}", rule_name(plan, shown), self.scratch.subject);

        let told = rulings.iter().find(|ruling| ruling.response.actions.log).filter(|_| plan.events.log)?;
        let outcome = self.serving.as_mut()?.claim_log(plan, told, &mut caller, now);
        if let Some(outcome) = outcome {
            self.metrics.count_event(outcome);
            return None;
        }
        name(plan, told, &mut caller, &mut self.scratch.subject);
        path::normalise(request.path().unwrap_or_default(), &mut self.scratch.path);
        let (rule, subject) = (rule_name(plan, told), &self.scratch.subject);
        Some(Event::of(told, rule, subject, &caller, request, &self.scratch.path))
    }

    /// Brings the numbers that are kept elsewhere into the metrics.
    pub(super) fn measure(&mut self) {
        let Some(serving) = &self.serving else { return };
        let stats = serving.exchange.stats();
        let memory =
            self.instances.iter().flatten().map(|instance| instance.plan.memory_bytes()).max().unwrap_or(0);
        for (metric, value) in [
            (Metric::RequestsInFlight, self.in_flight.into()),
            (Metric::Workers, 1),
            (Metric::PlanMemory, memory),
            (Metric::ExchangeSyncs, stats.syncs),
            (Metric::ExchangeConflicts, stats.cas_lost),
            (Metric::ExchangeCorrupt, stats.corrupt),
            (Metric::ExchangeFull, stats.full),
            (Metric::ExchangeUnsynced, stats.unsynced),
            (Metric::ExchangeLost, stats.pending_lost),
            (Metric::ExchangeReseeded, stats.reseeded),
            (Metric::ExchangeGivenUp, stats.given_up),
        ] {
            self.metrics.set(metric, value);
        }
        let (limits, arrears) = (stats.table, stats.arrears);
        for (metric, of_limits, of_arrears) in [
            (Metric::TableTracked, limits.tracked, arrears.tracked),
            (Metric::TableUntracked, limits.contest_lost + limits.scan_exhausted, arrears.contest_lost),
            (Metric::TableEvictions, limits.evictions, arrears.evictions),
            (Metric::TableScanExhausted, limits.scan_exhausted, 0),
            (Metric::TableSlotsUsed, limits.used.into(), arrears.used),
        ] {
            self.metrics.set_table(metric, Table::Limits, of_limits);
            self.metrics.set_table(metric, Table::Arrears, of_arrears);
        }
    }
}

/// What one worker may write, however many callers there are: whoever has a network of addresses would fill the disk
/// at one line per address and interval.
const LINES: Quota = Quota { interval: Nanos::from_millis(10), burst: 1_000, charge: Charge::Admitted };

impl<S: Store> Serving<S> {
    /// Takes this client's place in the log for one interval; says why not where it can't be had.
    fn claim_log(
        &mut self,
        plan: &Plan,
        told: &Ruling,
        caller: &mut Caller,
        now: Nanos,
    ) -> Option<EventOutcome> {
        if !LINES.admits(self.lines, now) {
            return Some(EventOutcome::Suppressed);
        }
        let (seed, _) = self.exchange.seed();
        let client = caller.subject(&KeySpec::client(), &seed).unwrap_or(told.hit.subject);
        match self.claim(client, plan.events.log_interval, now) {
            Verdict::Admit => {
                self.lines = LINES.charged(self.lines, now);
                None
            }
            Verdict::Refuse { .. } => Some(EventOutcome::Suppressed),
            Verdict::Untracked => Some(EventOutcome::Untracked),
        }
    }

    /// The proxy's address to log, if none was in the process for an hour.
    pub(super) fn meet_suspect(&mut self, source: &Source, now: Nanos) -> Option<IpAddr> {
        let Source::Proxy(proxy) = source else { return None };
        if core::mem::replace(&mut self.met_suspect, true) {
            return None;
        }
        let verdict = self.claim(SubjectHash(0), Nanos::from_secs(3600), now);
        (verdict == Verdict::Admit).then_some(proxy.address)
    }

    fn claim(&mut self, subject: SubjectHash, interval: Nanos, now: Nanos) -> Verdict {
        let quota = Quota { interval, burst: 1, charge: Charge::Admitted };
        self.exchange.charge(self.log_claims.key(subject), &quota, now)
    }
}

fn rule_name<'a>(plan: &'a Plan, ruling: &Ruling) -> &'a str {
    plan.rules.rules.get(usize::from(ruling.hit.rule)).map_or("", |rule| &rule.name)
}

/// Writes whom a ruling's rule counted.
fn name(plan: &Plan, ruling: &Ruling, caller: &mut Caller, out: &mut String) {
    out.clear();
    let rule = plan.rules.rules.get(usize::from(ruling.hit.rule));
    if let Some(spec) = rule.and_then(|rule| plan.rules.keys.get(usize::from(rule.key))) {
        caller.describe(spec, out);
    }
}
