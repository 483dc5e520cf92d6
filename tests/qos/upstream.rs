//! What is behind the proxy: servers that serve one request each, or that all requests share; slow, dead or far away at times.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use weir::time::Nanos;

/// Names a request in the world.
pub type Id = u32;

/// From when until when, in seconds of the run.
#[derive(Clone, Copy, Debug)]
pub struct During(pub f64, pub f64);

impl During {
    fn covers(self, now: f64) -> bool {
        (self.0..self.1).contains(&now)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// As many requests at once as there are servers, the others wait in order.
    Fifo,
    /// All at once, each the slower the more there are.
    Sharing,
}

/// What goes wrong with it. Drift and hang are known to servers in order only: no situation has them where servers are shared.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// All work takes longer, up to so many times as long at the end of that time, and stays so.
    Drift(During, f64),
    /// Every request is answered with 503 at once.
    Errors(During),
    /// Nothing gets done, nothing is refused.
    Hang(During),
    /// Answers take so many seconds longer, at no cost to the servers.
    Delay(During, f64),
}

/// The settings of one.
#[derive(Clone, Debug)]
pub struct Site {
    pub servers: usize,
    pub discipline: Discipline,
    pub troubles: Vec<Trouble>,
}

/// What a request costs: seconds until its headers are out, and seconds that its body keeps the server.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub head: f64,
    pub body: f64,
}

/// What is to happen, for the world to carry back when it is time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The headers of a request's answer leave.
    Headers(Id),
    /// Its last byte does. The next request may begin.
    End(Id),
    /// An answer that no server was needed for.
    Error(Id),
    /// Look again: valid while nothing has changed since.
    Shared(u32),
}

/// Its state. Whoever gave up waiting is served all the same: no server knows that a client has left.
pub struct Upstream {
    site: Site,
    idle: usize,
    queue: VecDeque<(Id, Work)>,
    sharing: Sharing,
}

/// Processor sharing in virtual time: `served` seconds of work that each request has got since the beginning.
#[derive(Default)]
struct Sharing {
    jobs: usize,
    served: f64,
    at: f64,
    due: BinaryHeap<Reverse<(Nanos, Phase, Id)>>,
    turn: u32,
}

/// What of a request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Head,
    Body,
}

impl Upstream {
    pub fn new(site: Site) -> Upstream {
        Upstream { idle: site.servers, site, queue: VecDeque::new(), sharing: Sharing::default() }
    }

    /// How much longer an answer is under way that leaves now.
    pub fn delay(&self, now: Nanos) -> Nanos {
        let now = now.as_secs_f64();
        let delays = self.site.troubles.iter().filter_map(|trouble| match *trouble {
            Trouble::Delay(during, by) if during.covers(now) => Some(by),
            _ => None,
        });
        Nanos::from_secs_f64(delays.sum())
    }

    /// A request comes.
    pub fn accept(&mut self, id: Id, work: Work, now: Nanos, steps: &mut Vec<(Nanos, Step)>) {
        let at = now.as_secs_f64();
        if self.site.troubles.iter().any(|trouble| matches!(trouble, Trouble::Errors(d) if d.covers(at))) {
            steps.push((now + Nanos::from_millis(1), Step::Error(id)));
            return;
        }
        match self.site.discipline {
            Discipline::Sharing => {
                self.sharing.advance(self.site.servers, at);
                self.sharing.enter(id, work);
                self.sharing.plan(self.site.servers, now, steps);
            }
            Discipline::Fifo if self.idle > 0 => {
                self.idle -= 1;
                self.begin(id, work, now, steps);
            }
            Discipline::Fifo => self.queue.push_back((id, work)),
        }
    }

    /// A request's last byte has left.
    pub fn release(&mut self, now: Nanos, steps: &mut Vec<(Nanos, Step)>) {
        if self.site.discipline == Discipline::Sharing {
            return;
        }
        match self.queue.pop_front() {
            Some((id, work)) => self.begin(id, work, now, steps),
            None => self.idle += 1,
        }
    }

    /// What is shared has come so far that something may be done.
    pub fn shared(&mut self, turn: u32, now: Nanos, steps: &mut Vec<(Nanos, Step)>) {
        if turn == self.sharing.turn {
            self.sharing.advance(self.site.servers, now.as_secs_f64());
            self.sharing.finish(now, steps);
            self.sharing.plan(self.site.servers, now, steps);
        }
    }

    fn begin(&mut self, id: Id, work: Work, now: Nanos, steps: &mut Vec<(Nanos, Step)>) {
        let head = self.finish(now.as_secs_f64(), work.head);
        let end = if work.body > 0.0 { self.finish(head, work.body) } else { head };
        steps.push((Nanos::from_secs_f64(head), Step::Headers(id)));
        steps.push((Nanos::from_secs_f64(end), Step::End(id)));
    }

    /// When work is done that begins now. Troubles are known beforehand: no plan has to be changed later.
    fn finish(&self, now: f64, work: f64) -> f64 {
        let mut end = now + work;
        for trouble in &self.site.troubles {
            match *trouble {
                Trouble::Drift(During(from, until), factor) => {
                    let progress = ((now - from) / (until - from)).clamp(0.0, 1.0);
                    end = now + (end - now) * (1.0 + (factor - 1.0) * progress);
                }
                Trouble::Hang(During(from, until)) if now < until && end > from => {
                    end += until - now.max(from)
                }
                _ => {}
            }
        }
        end
    }
}

impl Sharing {
    fn rate(&self, servers: usize) -> f64 {
        if self.jobs <= servers { 1.0 } else { servers as f64 / self.jobs as f64 }
    }

    fn advance(&mut self, servers: usize, at: f64) {
        self.served += (at - self.at) * self.rate(servers);
        self.at = at;
    }

    fn enter(&mut self, id: Id, work: Work) {
        self.jobs += 1;
        self.due.push(Reverse((Nanos::from_secs_f64(self.served + work.head), Phase::Head, id)));
        self.due.push(Reverse((Nanos::from_secs_f64(self.served + work.head + work.body), Phase::Body, id)));
    }

    fn finish(&mut self, now: Nanos, steps: &mut Vec<(Nanos, Step)>) {
        // A nanosecond of slack: what was planned for now is done now.
        let done = Nanos::from_secs_f64(self.served) + Nanos(1);
        while let Some(&Reverse((due, phase, id))) = self.due.peek() {
            if due > done {
                break;
            }
            self.due.pop();
            match phase {
                Phase::Head => steps.push((now, Step::Headers(id))),
                Phase::Body => {
                    self.jobs -= 1;
                    steps.push((now, Step::End(id)));
                }
            }
        }
    }

    fn plan(&mut self, servers: usize, now: Nanos, steps: &mut Vec<(Nanos, Step)>) {
        self.turn = self.turn.wrapping_add(1);
        if let Some(Reverse((due, ..))) = self.due.peek() {
            let left = (due.as_secs_f64() - self.served).max(0.0) / self.rate(servers);
            steps.push((now + Nanos::from_secs_f64(left) + Nanos(1), Step::Shared(self.turn)));
        }
    }
}
