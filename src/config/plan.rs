//! A configuration, compiled: it can't be wrong, and it doesn't change. A reload makes another one.

use crate::identity::exempt::Exemption;
use crate::identity::prefixes::Prefixes;
use crate::policy::Mode;
use crate::telemetry::events;
use crate::{detect, exchange, identity, policy};

/// One compiled configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The global mode. Each rule's own is in [`policy::Settings::rules`] already.
    pub mode: Mode,
    /// How callers are told apart.
    pub identity: identity::Settings,
    /// What is never judged.
    pub exempt: Box<[Exemption]>,
    /// The rates.
    pub rules: detect::rules::Settings,
    /// What is done about those who exceed them.
    pub policy: policy::Settings,
    /// How workers share.
    pub exchange: exchange::Settings,
    /// What is reported.
    pub events: events::Settings,
}

impl Plan {
    /// Must the host fetch the route of each request?
    pub fn needs_route(&self) -> bool {
        self.rules.needs_route()
    }

    /// Is the path of each request looked at?
    pub fn needs_path(&self) -> bool {
        !self.exempt.is_empty() || self.rules.needs_path()
    }

    /// Bytes of the tables that a worker allocates under this plan when it begins to serve, exactly, and of the
    /// lists of addresses, which are all that may be large in the plan itself.
    pub fn memory_bytes(&self) -> u64 {
        let identity = [&self.identity.proxies, &self.identity.trusted, &self.rules.claimed];
        let exempt = self.exempt.iter().filter_map(|exemption| exemption.source.as_ref());
        let rules = self.rules.rules.iter().filter_map(|rule| rule.only.as_ref());
        let lists = identity.into_iter().chain(exempt).chain(rules);
        let lists: usize = lists.map(Prefixes::memory_bytes).sum();
        self.exchange.memory_bytes() + lists as u64
    }
}
