//! Stories on fake time: a process of some workers, clients that call, and a clock that the story moves.
#![allow(dead_code)] // each test file uses its part
#![allow(clippy::panic, clippy::indexing_slicing, clippy::unwrap_used)] // a test fails by panicking

use weir::config;
use weir::config::plan::Plan;
use weir::connections::{ConnectionId, ContextId};
use weir::engine::{Decision, Engine, InstanceId};
use weir::exchange::Own;
use weir::policy::Action;
use weir::reply::Reply;
use weir::request::Request;
use weir::request::fault::Fault;
use weir::request::fingerprint::{Fingerprints, Layout};
use weir::request::headers::{Headers, Pairs};
use weir::request::outcome::Outcome;
use weir::shared::mem::MemStore;
use weir::telemetry::events::Event;
use weir::telemetry::metrics::Kind;
use weir::time::Nanos;

pub fn plan(json: &str) -> Plan {
    config::parse(json.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Milliseconds between two ticks of a worker, `workers.exchange_ms`'s default.
const TICK_MS: u64 = 200;

/// What an upstream that fails comes to.
pub const FAILED: Outcome =
    Outcome { status: Some(503), grpc_status: None, details: b"via_upstream", flags: 0 };

/// One Envoy process.
pub struct Process {
    store: MemStore,
    workers: Vec<Worker>,
    pub now: Nanos,
    metrics: Vec<(String, i64)>,
    /// Notices of bans get lost.
    pub deaf: bool,
    /// The number of every caller's network.
    pub network: Option<String>,
    /// Connections that were opened.
    pub connections: u64,
    /// What the upstream answers.
    pub status: u16,
    /// When the story's clock is at 0, in seconds since 1970.
    pub unix: u32,
}

struct Worker {
    engine: Engine<MemStore>,
    instance: InstanceId,
    next_tick: Nanos,
}

/// What a client got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    Pass,
    Refused(Action),
}

/// A decision, and the events that tell of it.
pub struct Told {
    pub decision: Decision,
    pub events: Vec<Event>,
    /// What the caller gets in place of its route's answer.
    pub reply: Option<Reply>,
}

/// One request of a story.
#[derive(Clone)]
pub struct Call<'a> {
    pub from: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    pub route: &'a str,
    pub headers: Vec<(&'a str, &'a [u8])>,
}

/// A plain `GET /` from an address.
pub fn get(from: &str) -> Call<'_> {
    Call { from, method: "GET", path: "/", route: "shop", headers: Vec::new() }
}

impl<'a> Call<'a> {
    pub fn path(self, path: &'a str) -> Self {
        Call { path, ..self }
    }

    pub fn route(self, route: &'a str) -> Self {
        Call { route, ..self }
    }

    pub fn header(mut self, name: &'a str, value: &'a str) -> Self {
        self.headers.push((name, value.as_bytes()));
        self
    }

    pub fn method(self, method: &'a str) -> Self {
        Call { method, ..self }
    }
}

impl Process {
    pub fn new(workers: usize, json: &str) -> Process {
        let mut process = Process {
            store: MemStore::default(),
            workers: Vec::new(),
            now: Nanos::from_secs(1000),
            metrics: Vec::new(),
            deaf: false,
            network: None,
            connections: 0,
            status: 200,
            unix: 1_790_000_000,
        };
        for index in 0..workers {
            process.workers.push(Process::worker(&process.store, index as u64, json, process.now));
        }
        process
    }

    fn worker(store: &MemStore, index: u64, json: &str, now: Nanos) -> Worker {
        let own = Own { seed: [index as u8 + 1; 16], nonce: index + 1 };
        let mut engine = Engine::new(store.clone(), own);
        let instance = engine.configure("weir", plan(json), now);
        // Workers don't tick in step.
        Worker { engine, instance, next_tick: now + Nanos::from_millis(TICK_MS + index * 37 % TICK_MS) }
    }

    /// Replaces one worker by a new VM with empty memory, as after a trap.
    pub fn restart_worker(&mut self, index: usize, json: &str) {
        self.workers[index] = Process::worker(&self.store, 100 + index as u64, json, self.now);
    }

    /// Lets time pass, with all the ticks that fall into it.
    pub fn wait(&mut self, span: Nanos) {
        let end = self.now + span;
        while let Some(worker) =
            self.workers.iter_mut().filter(|w| w.next_tick <= end).min_by_key(|w| w.next_tick)
        {
            let due = worker.next_tick;
            worker.engine.on_tick(due);
            worker.next_tick = due + Nanos::from_millis(TICK_MS);
            self.carry_notices(due);
        }
        self.now = end;
    }

    /// What the host's queues do: each worker's is its number, from 1 on.
    fn carry_notices(&mut self, now: Nanos) {
        let mut sent = Vec::new();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            worker.engine.set_queue(index as u32 + 1);
            worker.engine.notify(|queue, notice| sent.push((queue, *notice)));
        }
        for (queue, notice) in sent.into_iter().filter(|_| !self.deaf) {
            if let Some(worker) = self.workers.get_mut((queue as usize).wrapping_sub(1)) {
                worker.engine.hear(&notice, now);
            }
        }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// One worker's engine, for what a host does beside requests.
    pub fn engine(&mut self, worker: usize) -> &mut Engine<MemStore> {
        &mut self.workers[worker].engine
    }

    /// The filter that requests of one worker go through.
    pub fn instance(&self, worker: usize) -> InstanceId {
        self.workers[worker].instance
    }

    pub fn wait_ms(&mut self, ms: u64) {
        self.wait(Nanos::from_millis(ms));
    }

    /// Sets every worker's clock, back or forth.
    pub fn step_clock(&mut self, to: Nanos) {
        self.now = to;
        for worker in &mut self.workers {
            worker.next_tick = to;
        }
    }

    /// One request on one worker, from begin to end.
    pub fn call_on(&mut self, worker: usize, call: &Call) -> Got {
        match self.decide_on(worker, call).decision.action() {
            Some(action) if action.refuses() => Got::Refused(action),
            _ => Got::Pass,
        }
    }

    pub fn decide_on(&mut self, worker: usize, call: &Call) -> Told {
        let mut pairs = Pairs::default();
        pairs.push(":method", call.method.as_bytes());
        pairs.push(":authority", b"shop.example");
        pairs.push(":path", call.path.as_bytes());
        call.headers.iter().for_each(|(name, value)| pairs.push(name, value));
        let source = format!(
            "{}:4711",
            if call.from.contains(':') { format!("[{}]", call.from) } else { call.from.into() }
        );
        let network = self.network.clone();
        let request = Request {
            unix: Some(self.unix + (self.now.0 / 1_000_000_000) as u32),
            source: Some(source.as_bytes()),
            route: Some(call.route.as_bytes()),
            network: network.as_deref().map(str::as_bytes),
            fingerprints: Default::default(),
            headers: Headers::parse(pairs.encode()),
        };
        self.decide_raw(worker, &request)
    }

    /// One request from begin to end, and what was told of it.
    pub fn decide_raw(&mut self, worker: usize, request: &Request) -> Told {
        let now = self.now;
        let Worker { engine, instance, .. } = &mut self.workers[worker];
        let (decision, ticket) = engine.on_request(*instance, request, now);
        let is_told = decision.is_told();
        let events = if is_told { engine.report(*instance, &decision, request, now) } else { Vec::new() };
        let mut reply = Reply::default();
        let reply = engine.write_reply(*instance, &decision, request, &mut reply).then_some(reply);
        let outcome = Outcome { status: Some(self.status), details: b"via_upstream", ..Outcome::default() };
        engine.on_complete(ticket, &outcome);
        if decision.banned.is_some() {
            self.carry_notices(now);
        }
        Told { decision, events, reply }
    }

    /// One connection of `from` on one worker, before its handshake. It stays open.
    pub fn connect_on(&mut self, worker: usize, from: &str, print: Option<&str>) -> Told {
        let id = ConnectionId(self.connections);
        self.connections += 1;
        self.about(worker, from, print, |engine, instance, request, now| {
            engine.on_connection(instance, id, ContextId(id.0 as u32), request, now)
        })
    }

    /// A fault of `from` on one worker, over a connection of its own if it is given.
    pub fn fault_on(
        &mut self,
        worker: usize,
        fault: Fault,
        from: &str,
        connection: Option<u64>,
    ) -> Option<Told> {
        let mut charged = true;
        let told = self.about(worker, from, None, |engine, instance, request, now| {
            let decision = engine.on_fault(instance, fault, connection.map(ConnectionId), request, now);
            charged = decision.is_some();
            decision.unwrap_or_default()
        });
        charged.then_some(told)
    }

    /// What is decided about no request, with only an address and a fingerprint known, and what is told of it.
    fn about(
        &mut self,
        worker: usize,
        from: &str,
        print: Option<&str>,
        decide: impl FnOnce(&mut Engine<MemStore>, InstanceId, &Request, Nanos) -> Decision,
    ) -> Told {
        let now = self.now;
        let source = format!("{from}:4711");
        let mut fingerprints = Fingerprints::NONE;
        fingerprints.set(0, Layout::Opaque, print.unwrap_or_default().as_bytes());
        let source = Some(source.as_bytes());
        let request = Request { source, fingerprints: &fingerprints, ..Request::default() };
        let Worker { engine, instance, .. } = &mut self.workers[worker];
        let decision = decide(engine, *instance, &request, now);
        let is_told = decision.is_told();
        let events = if is_told { engine.report(*instance, &decision, &request, now) } else { Vec::new() };
        if decision.banned.is_some() {
            self.carry_notices(now);
        }
        Told { decision, events, reply: None }
    }

    /// One request, on the workers in turn.
    pub fn call(&mut self, call: &Call) -> Got {
        let worker = (self.now.0 / 1_000_003 % self.workers.len() as u64) as usize;
        self.call_on(worker, call)
    }

    /// How many of `n` requests at once pass, spread over the workers.
    pub fn passes(&mut self, n: usize, call: &Call) -> usize {
        let workers = self.workers.len();
        (0..n).filter(|i| self.call_on(i % workers, call) == Got::Pass).count()
    }

    /// How many pass of a steady stream of `per_second` for `seconds`, spread over the workers.
    pub fn stream(&mut self, per_second: u64, seconds: u64, call: &Call) -> usize {
        let workers = self.workers.len();
        let gap = Nanos(1_000_000_000 / per_second);
        (0..(per_second * seconds) as usize)
            .filter(|i| {
                self.wait(gap);
                self.call_on(i % workers, call) == Got::Pass
            })
            .count()
    }

    /// A reload, as each worker meets it.
    pub fn configure(&mut self, json: &str) {
        for worker in &mut self.workers {
            let before = worker.instance;
            worker.instance = worker.engine.configure("weir", plan(json), self.now);
            worker.engine.retire(before, self.now);
        }
    }

    /// Configures a filter of another name on the first worker and sends what follows through it. Gives back the
    /// one that was in use.
    pub fn use_filter(&mut self, name: &str, json: &str) -> InstanceId {
        let Worker { engine, instance, .. } = &mut self.workers[0];
        core::mem::replace(instance, engine.configure(name, plan(json), self.now))
    }

    /// Sends what follows through another filter of the first worker.
    pub fn switch_to(&mut self, filter: InstanceId) {
        self.workers[0].instance = filter;
    }

    /// Another configuration of the same filter in the first worker, which no request comes through.
    pub fn configure_beside(&mut self, json: &str) -> InstanceId {
        self.workers[0].engine.configure("weir", plan(json), self.now)
    }

    /// Ends a configuration of the first worker.
    pub fn retire(&mut self, instance: InstanceId) {
        self.workers[0].engine.retire(instance, self.now);
    }

    /// Ends a worker's configuration without another in its place, as when the module is replaced.
    pub fn retire_all_on(&mut self, worker: usize) {
        let Worker { engine, instance, .. } = &mut self.workers[worker];
        engine.retire(*instance, self.now);
    }

    /// How many of `n` requests at once pass on one worker.
    pub fn passes_on(&mut self, worker: usize, n: usize, call: &Call) -> usize {
        (0..n).filter(|_| self.call_on(worker, call) == Got::Pass).count()
    }

    /// The sum of a series over all workers.
    pub fn metric(&mut self, name: &str) -> i64 {
        for worker in &mut self.workers {
            worker.engine.on_tick(self.now);
            worker.engine.metrics.flush(|_, name, _: Kind, difference| {
                match self.metrics.iter_mut().find(|(known, _)| known == name) {
                    Some((_, value)) => *value += difference,
                    None => self.metrics.push((name.to_owned(), difference)),
                }
                true
            });
        }
        self.metrics.iter().find(|(known, _)| known == name).map_or(0, |&(_, value)| value)
    }
}
