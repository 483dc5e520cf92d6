//! What is done about what detectors found: the only room that chooses an action.

use crate::detect::rules::Hit;

/// Does a decision bind, or is it only reported?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Decide and report, let pass.
    Observe,
    /// Decide, report and act.
    Enforce,
}

impl Mode {
    /// The word of the configuration and the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Observe => "observe",
            Mode::Enforce => "enforce",
        }
    }
}

/// What Weir can do about a request, in order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Report it and let it pass.
    Log,
    /// Refuse it for now: 429.
    Throttle,
    /// Refuse it: 403.
    Deny,
}

impl Action {
    /// Every action, mildest first.
    pub const ALL: [Action; 3] = [Action::Log, Action::Throttle, Action::Deny];

    /// The word of the configuration and the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Action::Log => "log",
            Action::Throttle => "throttle",
            Action::Deny => "deny",
        }
    }
}

/// The actions of one rule: all of them are carried out, the most severe is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actions {
    /// The most severe.
    pub answer: Action,
    /// Is the event reported too?
    pub log: bool,
}

impl Actions {
    /// Puts the actions of a rule together; `None` for none.
    pub fn new(actions: &[Action]) -> Option<Actions> {
        let answer = *actions.iter().max()?;
        Some(Actions { answer, log: actions.contains(&Action::Log) })
    }

    /// Every action that is carried out.
    pub fn iter(&self) -> impl Iterator<Item = Action> {
        let log = (self.log && self.answer != Action::Log).then_some(Action::Log);
        log.into_iter().chain([self.answer])
    }
}

/// What follows when a rule matches. Stands at the rule's own place in [`Settings::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Does it bind?
    pub mode: Mode,
    /// What is done.
    pub actions: Actions,
}

/// The operator's policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// One response per rule, in the order of the rules.
    pub rules: Box<[Response]>,
}

/// One ruling: a rule that matched and what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruling {
    /// What matched.
    pub hit: Hit,
    /// What is done, or would be.
    pub response: Response,
}

/// What was decided about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rulings {
    /// The first match among the rules that bind.
    pub enforced: Option<Ruling>,
    /// The first match among the rules that only observe: it never hides one that binds.
    pub observed: Option<Ruling>,
}

impl Rulings {
    /// The ruling that binds, then the one that would.
    pub fn iter(&self) -> impl Iterator<Item = &Ruling> {
        self.enforced.iter().chain(&self.observed)
    }
}

/// Reads the rules that matched in file order: the first match wins, among those that bind and, apart from
/// them, among those that only observe.
pub fn decide(settings: &Settings, hits: &[Hit]) -> Rulings {
    let first = |mode| {
        let rulings = hits.iter().filter_map(|&hit| {
            let response = *settings.rules.get(usize::from(hit.rule))?;
            Some(Ruling { hit, response })
        });
        rulings.into_iter().find(|ruling| ruling.response.mode == mode)
    };
    Rulings { enforced: first(Mode::Enforce), observed: first(Mode::Observe) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(mode: Mode, actions: &[Action]) -> Response {
        Response { mode, actions: Actions::new(actions).unwrap() }
    }

    #[test]
    fn the_most_severe_action_is_the_answer() {
        let both = Actions::new(&[Action::Throttle, Action::Log]).unwrap();
        assert_eq!((both.answer, both.log), (Action::Throttle, true));
        assert_eq!(Actions::new(&[Action::Deny, Action::Throttle]).unwrap().answer, Action::Deny);
        assert_eq!(Actions::new(&[]), None);
    }

    #[test]
    fn a_rule_that_only_observes_never_hides_one_that_binds() {
        let settings = Settings {
            rules: Box::new([
                response(Mode::Observe, &[Action::Deny]),
                response(Mode::Enforce, &[Action::Throttle]),
                response(Mode::Enforce, &[Action::Deny]),
            ]),
        };
        let hits: Vec<Hit> = (0..3).map(Hit::of_rule).collect();
        let rulings = decide(&settings, &hits);
        assert_eq!(rulings.observed.unwrap().hit.rule, 0);
        assert_eq!(rulings.enforced.unwrap().hit.rule, 1);
        assert_eq!(decide(&settings, &[]), Rulings::default());
    }
}
