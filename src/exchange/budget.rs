//! How many requests a worker may let wait for the ledger: a token bucket of its own, so that no traffic whatever
//! spends more than 3 % of a core on exchanges: 20,000 a second at 1.45 µs, in proportion fewer where shards are longer
//! than 128 entries (1,792: 10 µs).

use crate::counters::bucket::{Charge, Quota};
use crate::time::Nanos;

const EXCHANGES: Quota = Quota { interval: Nanos(50_000), burst: 2_000, charge: Charge::Admitted };

/// The same for those that may not spend the last half.
const OTHERS: Quota = Quota { burst: EXCHANGES.burst / 2, ..EXCHANGES };

/// What is left to spend.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    tat: Nanos,
}

impl Budget {
    /// Takes one exchange with a shard of up to `room` entries, if one is left. Half of what there is is for keys that
    /// were `refused_lately`: however many others come, whoever is at its limit is counted by all workers together.
    pub fn take(&mut self, room: usize, refused_lately: bool, now: Nanos) -> bool {
        let left = if refused_lately { EXCHANGES } else { OTHERS }.admits(self.tat, now);
        if left {
            let price = EXCHANGES.interval.times(room.div_ceil(USUAL_ROOM).max(1) as u64);
            self.tat = self.tat.max(now) + price;
        }
        left
    }
}

/// Entries of a shard at up to 50,000 slots, of which the price of an exchange is known.
const USUAL_ROOM: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_its_depth_at_once_and_its_rate_over_time() {
        let mut budget = Budget::default();
        let now = Nanos::from_secs(1);
        assert_eq!((0..5_000).filter(|_| budget.take(128, false, now)).count(), 1_000);
        assert_eq!((0..5_000).filter(|_| budget.take(128, true, now)).count(), 1_000);
        let second = (0..100_000).filter(|i| budget.take(128, true, now + Nanos(10_000 * i))).count();
        assert!((20_000 - 1..=20_000).contains(&second), "{second}");
    }

    #[test]
    fn newcomers_leave_enough_for_those_who_are_at_their_limit() {
        let mut budget = Budget::default();
        let (mut others, mut hot) = (0, 0);
        for n in 0..500_000 {
            let now = Nanos::from_secs(1) + Nanos(n * 2_000);
            others += u32::from(budget.take(128, false, now));
            hot += u32::from(n % 50 == 0 && budget.take(128, true, now));
        }
        assert_eq!(hot, 10_000, "10,000 a second, all of them");
        assert!((10_000..12_000).contains(&others), "{others}");
    }

    #[test]
    fn longer_shards_are_asked_less_often() {
        let (mut budget, now) = (Budget::default(), Nanos::from_secs(1));
        while budget.take(1_792, true, now) {}
        let second = (0..100_000).filter(|i| budget.take(1_792, true, now + Nanos(10_000 * i))).count();
        assert!(second.abs_diff(20_000 / 14) <= 1, "{second}");
    }
}
