//! A process of workers in virtual time, and flows of requests through it.

use weir::counters::ewma::Span;
use weir::detect::signal::Signals;
use weir::detect::surge::{Dimension, Judge, Settings, Sizes, Stats, Subjects, Surge};
use weir::hash::{Seed, SubjectHash, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

pub const SECOND: u64 = 1_000_000_000;

/// Seconds of a bucket.
pub const BUCKET: u64 = 10;

/// When all begins: on the edge of a bucket.
pub const START: u64 = 1_000_000 * SECOND;

/// Flows are looked at so often.
const STEP: u64 = SECOND / 100;

const SEED: Seed = Seed([7; 16]);

/// The defaults, but without deviations if `plain`.
pub fn settings(plain: bool) -> Settings {
    let judge = |floor_rps: f32, weight| Judge {
        factor: 3.0,
        deviations: if plain { 0.0 } else { 5.0 },
        floor: floor_rps * BUCKET as f32,
        weight,
        relearn_after: None,
    };
    let route = Judge { relearn_after: Some(360), ..judge(20.0, 40) };
    Settings {
        bucket: Nanos::from_secs(BUCKET),
        learning: Span::new(60),
        warmup: 6,
        dimensions: [Some(route), Some(judge(5.0, 40)), Some(judge(10.0, 40)), Some(judge(20.0, 30))],
        routes: Box::default(),
    }
}

/// The workers of one process.
pub struct Process {
    pub store: MemStore,
    pub workers: Vec<Surge<MemStore>>,
    pub settings: Settings,
    pub sizes: Sizes,
    /// Now, in ns.
    pub now: u64,
    due: Vec<u64>,
}

/// Which worker gets a flow's requests.
#[derive(Clone, Copy, Debug)]
pub enum Home {
    /// Any.
    Even,
    /// One at a time, another one after so many seconds.
    Moving(u64),
}

/// Somebody's requests, evenly spaced.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Route, source, consumer and network, by number.
    pub of: [Option<u64>; 4],
    pub per_second: f64,
    pub home: Home,
}

impl Flow {
    /// A client of one route.
    pub fn client(route: u64, source: u64, per_second: f64) -> Flow {
        Flow { of: [Some(route), Some(source), None, None], per_second, home: Home::Even }
    }

    /// Only a client: what it asks for is not looked at.
    pub fn source(source: u64, per_second: f64) -> Flow {
        Flow { of: [None, Some(source), None, None], per_second, home: Home::Even }
    }

    /// Only a route.
    pub fn route(route: u64, per_second: f64) -> Flow {
        Flow { of: [Some(route), None, None, None], per_second, home: Home::Even }
    }

    pub fn at(self, per_second: f64) -> Flow {
        Flow { per_second, ..self }
    }

    pub fn moving(self, seconds: u64) -> Flow {
        Flow { home: Home::Moving(seconds), ..self }
    }
}

/// What one request met.
pub struct Met {
    /// Which flow it is of.
    pub flow: usize,
    /// Seconds since [`START`].
    pub at: f64,
    pub signals: Signals,
}

impl Met {
    pub fn surges(&self, dimension: Dimension) -> bool {
        self.weight(dimension) > 0
    }

    /// The signal's weight; 0 without one.
    pub fn weight(&self, dimension: Dimension) -> u8 {
        self.signals.iter().find(|signal| signal.kind == dimension.kind()).map_or(0, |signal| signal.weight)
    }
}

impl Process {
    pub fn new(workers: usize) -> Process {
        Process::with(workers, settings(false), 4096)
    }

    pub fn with(workers: usize, settings: Settings, keys: u32) -> Process {
        let mut process = Process {
            store: MemStore::new(),
            workers: Vec::new(),
            settings,
            sizes: Sizes { keys, interval: Nanos::from_millis(200) },
            now: START,
            due: Vec::new(),
        };
        (0..workers).for_each(|_| process.join());
        process
    }

    /// One more worker.
    pub fn join(&mut self) {
        self.workers.push(self.fresh());
        self.due.push(self.now + mix(self.due.len() as u64) % self.sizes.interval.0);
    }

    /// A worker that remembers nothing.
    pub fn fresh(&self) -> Surge<MemStore> {
        Surge::new(self.store.clone(), self.sizes, self.settings.clone(), &SEED, 0)
    }

    /// One request at a worker, now.
    pub fn request(&mut self, worker: usize, of: [Option<u64>; 4], reaches: bool) -> Signals {
        let of = of.map(|subject| subject.map(|n| SubjectHash(mix(n))));
        let subjects = Subjects { of, route: None };
        self.workers[worker].observe(&self.settings, &subjects, reaches, Nanos(self.now))
    }

    /// Lets time pass, with all ticks.
    pub fn wait(&mut self, seconds: f64) {
        self.wait_until(self.now + (seconds * SECOND as f64) as u64);
    }

    fn wait_until(&mut self, then: u64) {
        while let Some((at, due)) =
            self.due.iter().copied().enumerate().min_by_key(|(_, due)| *due).filter(|(_, due)| *due <= then)
        {
            self.workers[at].tick(Nanos(due));
            self.due[at] = due + self.sizes.interval.0;
        }
        self.now = then;
    }

    /// Lets flows run for so long, and shows what each request met.
    pub fn run(&mut self, flows: &[Flow], seconds: u64, mut each: impl FnMut(Met)) {
        let begin = self.now;
        let mut credit: Vec<f64> = (0..flows.len()).map(|i| mix(i as u64) as f64 / u64::MAX as f64).collect();
        let mut dice = mix(begin);
        while self.now < begin + seconds * SECOND {
            for (flow, (what, credit)) in flows.iter().zip(&mut credit).enumerate() {
                *credit += what.per_second * STEP as f64 / SECOND as f64;
                while *credit >= 1.0 {
                    *credit -= 1.0;
                    dice = dice.wrapping_add(1);
                    let random = match what.home {
                        Home::Even => mix(dice),
                        Home::Moving(seconds) => mix(flow as u64 ^ (self.now / SECOND / seconds) << 20),
                    };
                    let worker = (random % self.workers.len() as u64) as usize;
                    let signals = self.request(worker, what.of, true);
                    each(Met { flow, at: (self.now - START) as f64 / SECOND as f64, signals });
                }
            }
            self.wait_until(self.now + STEP);
        }
    }

    /// Lets flows run, and counts the requests that met a signal.
    pub fn signals(&mut self, flows: &[Flow], seconds: u64) -> usize {
        let mut count = 0;
        self.run(flows, seconds, |met| count += usize::from(!met.signals.is_empty()));
        count
    }

    /// Everything together.
    pub fn surged(&self, dimension: Dimension) -> u64 {
        self.stats(|stats| stats.surged[dimension as usize])
    }

    pub fn stats(&self, of: impl Fn(&Stats) -> u64) -> u64 {
        self.workers.iter().map(|worker| of(&worker.stats())).sum()
    }
}
