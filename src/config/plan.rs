//! A configuration, compiled: it can't be wrong, and it doesn't change. A reload makes another one.

use crate::detect::misses::Misses;
use crate::detect::novelty::Novelty;
use crate::detect::rules::{Rate, Rule};
use crate::detect::signal;
use crate::detect::surge::{self, Dimension};
use crate::detect::{Detector, loops, novelty, volume};
use crate::exchange::{counts, sums};
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
    /// What else is counted.
    pub detectors: Detectors,
    /// How many may be banned.
    pub bans: bans::Settings,
    /// What is done about all that.
    pub policy: policy::Settings,
    /// How workers share.
    pub exchange: exchange::Settings,
    /// What is reported.
    pub events: events::Settings,
}

/// The detectors that count, each with its own mode. `None`: off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Detectors {
    /// Callers on paths.
    pub volume: Option<Armed<volume::Settings>>,
    /// Credentials.
    pub wallet: Option<Armed<volume::Settings>>,
    /// Failures.
    pub loops: Option<Armed<loops::Settings>>,
    /// Clients that were not seen before.
    pub novelty: Option<Armed<novelty::Settings>>,
}

/// A detector's settings, and whether what it says binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Armed<T> {
    /// The settings.
    pub settings: T,
    /// The mode.
    pub mode: Mode,
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
    /// What time it is, for the challenge.
    pub time: bool,
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
        // What only observes does without: that a browser would be challenged is near enough.
        let challenges = policy.challenges() && self.enforces();
        let path = challenges
            || !self.exempt.is_empty()
            || rules.need_path()
            || self.detectors.loops.is_some()
            || self.count_by(|part| *part == Part::Path);
        let has_consumer = !self.identity.consumer.is_empty();
        let consumer = self.learns(Dimension::Consumer)
            || policy.bannable.contains(&Keys::CONSUMER)
            || self.detectors.wallet.is_some();
        let sent = |part: &Part| matches!(part, Part::Consumer | Part::Header(_) | Part::Cookie(_));
        let printed = |part: &Part| matches!(part, Part::Fingerprint(_));
        let network = self.learns(Dimension::Network)
            || rules.need_network(keys)
            || self.count_by(|part| *part == Part::Network)
            || policy.bannable.contains(&Keys::NETWORK)
            || !policy.ban.never.networks.is_empty();
        let fingerprints =
            rules.need_fingerprints(keys) || self.count_by(printed) || !policy.ban.never.prints.is_empty();
        Needs {
            route: self.learns(Dimension::Route)
                || rules.need_route(keys)
                || self.count_by(|part| *part == Part::Route),
            network: network && self.network.is_some(),
            path,
            time: challenges,
            headers: path
                || rules.need_headers(keys)
                || self.count_by(sent)
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
        self.learns(Dimension::Consumer)
            || self.rules.rules.iter().any(rule)
            || self.detectors.wallet.is_some()
            || self.detectors.loops.is_some()
            || self.count_by(|part| *part == Part::Consumer)
    }

    /// The bands of a detector that has some.
    pub fn bands(&self, detector: Detector) -> Option<Armed<volume::Settings>> {
        match detector {
            Detector::Volume => self.detectors.volume,
            Detector::Wallet => self.detectors.wallet,
            Detector::Loops => None,
        }
    }

    /// How a detector counts; `None`: it is off.
    pub fn counts(&self, detector: Detector) -> Option<counts::Settings> {
        let tick = match detector {
            Detector::Loops => self.detectors.loops?.settings.tick,
            banded => self.bands(banded)?.settings.tick,
        };
        Some(counts::Settings { lines: self.exchange.rounded().sketch_buckets, tick })
    }

    /// Does a signal's weight count towards tiers that bind?
    pub fn binds(&self, kind: signal::Kind) -> bool {
        let mode = match kind {
            signal::Kind::FirstSighting => self.detectors.novelty.map(|novelty| novelty.mode),
            _ => Some(self.traffic_mode),
        };
        mode == Some(Mode::Enforce)
    }

    /// May a rule or tier bind?
    fn enforces(&self) -> bool {
        let modes = [self.mode, self.traffic_mode].into_iter();
        let modes = modes.chain(self.detectors.novelty.map(|novelty| novelty.mode));
        modes.chain(self.policy.rules.iter().map(|response| response.mode)).any(|mode| mode == Mode::Enforce)
    }

    /// May a request be held?
    pub fn holds(&self) -> bool {
        let bands = [self.detectors.volume, self.detectors.wallet];
        self.policy.holds() || bands.into_iter().flatten().any(|bands| bands.settings.holds())
    }

    /// Does a detector count by this part?
    fn count_by(&self, part: impl Fn(&Part) -> bool) -> bool {
        let volume = self.detectors.volume.map(|volume| self.keys.parts(volume.settings.key));
        volume.into_iter().flatten().any(part)
    }

    fn learns(&self, dimension: Dimension) -> bool {
        let judges = self.traffic.as_ref().map(|traffic| &traffic.dimensions);
        judges.and_then(|judges| judges.get(dimension as usize)).is_some_and(Option::is_some)
    }

    /// How often the engine's tick is due.
    pub fn tick(&self) -> Nanos {
        let tarpit = if self.holds() { TARPIT_TICK } else { Nanos::MAX };
        let closing = if self.policy.closes() { CLOSING_TICK } else { Nanos::MAX };
        self.exchange.interval.min(tarpit).min(closing)
    }

    /// Room for requests that are held: none where no action holds any.
    pub fn tarpit_room(&self) -> tarpit::Settings {
        let max_concurrent = if self.holds() { self.policy.tarpit.max_concurrent } else { 0 };
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
        let counted = Detector::ALL.into_iter().filter_map(|detector| self.counts(detector));
        let newcomers =
            self.detectors.novelty.map_or(0, |_| Novelty::memory_bytes(self.exchange.sketch_buckets));
        self.exchange.memory_bytes()
            + counted.map(|settings| counts::memory_bytes(&settings)).sum::<u64>()
            + newcomers
            + if self.policy.challenges() { Misses::memory_bytes() } else { 0 }
            + sums::MEMORY_BYTES
            + Quotas::memory_bytes()
            + self.bans.memory_bytes()
            + learned
            + self.tarpit_room().memory_bytes()
    }
}
