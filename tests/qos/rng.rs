//! Random numbers that are the same in every run and on every machine.

use weir::hash::mix;

/// SplitMix64. A stream of its own for each thing that must not change when another one does.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64, stream: u64) -> Rng {
        Rng(mix(seed ^ mix(stream)))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in (0, 1].
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() <= share
    }

    /// The gap to the next event of a Poisson process, in seconds.
    pub fn gap(&mut self, per_second: f64) -> f64 {
        -self.unit().ln() / per_second
    }

    /// Lognormal of this mean and coefficient of variation.
    pub fn lognormal(&mut self, mean: f64, cv: f64) -> f64 {
        let variance = (1.0 + cv * cv).ln();
        let normal = (-2.0 * self.unit().ln()).sqrt() * (core::f64::consts::TAU * self.unit()).cos();
        mean * (variance.sqrt() * normal - variance / 2.0).exp()
    }
}
