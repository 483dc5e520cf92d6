//! The run: callers, one proxy with its guard, upstreams, and a clock that jumps from event to event.
//!
//! Same scenario, same guard: same numbers. The guard changes nothing about who calls when, so guards are compared on
//! the same calls.

use crate::clients::{Attack, Call, Clients, Crowd, Who};
use crate::guard::{End, Guard, Release, Verdict};
use crate::report::{Fate, Report, Window};
use crate::rng::Rng;
use crate::upstream::{Id, Site, Step, Upstream};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use weir::time::Nanos;

/// Everything about a run but its guard.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    /// Ordinary callers.
    pub crowds: Vec<Crowd>,
    pub attack: Option<Attack>,
    pub upstreams: Vec<Site>,
    pub workers: usize,
    /// What the proxy's event loops need for a request, where that matters.
    pub costs: Option<Costs>,
    /// Share of refused ordinary callers who try once more.
    pub retries: f64,
    pub gives_up: GivesUp,
    /// The rating of every attacker by an external classifier, and from when on.
    pub rated: Option<(u8, f64)>,
    /// What is looked at, in seconds of the run.
    pub window: Window,
    /// Weir's configuration.
    pub config: String,
}

/// Who loses patience with an answer that has not begun after [`PATIENCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivesUp {
    Client,
    /// A route timeout, answered with 504.
    Proxy,
}

/// Seconds of an event loop.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub forwarded: f64,
    pub refused: f64,
    pub answered: f64,
    pub tick: f64,
}

const PATIENCE: Nanos = Nanos::from_secs(5);
const TICK: Nanos = Nanos::from_millis(50);

/// After its window a run goes on for as long as an answer can still be good.
const AFTERWARDS: Nanos = Nanos::from_secs(3);

/// Runs it.
pub fn run(scenario: &Scenario, guard: &mut dyn Guard) -> Report {
    let mut world = World::new(scenario, guard);
    world.go();
    let unreachable = world.guard.unreachable();
    world.report.unreachable = unreachable;
    world.report
}

struct World<'a> {
    scenario: &'a Scenario,
    guard: &'a mut dyn Guard,
    clients: Clients,
    upstreams: Vec<Upstream>,
    loops: Vec<Loop>,
    /// For what depends on the guard.
    rng: Rng,
    now: Nanos,
    end: Nanos,
    heap: BinaryHeap<Reverse<(Nanos, u32, Event)>>,
    order: u32,
    /// All wait for the same time, so they come up in order.
    patience: VecDeque<(Nanos, Id, u32)>,
    requests: Vec<Request>,
    free: Vec<Id>,
    begun: u32,
    rated: Vec<bool>,
    report: Report,
    calls: Vec<(f64, Call)>,
    steps: Vec<(Nanos, Step)>,
    released: Vec<Release>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Act(u32),
    /// A request comes to its worker.
    Arrive(Id),
    Upstream(u8, Step),
    /// The upstream's word comes to the request's worker, with its number, as the request may be over.
    Answered(Id, u32, u16),
    Ended(Id, u32, u16),
    Tick(u8),
    /// A worker's event loop can take up the next thing.
    Idle(u8),
}

/// What a worker does, one thing after the other.
#[derive(Clone, Copy)]
enum Job {
    Arrive(Id, u32),
    Answered(Id, u32, u16),
    Ended(Id, u32, u16),
    Tick,
}

#[derive(Default)]
struct Loop {
    busy: bool,
    jobs: VecDeque<Job>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// On its way to the proxy, or in the queue of an event loop.
    Coming,
    Held,
    Forwarded,
    Answered,
    /// Nobody waits for it any more. The upstream may still work on it.
    Over,
}

struct Request {
    call: Call,
    /// Which of all requests that had this place.
    serial: u32,
    sent: Nanos,
    state: State,
    at_upstream: bool,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, guard: &'a mut dyn Guard) -> World<'a> {
        let Scenario { seed, crowds, attack, upstreams, workers, window, .. } = scenario;
        let (clients, first) = Clients::new(*seed, crowds, *attack, *workers);
        let mut world = World {
            scenario,
            guard,
            clients,
            upstreams: upstreams.iter().cloned().map(Upstream::new).collect(),
            loops: (0..*workers).map(|_| Loop::default()).collect(),
            rng: Rng::new(*seed, 2),
            now: Nanos::ZERO,
            end: Nanos::from_secs_f64(window.until),
            heap: BinaryHeap::new(),
            order: 0,
            patience: VecDeque::new(),
            requests: Vec::new(),
            free: Vec::new(),
            begun: 0,
            rated: Vec::new(),
            report: Report::new(
                *window,
                1 + crowds.iter().map(|crowd| usize::from(crowd.site)).max().unwrap_or(0),
            ),
            calls: Vec::new(),
            steps: Vec::new(),
            released: Vec::new(),
        };
        for (at, who) in first {
            world.push(at, Event::Act(who));
        }
        // Workers don't tick in step.
        for worker in 0..*workers {
            world.push(Nanos(TICK.0 * worker as u64 / *workers as u64), Event::Tick(worker as u8));
        }
        world
    }

    fn go(&mut self) {
        let end = self.end + AFTERWARDS;
        loop {
            let due = self.heap.peek().map(|Reverse((at, ..))| *at);
            match (self.patience.front(), due) {
                (Some(&(at, id, serial)), due) if due.is_none_or(|due| at <= due) => {
                    self.now = at;
                    self.patience.pop_front();
                    self.lose_patience(id, serial);
                }
                (_, Some(at)) if at <= end => {
                    self.now = at;
                    let Some(Reverse((.., event))) = self.heap.pop() else { return };
                    self.happen(event);
                }
                _ => return,
            }
        }
    }

    fn push(&mut self, at: Nanos, event: Event) {
        self.order += 1;
        self.heap.push(Reverse((at, self.order, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Act(who) => self.act(who),
            Event::Arrive(id) => self.send(id),
            Event::Upstream(at, step) => self.upstream(at, step),
            Event::Answered(id, serial, status) => {
                self.queue(self.worker_of(id), Job::Answered(id, serial, status));
            }
            Event::Ended(id, serial, status) => {
                self.queue(self.worker_of(id), Job::Ended(id, serial, status))
            }
            Event::Tick(worker) => self.queue(worker.into(), Job::Tick),
            Event::Idle(worker) => self.next(worker.into()),
        }
    }

    fn act(&mut self, who: u32) {
        let mut calls = core::mem::take(&mut self.calls);
        let again = self.clients.act(who, self.now, &mut calls);
        for (wait, call) in calls.drain(..) {
            let id = self.place(call);
            self.push(self.now + Nanos::from_secs_f64(wait), Event::Arrive(id));
        }
        self.calls = calls;
        if let Some(at) = again.filter(|at| *at < self.end) {
            self.push(at, Event::Act(who));
        }
    }

    fn place(&mut self, call: Call) -> Id {
        self.begun += 1;
        let request =
            Request { call, serial: self.begun, sent: self.now, state: State::Coming, at_upstream: false };
        match self.free.pop() {
            Some(id) => {
                self.requests[id as usize] = request;
                id
            }
            None => {
                self.requests.push(request);
                self.requests.len() as Id - 1
            }
        }
    }

    /// A client sends its request, and begins to wait.
    fn send(&mut self, id: Id) {
        let request = &mut self.requests[id as usize];
        request.sent = self.now;
        let (call, serial) = (request.call, request.serial);
        self.report.offer(&call, self.now);
        self.patience.push_back((self.now + PATIENCE, id, serial));
        self.queue(call.worker.into(), Job::Arrive(id, serial));
    }

    fn worker_of(&self, id: Id) -> usize {
        self.requests[id as usize].call.worker.into()
    }

    /// Without costs, event loops are never busy.
    fn queue(&mut self, worker: usize, job: Job) {
        if self.scenario.costs.is_none() {
            self.work(worker, job);
        } else if self.loops[worker].busy {
            self.loops[worker].jobs.push_back(job);
        } else {
            self.spend(worker, job);
        }
    }

    fn next(&mut self, worker: usize) {
        self.loops[worker].busy = false;
        if let Some(job) = self.loops[worker].jobs.pop_front() {
            self.spend(worker, job);
        }
    }

    fn spend(&mut self, worker: usize, job: Job) {
        let cost = self.work(worker, job);
        self.loops[worker].busy = true;
        self.push(self.now + Nanos::from_secs_f64(cost), Event::Idle(worker as u8));
    }

    /// Does it, and says what that took.
    fn work(&mut self, worker: usize, job: Job) -> f64 {
        let zero = Costs { forwarded: 0.0, refused: 0.0, answered: 0.0, tick: 0.0 };
        let costs = self.scenario.costs.unwrap_or(zero);
        match job {
            Job::Arrive(id, serial) => match self.arrive(id, serial) {
                Some(Verdict::Pass | Verdict::Hold) => costs.forwarded,
                Some(Verdict::Refuse) | None => costs.refused,
            },
            Job::Answered(id, serial, status) => {
                self.answered(id, serial, status);
                costs.answered
            }
            Job::Ended(id, serial, status) => {
                if self.waits(id, serial) {
                    self.finish(id, End::Answered(status));
                }
                0.0
            }
            Job::Tick => {
                self.tick(worker);
                costs.tick
            }
        }
    }

    fn waits(&self, id: Id, serial: u32) -> bool {
        let request = &self.requests[id as usize];
        request.serial == serial && request.state != State::Over
    }

    fn arrive(&mut self, id: Id, serial: u32) -> Option<Verdict> {
        if !self.waits(id, serial) {
            return None;
        }
        let call = self.requests[id as usize].call;
        self.rate(&call);
        let verdict = self.guard.arrive(id, &call, self.now);
        match verdict {
            Verdict::Pass => self.forward(id),
            Verdict::Hold => {
                self.report.hold(&call, self.now);
                self.requests[id as usize].state = State::Held;
            }
            Verdict::Refuse => self.finish(id, End::Refused),
        }
        Some(verdict)
    }

    /// Tells the guard what an external classifier thinks of a client, once.
    fn rate(&mut self, call: &Call) {
        let Some((qos, _)) = self.scenario.rated.filter(|&(_, from)| self.now >= Nanos::from_secs_f64(from))
        else {
            return;
        };
        if call.who == Who::Ordinary {
            return;
        }
        let client = call.client as usize;
        if client >= self.rated.len() {
            self.rated.resize(client + 1, false);
        }
        if !core::mem::replace(&mut self.rated[client], true) {
            self.guard.classify(call.client, qos, self.now);
        }
    }

    fn forward(&mut self, id: Id) {
        let request = &mut self.requests[id as usize];
        request.state = State::Forwarded;
        request.at_upstream = true;
        let call = request.call;
        self.report.forward(&call, self.now);
        self.with_upstream(call.upstream.into(), |upstream, now, steps| {
            upstream.accept(id, call.work, now, steps)
        });
    }

    fn with_upstream(&mut self, at: usize, act: impl FnOnce(&mut Upstream, Nanos, &mut Vec<(Nanos, Step)>)) {
        let mut steps = core::mem::take(&mut self.steps);
        act(&mut self.upstreams[at], self.now, &mut steps);
        for (due, step) in steps.drain(..) {
            self.push(due, Event::Upstream(at as u8, step));
        }
        self.steps = steps;
    }

    fn upstream(&mut self, at: u8, step: Step) {
        let index = usize::from(at);
        let delay = self.upstreams[index].delay(self.now);
        match step {
            Step::Headers(id) => {
                let serial = self.requests[id as usize].serial;
                self.after(delay, Event::Answered(id, serial, 200));
            }
            Step::End(id) => {
                self.leave_upstream(id, 200, delay);
                self.with_upstream(index, Upstream::release);
            }
            Step::Error(id) => {
                let serial = self.requests[id as usize].serial;
                self.after(delay, Event::Answered(id, serial, 503));
                self.leave_upstream(id, 503, delay);
            }
            Step::Shared(turn) => {
                self.with_upstream(index, |upstream, now, steps| upstream.shared(turn, now, steps));
            }
        }
    }

    fn leave_upstream(&mut self, id: Id, status: u16, delay: Nanos) {
        let request = &mut self.requests[id as usize];
        request.at_upstream = false;
        let (serial, state) = (request.serial, request.state);
        match state {
            State::Over => self.free.push(id),
            _ => self.after(delay, Event::Ended(id, serial, status)),
        }
    }

    /// At once, where that is so: the heap is for what has to wait.
    fn after(&mut self, delay: Nanos, event: Event) {
        match delay {
            Nanos::ZERO => self.happen(event),
            _ => self.push(self.now + delay, event),
        }
    }

    fn answered(&mut self, id: Id, serial: u32, status: u16) {
        if !self.waits(id, serial) {
            return;
        }
        let request = &mut self.requests[id as usize];
        request.state = State::Answered;
        let (call, sent) = (request.call, request.sent);
        self.guard.answer(id, &call, status, self.now);
        let fate = if status >= 500 { Fate::Failed } else { Fate::Answered(self.now - sent) };
        self.report.end(&call, sent, fate);
    }

    fn lose_patience(&mut self, id: Id, serial: u32) {
        // A body that comes is waited for.
        if !self.waits(id, serial) || self.requests[id as usize].state == State::Answered {
            return;
        }
        let end = match self.scenario.gives_up {
            GivesUp::Client => End::Left,
            GivesUp::Proxy => End::Expired,
        };
        self.finish(id, end);
    }

    /// Nobody waits for this request any more.
    fn finish(&mut self, id: Id, end: End) {
        let request = &mut self.requests[id as usize];
        let (call, sent, before, ended) = (request.call, request.sent, request.state, !request.at_upstream);
        request.state = State::Over;
        match end {
            End::Answered(_) => {}
            End::Refused if self.tries_again(&call) => {}
            End::Refused => self.report.end(&call, sent, Fate::Refused),
            End::Left | End::Expired => self.report.end(&call, sent, Fate::Failed),
        }
        // A request that no event loop has taken up is none for the guard.
        if before != State::Coming || end == End::Refused {
            self.guard.complete(id, &call, end, self.now);
        }
        if ended {
            self.free.push(id);
        }
    }

    fn tries_again(&mut self, call: &Call) -> bool {
        let again = call.who == Who::Ordinary && !call.again && self.scenario.retries > 0.0;
        if !again || !self.rng.chance(self.scenario.retries) {
            return false;
        }
        let wait = 0.5 + self.rng.unit();
        let id = self.place(Call { again: true, ..*call });
        self.push(self.now + Nanos::from_secs_f64(wait), Event::Arrive(id));
        true
    }

    fn tick(&mut self, worker: usize) {
        let mut released = core::mem::take(&mut self.released);
        self.guard.tick(worker, self.now, &mut released);
        for release in released.drain(..) {
            match release {
                Release::Pass(id) => self.forward(id),
                Release::Refuse(id) => self.finish(id, End::Refused),
            }
        }
        self.released = released;
        if worker == 0 {
            self.report.watch(&self.guard.standing(), self.now);
        }
        // The next one is armed when this one is done.
        self.push(self.now + TICK, Event::Tick(worker as u8));
    }
}
