//! How many requests a worker may let wait for the ledger: a token bucket of its own, so that no traffic whatever
//! spends more than 3 % of a core on exchanges (20,000 a second at 1.45 µs).

use crate::counters::bucket::{Charge, Quota};
use crate::time::Nanos;

const EXCHANGES: Quota = Quota { interval: Nanos(50_000), burst: 2_000, charge: Charge::Admitted };

/// What is left to spend.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    tat: Nanos,
}

impl Budget {
    /// Takes one exchange, if one is left.
    pub fn take(&mut self, now: Nanos) -> bool {
        let left = EXCHANGES.admits(self.tat, now);
        self.tat = EXCHANGES.after(self.tat, left, now);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_its_depth_at_once_and_its_rate_over_time() {
        let mut budget = Budget::default();
        let now = Nanos::from_secs(1);
        assert_eq!((0..5_000).filter(|_| budget.take(now)).count(), 2_000);
        let second = (0..100_000).filter(|i| budget.take(now + Nanos(10_000 * i))).count();
        assert!((20_000 - 1..=20_000).contains(&second), "{second}");
    }
}
