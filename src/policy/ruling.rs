//! What was decided about one request: which rule, tier or ban decides, and what follows.

use super::Settings;
use super::action::{Action, Mode, Response};
use crate::bans::Reason;
use crate::detect::Detector;
use crate::detect::rules::Hit;
use crate::detect::signal::{Kind, Signal};
use crate::hash::SubjectHash;
use crate::identity::subjects::{KeyIndex, Keys};
use crate::time::Nanos;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The rule of this index: its subject is over its rate.
    Rule(u16),
    /// The tier that begins at this score.
    Tier(u8),
    /// A ban that was made for this reason.
    Ban(Reason),
    /// A detector that answers by itself.
    Detector(Detector),
}

/// Whom the rule, tier or ban counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Under which key.
    pub key: KeyIndex,
    /// Who it is.
    pub subject: SubjectHash,
}

impl Counted {
    /// Whom a signal is about.
    pub fn of(signal: &Signal) -> Counted {
        let key = match signal.kind {
            Kind::RouteSurge => Keys::ROUTE,
            Kind::SourceSurge | Kind::FirstSighting | Kind::ChallengeIgnored => Keys::CLIENT,
            Kind::ConsumerSurge => Keys::CONSUMER,
            Kind::NetworkSurge => Keys::NETWORK,
        };
        Counted { key, subject: signal.subject }
    }
}

/// How many requests would have passed, and when the next will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// So many …
    pub requests: u32,
    /// … in this time.
    pub window: Nanos,
    /// Time until the next one passes.
    pub wait: Nanos,
}

/// One ruling: what decides, and what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruling {
    /// What decides.
    pub cause: Cause,
    /// What is done, or would be.
    pub response: Response,
    /// Whom it counts; `None` where a tier was reached and nothing is known of the caller.
    pub counted: Option<Counted>,
    /// The limit that is exceeded, where there is one.
    pub limit: Option<Limit>,
}

impl Ruling {
    /// What is done, or would be.
    pub fn answer(&self) -> Action {
        self.response.actions.answer
    }

    /// The ruling of a rule that matched.
    fn of(hit: &Hit, settings: &Settings) -> Option<Ruling> {
        let response = *settings.rules.get(usize::from(hit.rule))?;
        let limit =
            hit.quota.map(|quota| Limit { requests: quota.burst, window: quota.capacity(), wait: hit.wait });
        let counted = Some(Counted { key: hit.key, subject: hit.subject });
        Some(Ruling { cause: Cause::Rule(hit.rule), response, counted, limit })
    }
}

/// What was decided about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rulings {
    /// The one that binds: the most severe.
    pub enforced: Option<Ruling>,
    /// The one that would bind, if all of Weir enforced: it never hides one that does.
    pub observed: Option<Ruling>,
    /// The rule that matched and binds, where a tier or a ban is more severe. Its log is still written.
    pub overruled: Option<Ruling>,
}

impl Rulings {
    /// The ruling that binds, then the one that would.
    pub fn iter(&self) -> impl Iterator<Item = &Ruling> {
        self.enforced.iter().chain(&self.observed)
    }

    /// The ruling of a ban, beside which nothing else counts.
    pub fn banned(ruling: Ruling) -> Rulings {
        match ruling.response.mode {
            Mode::Enforce => Rulings { enforced: Some(ruling), ..Rulings::default() },
            Mode::Observe => Rulings { observed: Some(ruling), ..Rulings::default() },
        }
    }

    /// Reads the rules that matched in file order: the first match wins, among those that bind and, apart from
    /// them, among those that only observe.
    ///
    /// `settle` says what a ruling comes to for this caller; `None`: nothing, and the next rule has its say.
    pub fn of_rules(
        settings: &Settings,
        hits: &[Hit],
        mut settle: impl FnMut(Ruling) -> Option<Ruling>,
    ) -> Rulings {
        let mut first = |mode| {
            let rulings = hits.iter().filter_map(|hit| Ruling::of(hit, settings));
            rulings.filter(|ruling| ruling.response.mode == mode).find_map(&mut settle)
        };
        Rulings { enforced: first(Mode::Enforce), observed: first(Mode::Observe), overruled: None }
    }

    /// Is the request answered in place of its route, the connection closed?
    pub fn refuse(&self) -> bool {
        self.enforced.is_some_and(|ruling| ruling.answer().refuses())
    }

    /// Does the connection end with it? Also that of a caller that is banned: it has nothing more to say.
    pub fn end_connection(&self) -> bool {
        let ends = |ruling: &Ruling| ruling.response.actions.close || matches!(ruling.cause, Cause::Ban(_));
        self.enforced.as_ref().is_some_and(ends)
    }

    /// Would a tier's ruling, or a detector's, win over the one of its mode that is there? Of equally severe ones the rule stays, which
    /// says more.
    pub fn yields_to(&self, mode: Mode, action: Action) -> bool {
        let there = match mode {
            Mode::Enforce => self.enforced,
            Mode::Observe => self.observed,
        };
        there.is_none_or(|ruling| ruling.answer() < action)
    }

    /// Puts a ruling in the place of the one of its mode. The log of a rule that binds is still written.
    pub fn overrule(&mut self, ruling: Ruling) {
        match ruling.response.mode {
            Mode::Enforce => {
                let before = self.enforced.replace(ruling);
                let rule = before.filter(|before| matches!(before.cause, Cause::Rule(_)));
                self.overruled = self.overruled.or(rule);
            }
            Mode::Observe => self.observed = Some(ruling),
        }
    }

    /// Puts a ruling in the place of a milder one of its mode.
    pub fn compete(&mut self, ruling: Ruling) {
        if self.yields_to(ruling.response.mode, ruling.answer()) {
            self.overrule(ruling);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Actions;
    use super::*;

    fn settings() -> Settings {
        let response = |mode, action| Response { mode, actions: Actions::only(action) };
        Settings {
            rules: Box::new([
                response(Mode::Observe, Action::Deny),
                response(Mode::Enforce, Action::Throttle),
                response(Mode::Enforce, Action::Deny),
            ]),
            ..Settings::default()
        }
    }

    fn of_rules(rules: impl Iterator<Item = u16>) -> Rulings {
        let hits: Vec<Hit> = rules.map(Hit::of_rule).collect();
        Rulings::of_rules(&settings(), &hits, Some)
    }

    fn tier(mode: Mode, action: Action) -> Ruling {
        let response = Response { mode, actions: Actions::only(action) };
        Ruling { cause: Cause::Tier(60), response, counted: None, limit: None }
    }

    #[test]
    fn a_rule_that_only_observes_never_hides_one_that_binds() {
        let rulings = of_rules(0..3);
        assert_eq!(rulings.observed.unwrap().cause, Cause::Rule(0));
        assert_eq!(rulings.enforced.unwrap().cause, Cause::Rule(1));
        assert_eq!(of_rules(0..0), Rulings::default());
    }

    #[test]
    fn the_more_severe_of_rule_and_tier_wins_and_of_equals_the_rule() {
        let mut rulings = of_rules(1..2);
        assert!(!rulings.yields_to(Mode::Enforce, Action::Tarpit));
        assert!(!rulings.yields_to(Mode::Enforce, Action::Throttle));
        assert!(rulings.yields_to(Mode::Enforce, Action::Deny));
        rulings.overrule(tier(Mode::Enforce, Action::Deny));
        assert_eq!(rulings.enforced.unwrap().cause, Cause::Tier(60));
        assert_eq!(rulings.overruled.unwrap().cause, Cause::Rule(1));
    }

    #[test]
    fn a_tier_that_only_observes_leaves_the_rule_that_binds() {
        let mut rulings = of_rules(1..2);
        assert!(rulings.yields_to(Mode::Observe, Action::Deny));
        rulings.overrule(tier(Mode::Observe, Action::Deny));
        assert_eq!(rulings.enforced.unwrap().cause, Cause::Rule(1));
        assert_eq!(rulings.observed.unwrap().cause, Cause::Tier(60));
    }
}
