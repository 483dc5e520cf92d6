//! What is told about a decision: counters, the reason for the access log and the why-header, and the events that are
//! due.

use super::words::{describe, write_reason, write_why};
use super::{Decision, Engine, Instance, InstanceId, Scratch};
use crate::challenge::answer::Answered;
use crate::challenge::puzzle::Fault;
use crate::config::plan::{Plan, Supply};
use crate::connections::Connections;
use crate::detect::rules::Rate;
use crate::hash::Seed;
use crate::identity::key::{Caller, KeySpec};
use crate::policy::{Cause, Counted};
use crate::request::{Request, path};
use crate::shared::Store;
use crate::telemetry::events::Event;
use crate::telemetry::metrics::{Metric, Metrics, Series};
use crate::time::Nanos;

impl<S: Store + Clone> Engine<S> {
    /// Why the last request that was reported was decided so: `rule=NAME SUBJECT`, `tier=60 score=80 … SUBJECT`.
    pub fn reason(&self) -> &str {
        &self.scratch.reason
    }

    /// The same with the action, for the response header that the instance's plan names.
    pub fn why(&self, id: InstanceId) -> Option<(&str, &str)> {
        let header = self.instance(id)?.plan.policy.why_header.as_deref()?;
        Some((header, &self.scratch.why))
    }

    /// Counts a decision that [is told](Decision::is_told), writes the reason and makes the events that are due.
    /// `request` has its headers, needed for the decision or not.
    pub fn report(
        &mut self,
        id: InstanceId,
        decision: &Decision,
        request: &Request,
        now: Nanos,
    ) -> Vec<Event> {
        let (now, _) = self.clock.read(now); // the decision's reading: what it met is counted already
        let Some(Instance { plan, series, .. }) = self.instances.get(id.0).and_then(Option::as_ref) else {
            return Vec::new();
        };
        self.metrics
            .count_rulings(decision.happens, &decision.rulings, |cause| series_of(series, plan, cause));
        count_prints(&mut self.metrics, plan, decision);
        count_challenge(&mut self.metrics, decision);
        decision.signals.iter().for_each(|signal| self.metrics.count_signal(signal.kind));
        if let Some(banned) = &decision.banned {
            self.metrics.count_ban(banned.reason);
        }
        let Scratch { path, subject, reason, why, .. } = &mut self.scratch;
        path.clear();
        if let Some(raw) = request.path() {
            path::normalise(raw, path);
        }
        let path = Some(&**path).filter(|path| !path.is_empty());
        let mut caller = Caller::of(&plan.identity, request).at(path);
        describe(plan, shown(decision), &mut caller, subject);
        write_reason(plan, decision, subject, reason);
        if plan.policy.why_header.is_some() {
            write_why(plan, decision, subject, why);
        }

        let Some(serving) = self.serving.as_mut().filter(|_| plan.events.are_told()) else {
            return Vec::new();
        };
        let due = serving.due(plan, decision, &mut caller, &mut self.metrics, now);
        if due.is_empty() {
            return Vec::new();
        }
        let open = open_of(self.connections.as_ref(), decision, &mut caller, serving.exchange.seed().0);
        let events = due.into_iter().map(|(counted, what)| {
            describe(plan, counted, &mut caller, subject);
            let event = Event::of(what, subject, &caller, request, path.unwrap_or_default());
            Event { fingerprints: fingerprints(plan, request), connections: open, ..event }
        });
        events.collect()
    }
}

/// Whom to show: whom the ruling counts, else who was noticed or is free again.
fn shown(decision: &Decision) -> Option<Counted> {
    let ruling = decision.ruling().and_then(|ruling| ruling.counted);
    let signal = || decision.signals.iter().last().map(Counted::of);
    ruling.or_else(signal).or(decision.lapsed.map(|lapsed| lapsed.counted))
}

/// A challenge, or what came of one.
fn count_challenge(metrics: &mut Metrics, decision: &Decision) {
    if decision.puzzle.is_some() {
        metrics.count(Metric::ChallengesIssued);
    }
    let Some(answer) = &decision.answer else { return };
    match (&answer.judged, &answer.gets) {
        (Some(Ok(_)), _) => metrics.count_passed(answer.by_work),
        (Some(Err(fault)), _) => metrics.count_failed_answer(*fault as usize),
        (None, Answered::NoCookies { .. }) => metrics.count_failed_answer(Fault::ALL.len()),
        (None, _) => {}
    }
}

/// What rules that are for certain fingerprints did.
fn count_prints(metrics: &mut Metrics, plan: &Plan, decision: &Decision) {
    if decision.by_print {
        metrics.count(Metric::FingerprintsMatched);
    }
    let rule = decision.rejects_by().and_then(|rule| plan.rules.rules.get(usize::from(rule)));
    if rule.is_some_and(|rule| !rule.prints.is_empty()) {
        metrics.count(Metric::FingerprintsRejected);
    }
}

/// The fingerprints that are known, by the names of their methods.
fn fingerprints(plan: &Plan, request: &Request) -> Vec<(Box<str>, Vec<u8>)> {
    let known = plan.fingerprints.iter().filter_map(|Supply { method, .. }| {
        Some((method.name.clone(), request.fingerprints.get(method.place)?.to_vec()))
    });
    known.collect()
}

/// How many connections the caller has open here, where that is what is judged.
fn open_of(
    connections: Option<&Connections>,
    decision: &Decision,
    caller: &mut Caller,
    seed: Seed,
) -> Option<u32> {
    let client =
        caller.subject(&KeySpec::client(), &seed).filter(|_| decision.happens == Rate::Connections)?;
    Some(connections.map_or(0, |connections| connections.of(client)))
}

/// The series of a rule or tier: rules come first, then tiers.
fn series_of(series: &[Series], plan: &Plan, cause: &Cause) -> Option<Series> {
    let place = match cause {
        Cause::Rule(rule) => usize::from(*rule),
        Cause::Tier(from) => {
            let tier = plan.policy.tiers.iter().position(|tier| tier.min_score == *from)?;
            plan.rules.rules.len() + tier
        }
        Cause::Ban(_) | Cause::Detector(_) => return None,
    };
    series.get(place).copied()
}
