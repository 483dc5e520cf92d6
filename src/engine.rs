//! The pipeline: facts of one request in, a decision out. Owns all state of one worker. Each stage is a room of its
//! own; only this file knows their order. `reload` changes plans under it, `report` tells what it decided.

mod reload;
mod report;

use crate::config::plan::{Needs, Plan};
use crate::detect::rules::{Facts, Rules};
use crate::exchange::{Exchange, Gauges, Own};
use crate::hash::Family;
use crate::identity::Source;
use crate::identity::exempt::Exemption;
use crate::identity::key::Caller;
use crate::policy::{self, Ruling, Rulings};
use crate::request::Request;
use crate::request::path::{self, Paths};
use crate::shared::Store;
use crate::telemetry::metrics::{ExemptReason, Fact, Metric, Metrics, RuleSeries};
use crate::time::{Nanos, Steady, Step};
use core::net::IpAddr;
use std::rc::Rc;

/// All state of one worker.
pub struct Engine<S: Store> {
    /// The exchange gets its own when the worker begins to serve.
    store: S,
    own: Own,
    clock: Steady,
    /// By [`InstanceId`]. A retired one leaves its place to the next.
    instances: Vec<Option<Instance>>,
    configured: u64,
    serving: Option<Serving<S>>,
    /// Numbers, for the host to carry out.
    pub metrics: Metrics,
    in_flight: u32,
    scratch: Scratch,
}

/// One configuration in force: from [`Engine::configure`] to [`Engine::retire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceId(usize);

struct Instance {
    /// Its number among all configurations: the latest has the word on what instances share.
    number: u64,
    /// The filter's name in Envoy's configuration: a later instance of the same name is its reload.
    name: Box<str>,
    plan: Rc<Plan>,
    needs: Needs,
    rules: Rules,
    series: Box<[RuleSeries]>,
}

/// What only a worker that serves has: the main thread's VM is configured and ticks, but never sees a stream.
struct Serving<S: Store> {
    exchange: Exchange<S>,
    /// What was logged lately: a bucket of one per interval, so that the interval is the process's.
    log_claims: Family,
    /// The bucket of all lines that this worker writes.
    lines: Nanos,
    /// Has this worker met a proxy's address where a client's should be?
    met_suspect: bool,
}

/// Buffers that requests use again and again.
#[derive(Default)]
struct Scratch {
    path: Vec<u8>,
    /// The path's second reading, where it has one.
    other_path: Vec<u8>,
    subject: String,
    reason: String,
}

/// What was decided about one request.
#[derive(Debug, Default)]
pub struct Decision {
    /// What matched.
    pub rulings: Rulings,
    /// To be logged once: a proxy's address that was met where a client's should be.
    pub suspect: Option<IpAddr>,
}

impl Decision {
    /// The ruling to show: the one that binds, else the one that would.
    pub fn ruling(&self) -> Option<&Ruling> {
        self.rulings.iter().next()
    }
}

/// Proof that a request was counted as begun. It is given back once, when the request ends.
#[derive(Debug)]
#[must_use = "a request that begins must end: hand the ticket to on_complete"]
pub struct Ticket(());

impl<S: Store + Clone> Engine<S> {
    /// An engine that serves nobody yet. `own` is this worker's randomness.
    pub fn new(store: S, own: Own) -> Engine<S> {
        Engine {
            store,
            own,
            clock: Steady::default(),
            instances: Vec::new(),
            configured: 0,
            serving: None,
            metrics: Metrics::new(),
            in_flight: 0,
            scratch: Scratch::default(),
        }
    }

    /// What a request of this instance must bring along; the rest may be absent.
    pub fn needs(&self, id: InstanceId) -> Needs {
        self.instance(id).map_or(Needs::default(), |instance| instance.needs)
    }

    /// Judges one request. Its ticket goes to [`Engine::on_complete`] when it ends, whatever becomes of it. A decision
    /// with a ruling is to be told: [`Engine::report`].
    pub fn on_request(&mut self, id: InstanceId, request: &Request, now: Nanos) -> (Decision, Ticket) {
        let now = self.read_clock(now);
        self.serve(id, now);
        self.metrics.count(Metric::Requests);
        self.in_flight = self.in_flight.saturating_add(1);
        (self.judge(id, request, now).unwrap_or_default(), Ticket(()))
    }

    /// identity → exempt? → detectors → policy.
    fn judge(&mut self, id: InstanceId, request: &Request, now: Nanos) -> Option<Decision> {
        let Instance { plan, needs, rules, .. } = self.instances.get_mut(id.0)?.as_mut()?;
        let serving = self.serving.as_mut()?;
        let mut caller = Caller::of(&plan.identity, request);
        let paths = read_path(needs, request, &mut self.scratch);
        count_missing_facts(&mut self.metrics, &caller.source, needs, request);

        if let Some(reason) = exempt(plan, &caller.source, request, &paths) {
            self.metrics.count_exempt(reason);
            return Some(Decision::default());
        }
        let (seed, _) = serving.exchange.seed();
        let facts = Facts { request, paths, seed: &seed };
        let found = rules.observe(&plan.rules, &facts, &mut caller, &mut serving.exchange, now);
        if found.no_subject {
            self.metrics.count_missing(Fact::Key);
        }
        let rulings = policy::decide(&plan.policy, found.hits);
        let suspect = serving.meet_suspect(&caller.source, now);
        Some(Decision { rulings, suspect })
    }

    /// A request has ended.
    pub fn on_complete(&mut self, ticket: Ticket) {
        let Ticket(()) = ticket;
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Exchanges with the other workers and brings the numbers up to date. Due every `exchange_ms`.
    pub fn on_tick(&mut self, now: Nanos) {
        let now = self.read_clock(now);
        let Some(serving) = &mut self.serving else { return };
        let age = now - serving.exchange.stats().last_exchange;
        self.metrics.set(Metric::ExchangeAge, age.as_millis());
        let tick = serving.exchange.tick(now, Gauges { held: 0, in_flight: self.in_flight });
        if tick.reseeded {
            self.rebind();
        }
        self.measure();
    }

    /// One reading of the clock. A clock that went far back makes all times that are kept meaningless.
    fn read_clock(&mut self, raw: Nanos) -> Nanos {
        let (now, step) = self.clock.read(raw);
        if step != Step::Forward {
            self.metrics.count(Metric::ClockSteps);
        }
        if step == Step::Reset
            && let Some(serving) = &mut self.serving
        {
            serving.exchange.clear();
            self.rebind();
        }
        now
    }
}

/// The path as servers may read it, where the plan looks at it.
fn read_path<'a>(needs: &Needs, request: &Request, scratch: &'a mut Scratch) -> Paths<'a> {
    scratch.path.clear();
    let Some(raw) = request.path().filter(|_| needs.path) else { return Paths::default() };
    path::normalise(raw, &mut scratch.path);
    let has_other = path::normalise_with_parameters(raw, &mut scratch.other_path);
    Paths { normal: Some(&scratch.path), other: has_other.then_some(&scratch.other_path) }
}

/// What is neither judged nor counted against anybody.
fn exempt(plan: &Plan, source: &Source, request: &Request, paths: &Paths) -> Option<ExemptReason> {
    let covers = |exemption: &Exemption| paths.all(|path| exemption.covers(path, source.address()));
    if matches!(source, Source::Trusted(_)) {
        Some(ExemptReason::Trusted)
    } else if plan.exempt.iter().any(covers) {
        Some(ExemptReason::Path)
    } else if request.is_preflight() {
        Some(ExemptReason::Preflight)
    } else {
        None
    }
}

fn count_missing_facts(metrics: &mut Metrics, source: &Source, needs: &Needs, request: &Request) {
    match source {
        Source::Unknown => metrics.count_missing(Fact::Address),
        Source::Proxy(_) => metrics.count(Metric::IdentitySuspect),
        Source::Trusted(_) | Source::Client(_) => {}
    }
    if needs.path && request.path().is_none() {
        metrics.count_missing(Fact::Path);
    }
    if needs.headers && request.authority().is_none() {
        metrics.count_missing(Fact::Authority);
    }
}
