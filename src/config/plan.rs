//! A configuration, compiled: it can't be wrong, and it doesn't change. A reload makes another one.

use crate::detect::rules::{Rate, Rule};
use crate::detect::surge::{self, Dimension};
use crate::exchange::sums;
use crate::identity::Method;
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
    /// Where fingerprints come from.
    pub fingerprints: Box<[Supply]>,
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

/// A method of fingerprints, and where its values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supply {
    /// The method.
    pub method: Method,
    /// Where Envoy has its values.
    pub from: Origin,
}

/// Where Envoy has a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the property of this path, which the connection has.
    State(Box<str>),
    /// In this header of each request, which Envoy must have written itself.
    Header(Box<str>),
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
    /// Fingerprints.
    pub fingerprints: bool,
    /// How a request ended: did its caller reset it, or break the protocol?
    pub errors: bool,
    /// Whether others use its connection: whoever ends one, or charges for one, must know.
    pub sharing: bool,
    /// Not this request, but connections, of which a network filter must tell.
    pub connections: bool,
}

/// Requests that are held go on with a tick, so ticks come at least so often where any may be.
const TARPIT_TICK: Nanos = Nanos::from_millis(40);

/// Connections that are to end do so with a tick, when the reply has been sent.
const CLOSING_TICK: Nanos = Nanos::from_millis(200);

impl Supply {
    /// Is it known of requests alone?
    pub fn is_in_header(&self) -> bool {
        matches!(self.from, Origin::Header(_))
    }
}

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
        let fingerprints = rules.need_fingerprints(keys) || !policy.ban.never.prints.is_empty();
        Needs {
            route: self.learns(Dimension::Route) || rules.need_route(keys),
            network: network && self.network.is_some(),
            path,
            headers: path
                || rules.need_headers(keys)
                || (has_consumer && consumer)
                || (fingerprints && self.fingerprints.iter().any(Supply::is_in_header)),
            fingerprints,
            errors: rules.count(Rate::Errors),
            sharing: rules.count(Rate::Errors) || policy.closes(),
            connections: rules.count(Rate::Connections),
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
        let tarpit = if self.policy.holds() { TARPIT_TICK } else { Nanos::MAX };
        let closing = if self.policy.closes() { CLOSING_TICK } else { Nanos::MAX };
        self.exchange.interval.min(tarpit).min(closing)
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
        let identity = [&self.identity.proxies, &self.identity.trusted, &never.clients];
        let exempt = self.exempt.iter().filter_map(|exemption| exemption.source.as_ref());
        let rules = self.rules.rules.iter().filter_map(|rule| rule.only.as_ref());
        let lists = identity.into_iter().chain(&self.rules.claimed).chain(exempt).chain(rules);
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
