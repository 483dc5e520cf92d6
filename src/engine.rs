//! The pipeline: facts of one request in, a decision out. Owns all state of one worker. Each stage is a room of its
//! own; only this file knows their order; `connections` asks it about what comes before a request and after
//! it. What a worker holds while it serves is in `serving`, what detectors that count know in
//! `counting` and what they say in `limits`, what follows from what was noticed in `verdict`; `reload` changes plans under it; `report`, `tell`, `words` and `measure` tell what it decided, and `posting` whom.

mod connections;
mod counting;
mod facing;
mod limits;
mod measure;
mod posting;
mod reload;
mod report;
mod serving;
mod tell;
mod verdict;
mod words;

use crate::challenge::answer::Answer;
use crate::challenge::puzzle::Puzzle;
use crate::config::plan::{Needs, Plan};
use crate::connections::Connections;
use crate::detect::rules::{Facts, Rate, Rules};
use crate::detect::signal::Signals;
use crate::exchange::{Gauges, Own};
use crate::hash::SubjectHash;
use crate::identity::Source;
use crate::identity::exempt::Exemption;
use crate::identity::key::Caller;
use crate::identity::subjects::{Keys, Memos, Subjects};
use crate::policy::tarpit::StreamId;
use crate::policy::{Action, Ruling, Rulings};
use crate::request::Request;
use crate::request::outcome::Outcome;
use crate::request::path::{self, Paths};
use crate::score::{Noticed, Threat};
use crate::shared::Store;
use crate::telemetry::metrics::{ExemptReason, Fact, Metric, Metrics, Series};
use crate::telemetry::webhook::{self, Outbox};
use crate::time::{Nanos, Steady, Step};
use core::net::IpAddr;
use limits::Watched;
pub use serving::NOTICE_BYTES;
use serving::Serving;
use std::rc::Rc;
pub use verdict::{Banned, Lapsed};

/// All state of one worker.
pub struct Engine<S: Store> {
    /// Every room that shares gets its own when the worker begins to serve.
    store: S,
    own: Own,
    clock: Steady,
    /// By [`InstanceId`]. A retired one leaves its place to the next.
    instances: Vec<Option<Instance>>,
    configured: u64,
    serving: Option<Serving<S>>,
    /// Network filters in this VM.
    companions: usize,
    /// From the first connection on that one of them tells of.
    connections: Option<Connections>,
    /// Connections whose breach of the protocol was told of lately.
    faulty: [u64; 8],
    /// Numbers, for the host to carry out.
    pub metrics: Metrics,
    in_flight: u32,
    /// What became of events of configurations that are gone.
    posted: webhook::Stats,
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
    memos: Memos,
    /// A digest of the methods of fingerprints: what one set of them read means nothing under another.
    methods: u64,
    /// Of each rule, then of each tier.
    series: Box<[Series]>,
    /// Events on their way to its webhook.
    outbox: Outbox,
}

/// Buffers that requests use again and again.
#[derive(Default)]
struct Scratch {
    path: Vec<u8>,
    /// The path's second reading, where it has one.
    other_path: Vec<u8>,
    subject: String,
    reason: String,
    why: String,
}

/// What was decided about one request.
#[derive(Debug, Default)]
pub struct Decision {
    /// What is judged.
    pub happens: Rate,
    /// What matched.
    pub rulings: Rulings,
    /// What was noticed.
    pub signals: Signals,
    /// How threatening that is.
    pub threat: Threat,
    /// Of that, what may bind.
    pub binding: Threat,
    /// Who was banned for it.
    pub banned: Option<Banned>,
    /// Whose ban has ended, as this request shows.
    pub lapsed: Option<Lapsed>,
    /// A rule matched that is for certain fingerprints.
    pub by_print: bool,
    /// To be logged once: a proxy's address that was met where a client's should be.
    pub suspect: Option<IpAddr>,
    /// A request whose end is to be learned.
    watched: Option<Watched>,
    /// What its browser is to solve.
    pub puzzle: Option<Puzzle>,
    /// What a browser gets that brings an answer.
    pub answer: Option<Answer>,
    /// The client that is challenged.
    client: Option<SubjectHash>,
}

impl Decision {
    /// The ruling to show: the one that binds, else the one that would.
    pub fn ruling(&self) -> Option<&Ruling> {
        self.rulings.iter().next()
    }

    /// Is there something to tell of it?
    pub fn is_told(&self) -> bool {
        self.ruling().is_some() || !self.signals.is_empty() || self.lapsed.is_some() || self.answer.is_some()
    }

    /// What is done.
    pub fn action(&self) -> Option<Action> {
        self.rulings.enforced.as_ref().map(Ruling::answer)
    }
}

/// Proof that a request was counted as begun. It is given back once, when the request ends.
#[derive(Debug)]
#[must_use = "a request that begins must end: hand the ticket to on_complete"]
pub struct Ticket(Option<Watched>);

impl Ticket {
    /// Is it to be told how the request ended? `Some(true)`: with its gRPC status.
    pub fn wants_outcome(&self) -> Option<bool> {
        self.0.map(|watched| watched.is_grpc)
    }
}

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
            companions: 0,
            connections: None,
            faulty: [u64::MAX; 8],
            metrics: Metrics::new(),
            in_flight: 0,
            posted: webhook::Stats::default(),
            scratch: Scratch::default(),
        }
    }

    /// What a request of this instance must bring along; the rest may be absent.
    pub fn needs(&self, id: InstanceId) -> Needs {
        self.instance(id).map_or(Needs::default(), |instance| instance.needs)
    }

    /// Judges one request. Its ticket goes to [`Engine::on_complete`] when it ends, whatever becomes of it. A decision
    /// that [is told](Decision::is_told) goes to [`Engine::report`].
    pub fn on_request(&mut self, id: InstanceId, request: &Request, now: Nanos) -> (Decision, Ticket) {
        let now = self.read_clock(now);
        self.serve(id, now);
        self.metrics.count(Metric::Requests);
        self.in_flight = self.in_flight.saturating_add(1);
        let decision = self.judge(id, Rate::Requests, request, now).unwrap_or_default();
        let ticket = Ticket(decision.watched);
        (decision, ticket)
    }

    /// identity → exempt? → banned? → detectors → score → policy. Of a connection, and of what a caller did wrong, rules alone
    /// have something to say.
    fn judge(&mut self, id: InstanceId, happens: Rate, request: &Request, now: Nanos) -> Option<Decision> {
        let Instance { plan, needs, rules, memos, .. } = self.instances.get_mut(id.0)?.as_mut()?;
        let serving = self.serving.as_mut()?;
        let is_request = happens == Rate::Requests;
        let paths = read_path(needs, request, &mut self.scratch);
        let caller = Caller::of(&plan.identity, request).at(paths.normal);
        let source = caller.source;
        if is_request {
            count_missing_facts(&mut self.metrics, &source, needs, request);
        }

        if let Some(reason) = exempt(plan, &source, request, &paths) {
            self.metrics.count_exempt(reason);
            return Some(Decision { happens, ..Decision::default() });
        }
        let (seed, _) = serving.exchange.seed();
        let mut subjects = Subjects::of(caller, &plan.keys, seed, memos);
        let mut lapsed = None;
        if happens != Rate::Errors
            && let Some(ruling) = serving.banned(&plan.policy, &mut subjects, &mut lapsed, now)
        {
            return Some(Decision {
                happens,
                rulings: Rulings::banned(ruling),
                lapsed,
                ..Decision::default()
            });
        }
        let facts = Facts { happens, request, paths };
        let found = rules.observe(&plan.rules, &facts, &mut subjects, &mut serving.exchange, now);
        if found.no_subject && is_request {
            self.metrics.count_missing(Fact::Key);
        }
        let by_print = found.by_print;
        let mut rulings = Rulings::of_rules(&plan.policy, found.hits, |ruling| match is_request {
            true => serving.face(&plan.policy, &subjects.caller, ruling, now),
            false => Some(ruling),
        });
        let (mut signals, mut watched) = (Signals::default(), None);
        if is_request {
            watched = serving.limit(plan, request, &mut subjects, &mut rulings, now);
            let answer = if rulings.refuse() { None } else { serving.answer(plan, &mut subjects, now) };
            if answer.is_some() {
                return Some(Decision { happens, rulings, answer, ..Decision::default() });
            }
            signals = serving.notice(plan, request, &mut subjects, !rulings.refuse(), now);
        }
        let noticed = Noticed::of(signals);
        let binding = Noticed::of(signals.only(|kind| plan.binds(kind)));
        serving.weigh(&plan.policy, [&binding, &noticed], &mut subjects, &mut rulings, now);
        let banned = serving.punish(&plan.policy, &binding, &mut subjects, &rulings, now);
        let suspect = serving.meet_suspect(&source, now);
        let watched = watched.filter(|_| !rulings.refuse());
        let score = binding.threat.score;
        let puzzle = rulings
            .enforced
            .filter(|_| is_request)
            .and_then(|ruling| serving.puzzle(&plan.policy, &ruling, score, &mut subjects, now));
        Some(Decision {
            happens,
            rulings,
            signals,
            threat: noticed.threat,
            binding: binding.threat,
            banned,
            lapsed,
            by_print,
            suspect,
            watched,
            puzzle,
            answer: None,
            client: if puzzle.is_some() { subjects.get(Keys::CLIENT) } else { None },
        })
    }

    /// Holds a request whose decision is to be held; `false`: there is no place, and it passes at once.
    pub fn hold(&mut self, id: InstanceId, stream: StreamId, now: Nanos) -> bool {
        let (now, _) = self.clock.read(now); // the decision's reading
        let settings = self.instance(id).map(|instance| instance.plan.policy.tarpit);
        let (Some(settings), Some(serving)) = (settings, &mut self.serving) else { return false };
        serving.tarpit.hold(&settings, stream, now)
    }

    /// A request that is held ends, because its caller has left.
    pub fn leave(&mut self, stream: StreamId) {
        if let Some(serving) = &mut self.serving {
            serving.tarpit.leave(stream);
        }
    }

    /// The next request that was held for long enough: the host lets it go on.
    pub fn due(&mut self) -> Option<StreamId> {
        let now = self.clock.last();
        self.serving.as_mut()?.tarpit.due(now)
    }

    /// A request has ended, so. The latest reading of the clock is recent enough: there is one with each tick.
    pub fn on_complete(&mut self, ticket: Ticket, outcome: &Outcome) {
        let Ticket(watched) = ticket;
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(watched) = watched.filter(|_| outcome.upstream_failed()) else { return };
        let now = self.clock.last();
        if let Some(serving) = &mut self.serving {
            serving.learn_failure(&watched, now);
        }
    }

    /// Exchanges with the other workers where that is due, every `exchange_ms`, and brings the numbers up to date. Comes
    /// as often as [`Plan::tick`] says, since requests that are held go on with it. Says whether it did exchange.
    pub fn on_tick(&mut self, now: Nanos) -> bool {
        let now = self.read_clock(now);
        let gauges = Gauges { in_flight: self.in_flight, ..Gauges::default() };
        let Some(serving) = self.serving.as_mut().filter(|serving| serving.exchange_is_due(now)) else {
            return false;
        };
        let age = now - serving.exchange.stats().last_exchange;
        self.metrics.set(Metric::ExchangeAge, age.as_millis());
        if serving.tick(gauges, now) {
            self.bind_instances();
        }
        self.measure();
        true
    }

    /// One reading of the clock. A clock that went far back makes all times that are kept meaningless.
    fn read_clock(&mut self, raw: Nanos) -> Nanos {
        let (now, step) = self.clock.read(raw);
        if step != Step::Forward {
            self.metrics.count(Metric::ClockSteps);
        }
        if step == Step::Reset {
            self.start_over(now);
        }
        now
    }

    /// The clock is another: no time that is kept means anything.
    fn start_over(&mut self, now: Nanos) {
        self.instances.iter_mut().flatten().for_each(|instance| instance.outbox.start_over(now));
        if let Some(connections) = &mut self.connections {
            connections.start_over();
        }
        if let Some(serving) = &mut self.serving {
            serving.clear();
            self.bind_instances();
        }
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
