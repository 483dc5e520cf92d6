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

/// The facts that a plan looks at in every request. What it doesn't need isn't fetched: each fetch costs about a
/// microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The route.
    pub route: bool,
    /// The path, in normal form.
    pub path: bool,
    /// The headers.
    pub headers: bool,
}

impl Plan {
    /// What the host must fetch of each request, and what is worked out of it.
    pub fn needs(&self) -> Needs {
        let path = !self.exempt.is_empty() || self.rules.need_path();
        Needs { route: self.rules.need_route(), path, headers: path || self.rules.need_headers() }
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
