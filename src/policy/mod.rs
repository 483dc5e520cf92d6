//! What is done about what detectors found: the only room that chooses an action.
//!
//! * [`action`]: what can be done, and whether it is.  * [`tiers`]: from a score to an action.
//! * [`ruling`]: rule or tier, whichever is more severe.  * [`quota`]: what a throttling tier still lets pass.
//! * [`ledger`]: who was refused too often is banned.  * [`ban`]: for how long, and who never.
//! * [`tarpit`]: who is held.

pub mod action;
pub mod ban;
pub mod ledger;
pub mod quota;
pub mod ruling;
pub mod tarpit;
pub mod tiers;

pub use action::{Action, Actions, Mode, Response};
pub use ruling::{Cause, Counted, Limit, Ruling, Rulings};

use crate::challenge;
use crate::challenge::secret::Secrets;
use crate::identity::subjects::KeyIndex;
use tiers::Tiers;

/// The operator's policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// One response per rule, in the order of the rules.
    pub rules: Box<[Response]>,
    /// From a score to an action.
    pub tiers: Tiers,
    /// The response header that says why.
    pub why_header: Option<Box<str>>,
    /// What tiers that throttle let pass.
    pub quota: quota::Settings,
    /// Who is held, and for how long.
    pub tarpit: tarpit::Settings,
    /// How to challenge.
    pub challenge: challenge::Settings,
    /// The operator's keys to sign with; without any, the process has one.
    pub secrets: Option<Secrets>,
    /// When refusals become a ban.
    pub ledger: ledger::Settings,
    /// How bans are made.
    pub ban: ban::Settings,
    /// The keys under which somebody may be banned: those that each request is looked up by.
    pub bannable: Box<[KeyIndex]>,
    /// Do bans bind, or are they only reported? They bind where anything that binds can make them.
    pub bans: Mode,
}

impl Settings {
    /// May a connection be ended?
    pub fn closes(&self) -> bool {
        let of_rules = self.rules.iter().any(|response| response.actions.close);
        let of_tiers = self.tiers.iter().any(|tier| tier.action == Action::Close);
        of_rules || of_tiers || (self.bans == Mode::Enforce && !self.bannable.is_empty())
    }

    /// May a browser be challenged?
    pub fn challenges(&self) -> bool {
        self.answers().any(|action| action == Action::Challenge)
    }

    /// May a request be held?
    pub fn holds(&self) -> bool {
        self.answers().any(|action| action == Action::Tarpit)
    }

    /// What rules and tiers answer.
    fn answers(&self) -> impl Iterator<Item = Action> {
        let of_rules = self.rules.iter().map(|response| response.actions.answer);
        of_rules.chain(self.tiers.iter().map(|tier| tier.action))
    }
}
