//! Percentiles of what lately took how long: geometric histograms, one per window of time, in a ring.
//!
//! ```text
//! bucket(t) = ⌊4 · log2(t / 1 ms)⌋, from 0 to 51          value of bucket b = 1 ms · 2^((b + ½) / 4)
//! ```
//!
//! * Error: a percentile is the middle of its bucket, at most 9 % off. Below 1 ms counts as 1 ms, and beyond 6.9 s as that.
//! * Full: never; counts are f32 and stand still at 2^24 in one window.
//! * Window: what is older than `windows × window` never counts; the newest windows that hold enough are asked.
//! * Memory: 208 bytes per window. Cost: a value is one counter; a percentile adds up the windows, some 500 additions.
//!
//! A [`Spread`] can be sent to other workers, and what they sent be added: counts are numbers of anything, also shares.

use crate::time::Nanos;

/// Buckets of a spread: four to each doubling.
pub const BUCKETS: usize = 52;

/// Counts by how long something took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread(pub [f32; BUCKETS]);

impl Default for Spread {
    fn default() -> Spread {
        Spread([0.0; BUCKETS])
    }
}

/// Where a time of so many seconds belongs.
pub fn bucket(seconds: f64) -> usize {
    let place = 4.0 * (seconds.max(0.001) / 0.001).log2();
    (place as usize).min(BUCKETS - 1) // saturates; a NaN is 0
}

/// The time that a bucket stands for, in seconds.
pub fn middle(bucket: usize) -> f64 {
    0.001 * ((bucket as f64 + 0.5) / 4.0).exp2()
}

impl Spread {
    /// Counts a time.
    pub fn add(&mut self, seconds: f64, weight: f32) {
        if let Some(count) = self.0.get_mut(bucket(seconds)) {
            *count += weight;
        }
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Spread) {
        self.0.iter_mut().zip(&other.0).for_each(|(count, more)| *count += more);
    }

    /// All that was counted.
    pub fn total(&self) -> f64 {
        self.0.iter().map(|count| f64::from(*count)).sum()
    }

    /// What `share` (0 to 1) of the times did not exceed, in seconds. `None` where nothing was counted.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let total = self.total();
        if total <= 0.0 {
            return None;
        }
        let mut left = share.clamp(0.0, 1.0) * total;
        let found = self.0.iter().position(|count| {
            left -= f64::from(*count);
            left <= 1e-9 && *count > 0.0
        });
        let last = || self.0.iter().rposition(|count| *count > 0.0);
        found.or_else(last).map(middle)
    }
}

/// Spreads of the latest windows of time.
#[derive(Clone, Debug)]
pub struct Sliding {
    length: Nanos,
    newest: u64,
    ring: [Spread; WINDOWS],
}

/// Windows that a [`Sliding`] keeps.
pub const WINDOWS: usize = 10;

impl Sliding {
    /// Windows of this length.
    pub fn new(length: Nanos) -> Sliding {
        Sliding { length: length.max(Nanos(1)), newest: 0, ring: [Spread::default(); WINDOWS] }
    }

    /// Counts a time. A clock that steps back stands still.
    pub fn record(&mut self, seconds: f64, now: Nanos) {
        self.turn(now);
        if let Some(window) = self.ring.get_mut(slot(self.newest)) {
            window.add(seconds, 1.0);
        }
    }

    /// The newest windows that hold `enough` together, `least` windows at least.
    pub fn latest(&mut self, enough: f64, least: usize, now: Nanos) -> Spread {
        self.turn(now);
        let mut sum = Spread::default();
        for age in 0..WINDOWS as u64 {
            if age >= least as u64 && sum.total() >= enough {
                break;
            }
            let Some(number) = self.newest.checked_sub(age) else { break };
            if let Some(window) = self.ring.get(slot(number)) {
                sum.merge(window);
            }
        }
        sum
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.ring = [Spread::default(); WINDOWS];
    }

    /// Empties the windows that have come since.
    fn turn(&mut self, now: Nanos) {
        let number = (now.0 / self.length.0).max(self.newest);
        let passed = (number - self.newest).min(WINDOWS as u64);
        for back in 0..passed {
            if let Some(window) = self.ring.get_mut(slot(number - back)) {
                *window = Spread::default();
            }
        }
        self.newest = number;
    }
}

fn slot(number: u64) -> usize {
    (number % WINDOWS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const WINDOW: Nanos = Nanos::from_millis(200);

    #[test]
    fn a_percentile_of_nothing_is_nothing() {
        assert_eq!(Spread::default().percentile(0.5), None);
    }

    #[test]
    fn what_is_older_than_the_windows_does_not_count() {
        let mut sliding = Sliding::new(WINDOW);
        sliding.record(3.0, WINDOW.times(100));
        assert_eq!(sliding.latest(9.0, 1, WINDOW.times(109)).total(), 1.0);
        assert_eq!(sliding.latest(9.0, 1, WINDOW.times(110)).total(), 0.0);
        sliding.record(3.0, Nanos::MAX);
        sliding.record(3.0, Nanos::ZERO);
        assert_eq!(sliding.latest(9.0, 1, Nanos::ZERO).total(), 2.0, "a clock that steps back stands still");
    }

    #[test]
    fn the_newest_windows_that_hold_enough_are_asked() {
        let mut sliding = Sliding::new(WINDOW);
        for window in 0..10 {
            (0..20).for_each(|_| sliding.record(0.1, WINDOW.times(window)));
        }
        let mut found = |enough, least| sliding.latest(enough, least, WINDOW.times(9)).total();
        assert_eq!([found(1.0, 1), found(1.0, 5), found(60.0, 1), found(1e9, 1)], [20.0, 100.0, 60.0, 200.0]);
    }

    proptest! {
        #[test]
        fn a_percentile_is_within_a_tenth_of_the_exact_one(
            mut values in vec(0.001f64..6.0, 1..200), hundredths in 1usize..=100,
        ) {
            let mut spread = Spread::default();
            values.iter().for_each(|value| spread.add(*value, 1.0));
            values.sort_unstable_by(f64::total_cmp);
            let exact = values[(hundredths * values.len()).div_ceil(100) - 1];
            let found = spread.percentile(hundredths as f64 / 100.0).unwrap();
            prop_assert!((found / exact - 1.0).abs() < 0.1, "{found} for {exact}");
        }

        #[test]
        fn any_time_has_a_bucket(seconds in any::<f64>()) {
            prop_assert!(bucket(seconds) < BUCKETS);
        }
    }
}
