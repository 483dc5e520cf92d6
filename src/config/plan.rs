//! A configuration, compiled: it can't be wrong, and it doesn't change. A reload makes another one.

use crate::detect::rules::Rule;
use crate::detect::surge::{self, Dimension};
use crate::exchange::sums;
use crate::identity::exempt::Exemption;
use crate::identity::key::Part;
use crate::identity::prefixes::Prefixes;
use crate::identity::subjects::Keys;
use crate::policy::quota::Quotas;
use crate::policy::{Mode, tarpit};
use crate::telemetry::events;
use crate::time::Nanos;
use crate::{bans, detect, exchange, identity, policy};

/// One compiled configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The global mode. Each rule's own is in [`policy::Settings::rules`] already.
    pub mode: Mode,
    /// How callers are told apart.
    pub identity: identity::Settings,
    /// The property that holds the number of a client's network, as the host names it.
    pub network: Option<Box<str>>,
    /// What rules, detectors and bans count by.
    pub keys: Keys,
    /// What is never judged.
    pub exempt: Box<[Exemption]>,
    /// The rates.
    pub rules: detect::rules::Settings,
    /// What is unusual; `None`: nothing is learned.
    pub traffic: Option<surge::Settings>,
    /// Does what is unusual bind?
    pub traffic_mode: Mode,
    /// How much may be learned.
    pub traffic_sizes: surge::Sizes,
    /// How many may be banned.
    pub bans: bans::Settings,
    /// What is done about all that.
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
    /// The number of the client's network.
    pub network: bool,
    /// The path, in normal form.
    pub path: bool,
    /// The headers.
    pub headers: bool,
}

/// Requests that are held go on with a tick, so ticks come at least so often where any may be.
const TARPIT_TICK: Nanos = Nanos::from_millis(40);

impl Plan {
    /// What the host must fetch of each request, and what is worked out of it.
    pub fn needs(&self) -> Needs {
        let Plan { rules, keys, policy, .. } = self;
        let path = !self.exempt.is_empty() || rules.need_path();
        let has_consumer = !self.identity.consumer.is_empty();
        let consumer = self.learns(Dimension::Consumer) || policy.bannable.contains(&Keys::CONSUMER);
        let network = self.learns(Dimension::Network)
            || rules.need_network(keys)
            || policy.bannable.contains(&Keys::NETWORK)
            || !policy.ban.never.networks.is_empty();
        Needs {
            route: self.learns(Dimension::Route) || rules.need_route(keys),
            network: network && self.network.is_some(),
            path,
            headers: path || rules.need_headers(keys) || (has_consumer && consumer),
        }
    }

    /// Does anything count by consumer?
    pub fn needs_consumer(&self) -> bool {
        let rule = |rule: &Rule| self.keys.parts(rule.key).contains(&Part::Consumer);
        self.learns(Dimension::Consumer) || self.rules.rules.iter().any(rule)
    }

    fn learns(&self, dimension: Dimension) -> bool {
        let judges = self.traffic.as_ref().map(|traffic| &traffic.dimensions);
        judges.and_then(|judges| judges.get(dimension as usize)).is_some_and(Option::is_some)
    }

    /// How often the engine's tick is due.
    pub fn tick(&self) -> Nanos {
        if self.policy.holds() { self.exchange.interval.min(TARPIT_TICK) } else { self.exchange.interval }
    }

    /// Room for requests that are held: none where no action holds any.
    pub fn tarpit_room(&self) -> tarpit::Settings {
        let max_concurrent = if self.policy.holds() { self.policy.tarpit.max_concurrent } else { 0 };
        tarpit::Settings { max_concurrent, ..self.policy.tarpit }
    }

    /// Bytes of the tables that a worker allocates under this plan when it begins to serve, exactly, and of the
    /// lists of addresses, which are all that may be large in the plan itself.
    pub fn memory_bytes(&self) -> u64 {
        let never = &self.policy.ban.never;
        let identity = [&self.identity.proxies, &self.identity.trusted, &self.rules.claimed, &never.clients];
        let exempt = self.exempt.iter().filter_map(|exemption| exemption.source.as_ref());
        let rules = self.rules.rules.iter().filter_map(|rule| rule.only.as_ref());
        let lists = identity.into_iter().chain(exempt).chain(rules);
        let lists: usize = lists.map(Prefixes::memory_bytes).sum();
        self.tables_bytes() + lists as u64
    }

    /// Bytes of the tables alone.
    pub fn tables_bytes(&self) -> u64 {
        let learned = if self.traffic.is_some() { self.traffic_sizes.memory_bytes() } else { 0 };
        self.exchange.memory_bytes()
            + sums::MEMORY_BYTES
            + Quotas::memory_bytes()
            + self.bans.memory_bytes()
            + learned
            + self.tarpit_room().memory_bytes()
    }
}
