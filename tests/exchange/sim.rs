//! A process of workers in virtual time, and an ideal bucket beside it on the same arrivals.

use weir::counters::bucket::{Charge, Meter, Quota, Verdict};
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::{Family, Key, SubjectHash, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

pub const SECOND: u64 = 1_000_000_000;
pub const MILLI: u64 = 1_000_000;

/// When arrivals begin: after the workers have found out how many they are.
pub const START: u64 = 1_006 * SECOND;

/// A limit of `rate` per second, which charges what it admits.
pub fn per_second(rate: u32, burst: u32) -> Quota {
    Quota { interval: Nanos(SECOND / u64::from(rate)), burst, charge: Charge::Admitted }
}

/// Random numbers that are the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(mix(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Uniform in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// How a client's requests reach the workers.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    Even,
    Zipf,
    One,
    /// One worker at a time, another after so many ms.
    Moving(u64),
}

pub const SPREADS: [Spread; 5] =
    [Spread::Even, Spread::Zipf, Spread::One, Spread::Moving(500), Spread::Moving(50)];

impl Spread {
    fn worker(self, workers: usize, now: u64, dice: &mut Dice) -> usize {
        match self {
            Spread::Even => dice.below(workers as u64) as usize,
            Spread::Zipf => zipf(workers, dice),
            Spread::One => 0,
            Spread::Moving(ms) => (mix(now / (ms * MILLI)) % workers as u64) as usize,
        }
    }
}

/// Worker `i` with a weight of (i + 1)^-1.5.
fn zipf(workers: usize, dice: &mut Dice) -> usize {
    let weight = |i: usize| ((i + 1) as f64).powf(-1.5);
    let mut left = dice.unit() * (0..workers).map(weight).sum::<f64>();
    (0..workers - 1)
        .find(|&i| {
            left -= weight(i);
            left <= 0.0
        })
        .unwrap_or(workers - 1)
}

/// When a client's requests come, in ns from the start.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// Evenly spaced, so many per second.
    Regular(u32),
    /// At random, so many per second.
    Poisson(u32),
    /// So many at once, once a second.
    Bursts(u32),
}

impl Arrivals {
    pub fn over(self, seconds: u64, dice: &mut Dice) -> Vec<u64> {
        let end = seconds * SECOND;
        match self {
            Arrivals::Regular(rate) => {
                (0..seconds * u64::from(rate)).map(|i| i * SECOND / u64::from(rate)).collect()
            }
            Arrivals::Bursts(size) => (0..seconds * u64::from(size))
                .map(|i| i / u64::from(size) * SECOND + i % u64::from(size) * 1000)
                .collect(),
            Arrivals::Poisson(rate) => {
                let mut at = 0;
                core::iter::from_fn(|| {
                    at += (-dice.unit().ln() / f64::from(rate) * SECOND as f64) as u64;
                    (at < end).then_some(at)
                })
                .collect()
            }
        }
    }
}

/// How ticks go wrong, in percent of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    /// Up to a second late.
    pub late: u64,
    /// Left out.
    pub missed: u64,
}

/// The workers of one process.
pub struct Process {
    pub store: MemStore,
    pub workers: Vec<Exchange<MemStore>>,
    pub settings: Settings,
    pub ticks: Ticks,
    due: Vec<u64>,
    dice: Dice,
    nonce: u64,
}

impl Process {
    /// So many workers, which have been there for six seconds at [`START`].
    pub fn new(workers: usize) -> Process {
        Process::with_interval(workers, 200 * MILLI)
    }

    pub fn with_interval(workers: usize, interval: u64) -> Process {
        let mut process = Process::joining(workers, interval, START - 6 * SECOND);
        process.run_until(START);
        process
    }

    /// So many workers, all of which serve their first request at `now`.
    pub fn starting(workers: usize, now: u64) -> Process {
        Process::joining(workers, 200 * MILLI, now)
    }

    fn joining(workers: usize, interval: u64, now: u64) -> Process {
        let settings = Settings { slots: 4096, sketch_buckets: 512, interval: Nanos(interval) };
        let mut process = Process {
            store: MemStore::new(),
            workers: Vec::new(),
            settings,
            ticks: Ticks::default(),
            due: Vec::new(),
            dice: Dice::new(workers as u64),
            nonce: 0,
        };
        for _ in 0..workers {
            process.join(now);
        }
        process
    }

    /// One more worker.
    pub fn join(&mut self, now: u64) {
        let worker = self.fresh(now);
        self.workers.push(worker);
        self.due.push(now + self.dice.below(self.settings.interval.0));
    }

    /// Worker `at` is replaced by one that remembers nothing.
    pub fn reload(&mut self, at: usize, now: u64) {
        self.workers[at] = self.fresh(now);
    }

    /// All ticks that are due before `now`, in their order.
    pub fn run_until(&mut self, now: u64) {
        while let Some((at, due)) =
            self.due.iter().copied().enumerate().min_by_key(|(_, due)| *due).filter(|(_, due)| *due <= now)
        {
            if self.dice.below(100) >= self.ticks.missed {
                self.workers[at].tick(Nanos(due), Gauges::default());
            }
            // Clocks drift by half a percent.
            let interval = self.settings.interval.0;
            let late = if self.dice.below(100) < self.ticks.late { self.dice.below(SECOND) } else { 0 };
            self.due[at] = due + interval * 995 / 1000 + self.dice.below(interval / 100) + late;
        }
    }

    /// One request of a client at one worker.
    pub fn charge(&mut self, worker: usize, client: u64, quota: &Quota, now: u64) -> Verdict {
        self.run_until(now);
        let key = key(&self.workers[worker], client);
        self.workers[worker].charge(key, quota, Nanos(now))
    }

    fn fresh(&mut self, now: u64) -> Exchange<MemStore> {
        self.nonce += 1;
        let own = Own { seed: [self.nonce as u8; 16], nonce: mix(self.nonce) };
        Exchange::new(self.store.clone(), self.settings, own, Nanos(now))
    }
}

/// The key of a client under the seed that a worker uses.
pub fn key(worker: &Exchange<MemStore>, client: u64) -> Key {
    let (seed, epoch) = worker.seed();
    Family::new(&seed, epoch, "requests", "rule").key(SubjectHash(mix(client)))
}

/// An ideal process-wide bucket on the same arrivals, and the true one that only what was admitted fills.
pub struct Account {
    quota: Quota,
    ideal: Nanos,
    truth: Nanos,
    admitted: Vec<u64>,
    pub offered: u64,
    pub ideal_admitted: u64,
    /// Refusals that the ideal bucket would not have made.
    pub false_refusals: u64,
    deepest: f64,
}

impl Account {
    pub fn new(quota: Quota) -> Account {
        let zero = Nanos::ZERO;
        Account {
            quota,
            ideal: zero,
            truth: zero,
            admitted: Vec::new(),
            offered: 0,
            ideal_admitted: 0,
            false_refusals: 0,
            deepest: 0.0,
        }
    }

    pub fn record(&mut self, verdict: Verdict, now: u64) {
        let quota = self.quota;
        let at = Nanos(now);
        let ideal = quota.admits(self.ideal, at);
        self.ideal = quota.after(self.ideal, ideal, at);
        self.offered += 1;
        self.ideal_admitted += u64::from(ideal);
        if verdict != Verdict::Admit {
            self.false_refusals += u64::from(ideal);
            return;
        }
        self.admitted.push(now);
        self.truth = self.truth.max(at) + quota.interval;
        let debt = self.truth - (at + quota.capacity());
        self.deepest = self.deepest.max(debt.0 as f64 / quota.capacity().0 as f64);
    }

    pub fn total(&self) -> u64 {
        self.admitted.len() as u64
    }

    /// Admitted between two seconds after [`START`].
    pub fn between(&self, from: u64, to: u64) -> u64 {
        let (from, to) = (START + from * SECOND, START + to * SECOND);
        self.admitted.iter().filter(|at| (from..to).contains(at)).count() as u64
    }

    /// The rate from second 1 to `end`, as a share of the limit.
    pub fn mean(&self, end: u64) -> f64 {
        self.between(1, end) as f64 / ((end - 1) as f64 * SECOND as f64 / self.quota.interval.0 as f64)
    }

    /// The fullest second that begins after the first, as a share of the limit.
    pub fn worst_second(&self) -> f64 {
        let late: Vec<u64> = self.admitted.iter().copied().filter(|at| *at >= START + SECOND).collect();
        let fullest =
            late.iter().enumerate().map(|(i, at)| late[i..].partition_point(|other| *other < at + SECOND));
        fullest.max().unwrap_or(0) as f64 * self.quota.interval.0 as f64 / SECOND as f64
    }

    /// The deepest debt of the true bucket, as a share of the burst.
    pub fn excess(&self) -> f64 {
        self.deepest
    }
}

/// One client with its arrivals, for `seconds`.
pub fn run(process: &mut Process, quota: Quota, arrivals: Arrivals, spread: Spread, seconds: u64) -> Account {
    let mut dice = Dice::new(7);
    let mut account = Account::new(quota);
    for at in arrivals.over(seconds, &mut dice) {
        let now = START + at;
        let worker = spread.worker(process.workers.len(), now, &mut dice);
        account.record(process.charge(worker, 1, &quota, now), now);
    }
    account
}
