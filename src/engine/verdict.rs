//! What follows from what was noticed about one request: bans that hold, tiers, and new bans.

use super::serving::Serving;
use crate::bans::{Outcome, Reason, Standing};
use crate::config::plan::Plan;
use crate::detect::signal::Kind;
use crate::detect::signal::Signals;
use crate::detect::surge;
use crate::identity::subjects::{Keys, Subjects};
use crate::policy::tiers::Tier;
use crate::policy::{Action, Actions, Cause, Counted, Mode, Response, Ruling, Rulings, Settings};
use crate::request::Request;
use crate::score::{Noticed, Threat};
use crate::shared::Store;
use crate::time::Nanos;

/// A ban that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banned {
    /// Who is banned.
    pub counted: Counted,
    /// Why.
    pub reason: Reason,
    /// For how long.
    pub lasts: Nanos,
    /// All that the ledger had against it; the score of this request where it did not come to that.
    pub charged: u32,
}

/// A ban that has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lapsed {
    /// Whose it was.
    pub counted: Counted,
    /// Why it was made.
    pub reason: Reason,
}

impl<S: Store> Serving<S> {
    /// The ban that holds against this caller, under any of the keys that bans can have. Also finds one that is over.
    pub fn banned(
        &mut self,
        policy: &Settings,
        subjects: &mut Subjects,
        lapsed: &mut Option<Lapsed>,
        now: Nanos,
    ) -> Option<Ruling> {
        if self.bans.is_empty() {
            return None;
        }
        for &key in &policy.bannable {
            let Some(subject) = subjects.get(key) else { continue };
            let counted = Counted { key, subject };
            match self.bans.check(self.names.bans.key(subject), now) {
                Standing::Free => {}
                Standing::Lapsed(ban) => *lapsed = Some(Lapsed { counted, reason: ban.reason }),
                Standing::Banned(ban) => return Some(refusal(policy.bans, counted, ban.reason)),
            }
        }
        None
    }

    /// What the detectors of this plan notice. `reaches`: no rule refuses the request.
    pub fn notice(
        &mut self,
        plan: &Plan,
        request: &Request,
        subjects: &mut Subjects,
        reaches: bool,
        now: Nanos,
    ) -> Signals {
        let mut signals = self.unusual(plan, request, subjects, reaches, now);
        let misses = subjects.get(Keys::CLIENT).zip(self.misses.as_ref());
        let ignored = misses.and_then(|(client, misses)| misses.signal(client, now));
        for signal in [self.newcomer(plan, subjects, now), ignored].into_iter().flatten() {
            signals.add(signal);
        }
        signals
    }

    fn unusual(
        &mut self,
        plan: &Plan,
        request: &Request,
        subjects: &mut Subjects,
        reaches: bool,
        now: Nanos,
    ) -> Signals {
        let (Some(settings), Some(surge)) = (&plan.traffic, &mut self.surge) else {
            return Signals::default();
        };
        let keys = [Keys::ROUTE, Keys::CLIENT, Keys::CONSUMER, Keys::NETWORK];
        let mut of = [None; 4];
        for ((subject, key), watched) in of.iter_mut().zip(keys).zip(&settings.dimensions) {
            *subject = if watched.is_some() { subjects.get(key) } else { None };
        }
        surge.observe(settings, &surge::Subjects { of, route: request.route }, reaches, now)
    }

    /// The tier that the score reaches: the one of the signals that bind, and the one of all where that is another.
    pub fn weigh(
        &mut self,
        policy: &Settings,
        [binding, all]: [&Noticed; 2],
        subjects: &mut Subjects,
        rulings: &mut Rulings,
        now: Nanos,
    ) {
        let [binds, would] = [binding, all].map(|noticed| policy.tiers.reached(noticed.threat.score));
        let mut reach = |tier: Option<Tier>, mode, noticed: &Noticed| {
            let Some(tier) = tier.filter(|tier| rulings.yields_to(mode, tier.action)) else { return };
            let counted = culprit(&noticed.signals).or_else(|| anybody(subjects));
            let ruling = self.face(policy, &subjects.caller, tier.ruling(mode, counted), now);
            if let Some(ruling) = ruling.and_then(|ruling| self.reach(policy, ruling, now)) {
                rulings.compete(ruling);
            }
        };
        reach(binds, Mode::Enforce, binding);
        reach(would.filter(|_| would != binds), Mode::Observe, all);
    }

    /// The ruling of a tier that is reached. One that throttles has something to say when its quota is spent.
    fn reach(&mut self, policy: &Settings, mut ruling: Ruling, now: Nanos) -> Option<Ruling> {
        if ruling.answer() == Action::Throttle && ruling.limit.is_none() {
            let (mode, subject) = (ruling.response.mode, ruling.counted?.subject);
            let taken = self.names.quotas.take(&policy.quota, mode, subject, &mut self.sums, now);
            ruling.limit = Some(taken.err()?);
        }
        Some(ruling)
    }

    /// Charges the ledger for a refusal that binds, and bans who is full or is to be blocked.
    pub fn punish(
        &mut self,
        policy: &Settings,
        Noticed { signals, threat }: &Noticed,
        subjects: &mut Subjects,
        rulings: &Rulings,
        now: Nanos,
    ) -> Option<Banned> {
        let threat = *threat;
        let ruling = rulings.enforced.filter(|ruling| ruling.answer().is_charged())?;
        let earned = earned(policy, threat, &ruling)?;
        let culprit = culprit(signals).filter(|_| earned.is_charged());
        let charged = culprit
            .and_then(|counted| Some((counted, Reason::Ledger, self.charge(policy, counted, threat, now)?)));
        let blocked = ruling.counted.filter(|_| ruling.answer() == Action::Block && earned == Action::Block);
        let blocked = blocked.map(|counted| {
            let reason = if matches!(ruling.cause, Cause::Rule(_)) { Reason::Rule } else { Reason::Tier };
            (counted, reason, threat.personal.0.into())
        });
        let (counted, reason, charged) = blocked.or(charged)?;
        if policy.ban.never.covers(&mut subjects.caller) {
            return None;
        }
        let lasts = policy.ban.duration;
        let outcome = self.bans.ban(self.names.bans.key(counted.subject), now + lasts, reason, now);
        let is_news = matches!(outcome, Outcome::New | Outcome::Extended);
        is_news.then_some(Banned { counted, reason, lasts, charged })
    }

    /// Charges the ledger with what is the caller's own. `Some` with all that it was charged when that is too much.
    fn charge(&mut self, policy: &Settings, counted: Counted, threat: Threat, now: Nanos) -> Option<u32> {
        self.charges += 1;
        let ledger = &self.names.ledger;
        ledger.charge(&policy.ledger, counted.subject, threat.personal, &mut self.sums, now)
    }
}

/// What a refusal says about the caller itself. A rule's answer does; a tier's, as far as the caller's own signals reach
/// one: nobody is charged or banned for a route or a network that surges.
fn earned(policy: &Settings, threat: Threat, ruling: &Ruling) -> Option<Action> {
    match ruling.cause {
        Cause::Rule(_) => Some(ruling.answer()),
        Cause::Tier(_) => policy.tiers.reached(threat.personal).map(|tier| tier.action),
        Cause::Ban(_) | Cause::Detector(_) => None,
    }
}

/// The most specific subject that was noticed: a credential before the address, which many may share.
fn culprit(signals: &Signals) -> Option<Counted> {
    let find = |kind: Kind| signals.iter().find(|signal| signal.kind == kind);
    find(Kind::ConsumerSurge).or_else(|| find(Kind::SourceSurge)).map(Counted::of)
}

/// Whom to count where only a route or a network was noticed: the address, which nobody can choose, before a credential.
fn anybody(subjects: &mut Subjects) -> Option<Counted> {
    let keys = [Keys::CLIENT, Keys::CONSUMER, Keys::ROUTE];
    keys.into_iter().find_map(|key| Some(Counted { key, subject: subjects.get(key)? }))
}

fn refusal(mode: Mode, counted: Counted, reason: Reason) -> Ruling {
    let response = Response { mode, actions: Actions::only(Action::Deny) };
    Ruling { cause: Cause::Ban(reason), response, counted: Some(counted), limit: None }
}
