//! How much of something comes per second lately: an amount that decays, so that it needs neither buckets nor a tick.
//!
//! ```text
//! add(x) : v := v · exp(−Δt/τ) + x/τ          rate = v · exp(−Δt/τ)
//! ```
//!
//! A steady stream of r per second reads as r · (1 − exp(−t/τ)). 16 bytes; what is added is clamped to what makes sense, so
//! a rate is always finite and never negative.

use crate::time::Nanos;

/// More than this comes from nobody's clock.
const MOST: f64 = 1e12;

/// A rate per second. The time constant is an argument: its owner has one for all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    value: f64,
    at: Nanos,
}

impl Flow {
    /// Adds an amount.
    pub fn add(&mut self, amount: f64, tau: f64, now: Nanos) {
        let sane = if amount.is_finite() { amount.clamp(0.0, MOST) } else { 0.0 };
        self.value = (self.rate(tau, now) + sane / tau).min(MOST);
        self.at = self.at.max(now);
    }

    /// Per second.
    pub fn rate(&self, tau: f64, now: Nanos) -> f64 {
        self.value * left(now - self.at, tau)
    }
}

/// What is left of an amount after a time: exp(−Δt/τ).
pub fn left(elapsed: Nanos, tau: f64) -> f64 {
    (-elapsed.as_secs_f64() / tau).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_steady_stream_reads_as_its_rate_and_ebbs_when_it_ends() {
        let mut flow = Flow::default();
        for n in 0..1_000 {
            flow.add(0.5, 1.0, Nanos::from_millis(n * 10));
        }
        let end = Nanos::from_secs(10);
        assert!((flow.rate(1.0, end) - 50.0).abs() < 0.5, "{}", flow.rate(1.0, end));
        assert!((flow.rate(1.0, end + Nanos::from_secs(1)) - 50.0 / core::f64::consts::E).abs() < 0.5);
    }

    proptest! {
        #[test]
        fn whatever_is_added_a_rate_is_finite_and_not_negative(
            events in proptest::collection::vec((any::<f64>(), any::<u64>()), 0..50),
        ) {
            let mut flow = Flow::default();
            for (amount, at) in events {
                flow.add(amount, 1.0, Nanos(at));
                let rate = flow.rate(1.0, Nanos(at));
                prop_assert!(rate.is_finite() && rate >= 0.0);
            }
        }
    }
}
