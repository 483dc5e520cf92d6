//! What is usual for one key, and whether a bucket of time is a surge.
//!
//! ```text
//! threshold = max(factor · mean, min(mean + deviations · deviation, 2 · factor · mean), floor)     surge: count > threshold
//! deviation = the mean, taught in the same way, of |count − mean at that time|
//! ```
//!
//! A bucket that is no surge teaches both means; one that is teaches neither, so that a flood does not become usual by
//! lasting. Before `warmup` buckets have taught nothing is a surge. Empty buckets count as 0, and after as many in a row as
//! the mean remembers the key starts anew: what comes in the morning is not compared with a silent night. Where the
//! judge has it so (routes), enough surges in a row start the key anew too.
//!
//! The deviation shares the mean's count of buckets: the first has none, as there is no mean before it, so the
//! correction is that of one bucket less. In a gap of g empty buckets each departs from a mean that falls by 1 − α per
//! bucket, which sums up to α · g · (1 − α)^(g − 1) · mean: in a key's first buckets, whose corrected mean falls faster,
//! somewhat more than bucket by bucket. 14 bytes. Cost: three powers per bucket of time.

use super::settings::Judge;
use crate::counters::ewma::{Ewma, Span};

/// How a key is judged and taught.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// What is a surge.
    pub judge: Judge,
    /// How many buckets the mean remembers.
    pub span: Span,
    /// Buckets that must have taught before one is judged.
    pub warmup: u16,
}

/// What was learned about one key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Baseline {
    mean: Ewma,
    /// The deviation's sum, uncorrected.
    deviation: f32,
    /// Surged buckets in a row.
    run: u16,
}

/// Deviations raise a threshold to so many times what the factor alone would: a key that grows step by step has large
/// ones, and must not carry its threshold along.
const MOST_UNEVEN: f32 = 2.0;

impl Baseline {
    /// Events of a usual bucket; 0 before anything was learned.
    pub fn mean(&self, terms: &Terms) -> f32 {
        self.mean.mean(&terms.span) as f32
    }

    /// How far a usual bucket is from the mean.
    pub fn deviation(&self, terms: &Terms) -> f32 {
        match self.mean.taught() {
            0 | 1 => 0.0,
            taught => (f64::from(self.deviation) / terms.span.weight_of(u32::from(taught) - 1)) as f32,
        }
    }

    /// More events than this are a surge. Infinite while the key is warming up.
    pub fn threshold(&self, terms: &Terms) -> f32 {
        if self.mean.taught() < terms.warmup {
            return f32::INFINITY;
        }
        let Judge { factor, deviations, floor, .. } = terms.judge;
        let mean = self.mean(terms);
        let uneven = mean + deviations * self.deviation(terms);
        (factor * mean).max(uneven.min(MOST_UNEVEN * factor * mean)).max(floor)
    }

    /// Was the last bucket a surge?
    pub fn surged(&self) -> bool {
        self.run > 0
    }

    /// Surged buckets in a row.
    pub fn run(&self) -> u16 {
        self.run
    }

    /// How much was seen lately: the mean's sum, uncorrected, so that a key which came once has little of it.
    pub fn lately(&self) -> f32 {
        self.mean.lately()
    }

    /// Mean, deviation and surged buckets in a row, to be kept elsewhere.
    pub fn to_keep(&self) -> (u64, f32, u16) {
        (self.mean.to_bits(), self.deviation, self.run)
    }

    /// What [`Baseline::to_keep`] gave with this span; of anything that no history leads to, a key that is unknown.
    pub fn kept(mean: u64, deviation: f32, run: u16, span: &Span) -> Baseline {
        let mean = Ewma::from_bits(mean, span);
        let possible = deviation >= 0.0 && deviation <= u32::MAX as f32;
        if mean.taught() == 0 {
            return Baseline::default();
        }
        Baseline { mean, deviation: if possible { deviation } else { 0.0 }, run }
    }

    /// Takes in a bucket that is over. Says whether it was a surge.
    pub fn fold(&mut self, count: u32, terms: &Terms) -> bool {
        let surge = count as f32 > self.threshold(terms);
        match (surge, count) {
            (true, _) => self.endure(terms),
            (false, 0) => self.pass(1, terms),
            (false, _) => self.learn(count, terms),
        }
        surge
    }

    /// Takes in so many empty buckets.
    pub fn pass(&mut self, buckets: u32, terms: &Terms) {
        if buckets == 0 {
            return;
        }
        let departed = terms.span.share() * f64::from(buckets) * self.mean.mean(&terms.span);
        let left = terms.span.left_after(buckets - 1);
        let sum = (f64::from(self.deviation) * (1.0 - terms.span.share()) + departed) * left;
        self.mean.pass(&terms.span, buckets);
        self.deviation = if self.mean.taught() == 0 { 0.0 } else { sum as f32 };
        self.run = 0;
    }

    fn learn(&mut self, count: u32, terms: &Terms) {
        let known = self.mean.taught() > 0;
        let departed = if known { (f64::from(count) - self.mean.mean(&terms.span)).abs() } else { 0.0 };
        let share = terms.span.share();
        self.deviation = (f64::from(self.deviation) * (1.0 - share) + departed * share) as f32;
        self.mean.teach(&terms.span, count);
        self.run = 0;
    }

    /// A surge teaches nothing, unless it is one too many.
    fn endure(&mut self, terms: &Terms) {
        self.mean.skip();
        self.run = self.run.saturating_add(1);
        if terms.judge.relearn_after.is_some_and(|after| self.run >= after) {
            *self = Baseline::default();
        }
    }
}

#[cfg(test)]
mod tests;
