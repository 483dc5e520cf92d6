//! Which events a decision makes: of what rules and tiers log, of surges, of bans that begin and end. Each at most once in
//! its interval, over all workers.

use super::Decision;
use super::serving::Serving;
use super::words::{list, rule_name};
use crate::challenge::puzzle::reason;
use crate::config::plan::Plan;
use crate::counters::bucket::{Charge, Meter, Quota, Verdict};
use crate::detect::Detector;
use crate::detect::signal::Kind;
use crate::hash::{Family, SubjectHash, mix};
use crate::identity::Source;
use crate::identity::key::{Caller, KeySpec};
use crate::identity::subjects::Keys;
use crate::policy::{Cause, Counted, Mode, Ruling};
use crate::shared::Store;
use crate::telemetry::events::What;
use crate::telemetry::metrics::{EventOutcome, Metrics};
use crate::time::Nanos;
use core::net::IpAddr;

/// What one worker may write of bans, and as much of everything else, however many callers there are: whoever has a
/// network of addresses would fill the disk at one line per address and interval.
const LINES: Quota = Quota { interval: Nanos::from_millis(10), burst: 1_000, charge: Charge::Admitted };

/// One event per surging key in this time.
const SURGE_INTERVAL: Nanos = Nanos::from_secs(60);

/// An event, and whom it is about.
pub(super) type Due = (Option<Counted>, What);

impl<S: Store> Serving<S> {
    /// The events that are due. What is held back is counted.
    pub fn due(
        &mut self,
        plan: &Plan,
        decision: &Decision,
        caller: &mut Caller,
        metrics: &mut Metrics,
        now: Nanos,
    ) -> Vec<Due> {
        let mut due = Vec::new();
        match self.logged(plan, decision, caller, now) {
            Some(Ok(event)) => due.push(event),
            Some(Err(held_back)) => metrics.count_event(held_back),
            None => {}
        }
        due.extend(self.challenged(plan, decision, now));
        self.surges(plan, decision, now, &mut due);
        let bans = [banned(plan, decision), self.lapsed(plan, decision, now)];
        for event in bans.into_iter().flatten() {
            if LINES.admits(self.ban_lines, now) {
                self.ban_lines = LINES.charged(self.ban_lines, now);
                due.push(event);
            } else {
                metrics.count_event(EventOutcome::Suppressed);
            }
        }
        due
    }

    /// What rules and tiers log, once per client and interval.
    fn logged(
        &mut self,
        plan: &Plan,
        decision: &Decision,
        caller: &mut Caller,
        now: Nanos,
    ) -> Option<Result<Due, EventOutcome>> {
        let mut rulings = decision.rulings.iter().chain(&decision.rulings.overruled);
        let ruling = rulings.find(|ruling| ruling.response.actions.log)?;
        let (seed, _) = self.exchange.seed();
        let client = caller.subject(&KeySpec::client(), &seed);
        let counted = ruling.counted.map(|counted| counted.subject);
        // A credential may come from any number of clients. Who is held may be refused later.
        let told = match ruling.cause {
            Cause::Detector(detector) => {
                let whose = if detector == Detector::Wallet { counted } else { client.or(counted) };
                whose.map(|whose| SubjectHash(mix(whose.0 ^ ruling.answer() as u64)))
            }
            _ => client.or(counted),
        };
        let client = told.unwrap_or(SubjectHash(0));
        let claim = self.claim_line(self.names.log_claims, client, plan.events.log_interval, now);
        Some(claim.map(|()| (ruling.counted, told_of(plan, ruling, decision))))
    }

    /// A challenge, once per client and interval: with what its page shows.
    fn challenged(&mut self, plan: &Plan, decision: &Decision, now: Nanos) -> Option<Due> {
        let (puzzle, client) = (decision.puzzle?, decision.client?);
        self.claim_line(self.names.challenge_claims, client, plan.events.log_interval, now).ok()?;
        let what = What::Challenge {
            reason: reason(client.0),
            difficulty: puzzle.difficulty,
            score: decision.threat.score,
            signals: list(&decision.signals),
        };
        Some((Some(Counted { key: Keys::CLIENT, subject: client }), what))
    }

    /// Each surge, and each crowd of newcomers, once per key and minute. A second one within it is no event, so it is none that is held back.
    fn surges(&mut self, plan: &Plan, decision: &Decision, now: Nanos, due: &mut Vec<Due>) {
        for signal in decision.signals.iter() {
            // Of newcomers there is one crowd.
            let counted = (signal.kind != Kind::FirstSighting).then(|| Counted::of(signal));
            let subject = counted.map_or(SubjectHash(0), |counted| counted.subject);
            if self.claim_line(self.names.surge_claims, subject, SURGE_INTERVAL, now).is_ok() {
                let mode = if plan.binds(signal.kind) { Mode::Enforce } else { Mode::Observe };
                due.push((counted, What::Surge { signal: *signal, mode }));
            }
        }
    }

    /// The end of a ban, which each worker notices by itself.
    fn lapsed(&mut self, plan: &Plan, decision: &Decision, now: Nanos) -> Option<Due> {
        let lapsed = decision.lapsed?;
        let interval = plan.policy.ban.duration;
        let claim = self.claim(self.names.lapse_claims, lapsed.counted.subject, interval, now);
        let told = matches!(claim, Verdict::Refuse { .. });
        (!told).then_some((Some(lapsed.counted), What::Unban { reason: lapsed.reason }))
    }

    /// Takes a subject's place in the log for one interval; says why not where it can't be had.
    fn claim_line(
        &mut self,
        family: Family,
        subject: SubjectHash,
        interval: Nanos,
        now: Nanos,
    ) -> Result<(), EventOutcome> {
        if !LINES.admits(self.lines, now) {
            return Err(EventOutcome::Suppressed);
        }
        match self.claim(family, subject, interval, now) {
            Verdict::Admit => {
                self.lines = LINES.charged(self.lines, now);
                Ok(())
            }
            Verdict::Refuse { .. } => Err(EventOutcome::Suppressed),
            Verdict::Untracked => Err(EventOutcome::Untracked),
        }
    }

    /// The proxy's address to log, if none was in the process for an hour.
    pub fn meet_suspect(&mut self, source: &Source, now: Nanos) -> Option<IpAddr> {
        let Source::Proxy(proxy) = source else { return None };
        if core::mem::replace(&mut self.met_suspect, true) {
            return None;
        }
        let verdict = self.claim(self.names.log_claims, SubjectHash(0), Nanos::from_secs(3600), now);
        (verdict == Verdict::Admit).then_some(proxy.address)
    }

    fn claim(&mut self, family: Family, subject: SubjectHash, interval: Nanos, now: Nanos) -> Verdict {
        let quota = Quota { interval, burst: 1, charge: Charge::Admitted };
        self.exchange.charge(family.key(subject), &quota, now)
    }
}

/// What a ruling is told as.
fn told_of(plan: &Plan, ruling: &Ruling, decision: &Decision) -> What {
    let (action, mode) = (ruling.answer(), ruling.response.mode);
    let wait = ruling.limit.map_or(Nanos::ZERO, |limit| limit.wait);
    match ruling.cause {
        Cause::Tier(min_score) => What::Tier {
            min_score,
            action,
            mode,
            score: decision.threat.score,
            signals: list(&decision.signals),
        },
        Cause::Detector(detector) => What::Detector { detector, action, mode, wait },
        Cause::Rule(_) | Cause::Ban(_) => {
            let counted = decision.happens.name();
            What::Rule { name: rule_name(plan, &ruling.cause).into(), action, mode, counted, wait }
        }
    }
}

/// The ban that a decision made, with what it rests on.
fn banned(plan: &Plan, decision: &Decision) -> Option<Due> {
    let banned = decision.banned?;
    let cause = decision.rulings.enforced.map(|ruling| ruling.cause);
    let what = What::Ban {
        reason: banned.reason,
        lasts: banned.lasts,
        charged: banned.charged,
        score: decision.threat.score,
        signals: list(&decision.signals),
        rule: cause.map(|cause| rule_name(plan, &cause).to_owned()).unwrap_or_default(),
    };
    Some((Some(banned.counted), what))
}
