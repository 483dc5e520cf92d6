//! What Weir can do about a request, and whether it does it.

use crate::detect::rules::Rate;

/// Does a decision bind, or is it only reported?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Decide and report, let pass.
    #[default]
    Observe,
    /// Decide, report and act.
    Enforce,
}

impl Mode {
    /// Both.
    pub const ALL: [Mode; 2] = [Mode::Observe, Mode::Enforce];

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
    /// Hold it for a while, then let it pass.
    Tarpit,
    /// Refuse it for now: 429.
    Throttle,
    /// Let those through who prove a browser. While there is no such proof: as throttle.
    Challenge,
    /// Refuse it, as whom it asks can't bear it now: 503.
    Shed,
    /// Refuse it: 403.
    Deny,
    /// Refuse it, and ban whom the rule or tier counted.
    Block,
    /// Refuse it, and end its connection after the reply.
    Close,
}

impl Action {
    /// Every action, mildest first.
    pub const ALL: [Action; 8] = [
        Action::Log,
        Action::Tarpit,
        Action::Throttle,
        Action::Challenge,
        Action::Shed,
        Action::Deny,
        Action::Block,
        Action::Close,
    ];

    /// The word of the configuration and the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Action::Log => "log",
            Action::Tarpit => "tarpit",
            Action::Throttle => "throttle",
            Action::Challenge => "challenge",
            Action::Shed => "shed",
            Action::Deny => "deny",
            Action::Block => "block",
            Action::Close => "close",
        }
    }

    /// Is the request answered by Weir, and never reaches its route?
    pub fn refuses(self) -> bool {
        self > Action::Tarpit
    }

    /// Is it carried out where this happens? A connection can't be held: Envoy hands on what its peer sends, whatever a
    /// filter said to the connection itself. An error of the caller's can't be answered any more.
    pub fn is_done_at(self, happens: Rate) -> bool {
        match happens {
            Rate::Requests => true,
            Rate::Connections => self != Action::Tarpit,
            Rate::Errors => matches!(self, Action::Log | Action::Block | Action::Close),
        }
    }

    /// Does it charge the ledger?
    pub fn is_charged(self) -> bool {
        matches!(self, Action::Deny | Action::Block)
    }

    /// Does a caller pass again as soon as it comes less often?
    pub fn is_throttle(self) -> bool {
        matches!(self, Action::Throttle | Action::Challenge)
    }
}

/// The actions of one rule or tier: all of them are carried out, the most severe is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actions {
    /// The most severe.
    pub answer: Action,
    /// Is the event reported too?
    pub log: bool,
    /// Does the connection end too?
    pub close: bool,
}

impl Actions {
    /// Puts the actions of a rule together; `None` for none. Beside a ban the end of the connection is the smaller thing,
    /// and both come to pass.
    pub fn new(actions: &[Action]) -> Option<Actions> {
        let has = |action| actions.contains(&action);
        let most = *actions.iter().max()?;
        let answer = if has(Action::Block) { Action::Block } else { most };
        Some(Actions { answer, log: has(Action::Log), close: has(Action::Close) })
    }

    /// One action alone.
    pub fn only(answer: Action) -> Actions {
        Actions { answer, log: answer == Action::Log, close: answer == Action::Close }
    }

    /// Every action that is carried out.
    pub fn iter(&self) -> impl Iterator<Item = Action> {
        let beside = |does: bool, action| (does && self.answer != action).then_some(action);
        let (log, close) = (beside(self.log, Action::Log), beside(self.close, Action::Close));
        log.into_iter().chain([self.answer]).chain(close)
    }
}

/// What follows when a rule matches or a tier is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Does it bind?
    pub mode: Mode,
    /// What is done.
    pub actions: Actions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_severe_action_is_the_answer() {
        let both = Actions::new(&[Action::Throttle, Action::Log]).unwrap();
        assert_eq!((both.answer, both.log), (Action::Throttle, true));
        assert_eq!(Actions::new(&[Action::Deny, Action::Throttle]).unwrap().answer, Action::Deny);
        assert_eq!(Actions::new(&[]), None);
    }

    #[test]
    fn a_ban_is_not_lost_beside_a_connection_that_ends() {
        let both = Actions::new(&[Action::Close, Action::Block, Action::Log]).unwrap();
        assert_eq!((both.answer, both.close), (Action::Block, true));
        assert_eq!(both.iter().collect::<Vec<_>>(), [Action::Log, Action::Block, Action::Close]);
    }

    #[test]
    fn actions_stand_in_order_of_severity() {
        assert!(Action::ALL.is_sorted());
        let refusing: Vec<_> = Action::ALL.into_iter().filter(|action| action.refuses()).collect();
        assert_eq!(refusing[0], Action::Throttle, "log and tarpit let pass");
    }
}
