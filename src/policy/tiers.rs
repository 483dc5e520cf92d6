//! From a threat score to an action: the highest tier that the score reaches acts.

use super::action::{Action, Actions, Mode, Response};
use super::ruling::{Cause, Counted, Ruling};
use crate::score::Score;

/// From a score on, an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The least score, 1 to 100.
    pub min_score: u8,
    /// What is done.
    pub action: Action,
}

/// All tiers, the lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiers(Box<[Tier]>);

impl Default for Tiers {
    /// One dimension that surges is challenged, then throttled; only several together are denied.
    fn default() -> Tiers {
        let tier = |(min_score, action)| Tier { min_score, action };
        Tiers([(40, Action::Challenge), (60, Action::Throttle), (90, Action::Deny)].map(tier).into())
    }
}

impl Tiers {
    /// Tiers in any order.
    pub fn new(mut tiers: Vec<Tier>) -> Tiers {
        tiers.sort_by_key(|tier| tier.min_score);
        Tiers(tiers.into())
    }

    /// The highest tier that a score reaches.
    pub fn reached(&self, score: Score) -> Option<Tier> {
        self.0.iter().rev().find(|tier| score.0 >= tier.min_score).copied()
    }

    /// All of them, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = Tier> {
        self.0.iter().copied()
    }
}

impl Tier {
    /// The ruling of this tier about whom it counts.
    pub fn ruling(self, mode: Mode, counted: Option<Counted>) -> Ruling {
        let response = Response { mode, actions: Actions::only(self.action) };
        Ruling { cause: Cause::Tier(self.min_score), response, counted, limit: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_tier_that_is_reached_acts() {
        let tiers = Tiers::default();
        let action = |score| tiers.reached(Score(score)).map(|tier| tier.action);
        for (scores, expected) in [
            (0..=39, None),
            (40..=59, Some(Action::Challenge)),
            (60..=89, Some(Action::Throttle)),
            (90..=100, Some(Action::Deny)),
        ] {
            assert!(scores.clone().all(|score| action(score) == expected), "{scores:?}");
        }
    }

    #[test]
    fn tiers_may_be_written_in_any_order() {
        let tier = |min_score, action| Tier { min_score, action };
        let tiers = Tiers::new(vec![tier(80, Action::Block), tier(20, Action::Log)]);
        assert_eq!(tiers.reached(Score(90)), Some(tier(80, Action::Block)));
        assert_eq!(tiers.reached(Score(79)), Some(tier(20, Action::Log)));
    }
}
