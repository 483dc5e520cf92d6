//! What else may stand in front of an upstream: nothing, a rate limit for each client, a limit of concurrency that adapts.

use crate::clients::Call;
use crate::guard::{End, Guard, Verdict};
use crate::upstream::Id;
use weir::time::Nanos;

/// Nothing.
pub struct Open;

impl Guard for Open {
    fn arrive(&mut self, _: Id, _: &Call, _: Nanos) -> Verdict {
        Verdict::Pass
    }
}

/// Ten requests a second for each client, ten at once.
#[derive(Default)]
pub struct Static {
    /// By client: what is left, and when that was.
    buckets: Vec<(f64, Nanos)>,
}

impl Static {
    const RATE: f64 = 10.0;
    const BURST: f64 = 10.0;
}

impl Guard for Static {
    fn arrive(&mut self, _: Id, call: &Call, now: Nanos) -> Verdict {
        let client = call.client as usize;
        if client >= self.buckets.len() {
            self.buckets.resize(client + 1, (Static::BURST, Nanos::ZERO));
        }
        let (tokens, at) = &mut self.buckets[client];
        *tokens = (*tokens + (now - *at).as_secs_f64() * Static::RATE).min(Static::BURST);
        *at = now;
        if *tokens < 1.0 {
            return Verdict::Refuse;
        }
        *tokens -= 1.0;
        Verdict::Pass
    }
}

/// A limit of concurrency for each upstream.
#[derive(Default)]
pub struct Gradients {
    limits: Vec<Gradient>,
    /// When each request was forwarded, by its number.
    since: Vec<Nanos>,
}

/// Gradient2 of Netflix's concurrency-limits, fed with the mean latency of each second: while that exceeds its long-term
/// mean by more than half the limit shrinks in proportion, otherwise it grows by room for a queue of four.
struct Gradient {
    limit: f64,
    in_flight: u32,
    /// In this second.
    most: u32,
    window_ends: Nanos,
    sum: f64,
    samples: u32,
    long: f64,
    windows: u32,
}

impl Gradient {
    const TOLERANCE: f64 = 1.5;
    const SMOOTHING: f64 = 0.2;
    const QUEUE: f64 = 4.0;
    const LEAST: f64 = 20.0;
    const MOST: f64 = 200.0;
    const WINDOW: Nanos = Nanos::from_secs(1);
    /// Fewer samples say nothing: the window goes on.
    const SAMPLES: u32 = 10;
    /// Windows of the long-term mean, the first of which make a plain mean.
    const LONG: f64 = 600.0;
    const WARMUP: u32 = 10;

    fn sample(&mut self, latency: f64, now: Nanos) {
        self.sum += latency;
        self.samples += 1;
        if now >= self.window_ends && self.samples >= Gradient::SAMPLES {
            self.update(self.sum / f64::from(self.samples));
            (self.sum, self.samples, self.most) = (0.0, 0, 0);
            self.window_ends = now + Gradient::WINDOW;
        }
    }

    fn update(&mut self, short: f64) {
        self.windows += 1;
        let warm = self.windows > Gradient::WARMUP;
        let weight = if warm { 2.0 / (Gradient::LONG + 1.0) } else { 1.0 / f64::from(self.windows) };
        self.long += (short - self.long) * weight;
        // A mean that lags behind a latency that has fallen follows sooner.
        if self.long > 2.0 * short {
            self.long *= 0.95;
        }
        if f64::from(self.most) < self.limit / 2.0 {
            return;
        }
        let gradient = (Gradient::TOLERANCE * self.long / short).clamp(0.5, 1.0);
        let limit = self.limit * gradient + Gradient::QUEUE;
        let limit = self.limit * (1.0 - Gradient::SMOOTHING) + limit * Gradient::SMOOTHING;
        self.limit = limit.clamp(Gradient::LEAST, Gradient::MOST);
    }
}

impl Default for Gradient {
    fn default() -> Gradient {
        Gradient {
            limit: Gradient::LEAST,
            in_flight: 0,
            most: 0,
            window_ends: Gradient::WINDOW,
            sum: 0.0,
            samples: 0,
            long: 0.0,
            windows: 0,
        }
    }
}

impl Guard for Gradients {
    fn arrive(&mut self, id: Id, call: &Call, now: Nanos) -> Verdict {
        let (id, upstream) = (id as usize, usize::from(call.upstream));
        if upstream >= self.limits.len() {
            self.limits.resize_with(upstream + 1, Gradient::default);
        }
        let gradient = &mut self.limits[upstream];
        if f64::from(gradient.in_flight) >= gradient.limit.floor() {
            return Verdict::Refuse;
        }
        gradient.in_flight += 1;
        gradient.most = gradient.most.max(gradient.in_flight);
        if id >= self.since.len() {
            self.since.resize(id + 1, Nanos::ZERO);
        }
        self.since[id] = now;
        Verdict::Pass
    }

    fn complete(&mut self, id: Id, call: &Call, end: End, now: Nanos) {
        if end == End::Refused {
            return;
        }
        let gradient = &mut self.limits[usize::from(call.upstream)];
        gradient.in_flight -= 1;
        if end == End::Answered(200) {
            gradient.sample((now - self.since[id as usize]).as_secs_f64(), now);
        }
    }
}
