//! Percentiles of what lately took how long: log-linear histograms, one per window of time, in a ring.
//!
//! The buckets are those of the `histogram` crate: 16 per power of two, so a bucket is at most a 16th as wide as
//! what it holds. The ring, the clock and the choice of windows are ours.
//!
//! * Error: a percentile is the upper end of its bucket: never less than the exact one, and at most 6.25 % and one
//!   [`UNIT`] (66 µs) more. Longer than [`LONGEST`] (4½ min) counts as that.
//! * Full: never; a window whose counters would overflow when added up is left out.
//! * Window: what is older than `windows × window` never counts; the oldest part counts or not as a whole window.
//! * Memory: 1,216 bytes per window, and as much again once, all allocated when it is made. Cost: a value is one
//!   counter; a percentile adds up the windows (10 of them: some 3,000 additions), so ask once per tick. Counters
//!   are 32 bits; one window that counted 2^32 values of one bucket would stand still.

use crate::time::Nanos;
use histogram::{Config, Histogram32};

/// The resolution of short values.
pub const UNIT: Nanos = Nanos(1 << UNIT_BITS);

/// The longest value that is told from longer ones.
pub const LONGEST: Nanos = Nanos((1 << (UNIT_BITS + RANGE_BITS as u32)) - 1);

const UNIT_BITS: u32 = 16;
const RANGE_BITS: u8 = 22;

/// 2^4 buckets for each power of two.
const GROUPING: u8 = 4;

#[allow(clippy::panic, reason = "ends the compilation, never a program")]
const SHAPE: Config = match Config::new(GROUPING, RANGE_BITS) {
    Ok(shape) => shape,
    Err(_) => panic!("not a shape"),
};

/// More than the error of a division, less than a value's share of any window.
const ROUNDING: f64 = 1e-12;

/// What a share of the values did not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// The value, rounded up.
    pub value: Nanos,
    /// Of how many values.
    pub samples: u64,
}

/// Sliding percentiles. See the [module](self) for how they are kept.
pub struct Sliding {
    length: Nanos,
    /// The latest window that anything was recorded in.
    latest: u64,
    ring: Box<[Window]>,
    sum: Histogram32,
}

/// One window of the ring.
#[derive(Clone)]
struct Window {
    /// Its start in lengths of a window.
    number: u64,
    values: u64,
    counts: Histogram32,
}

impl Sliding {
    /// Percentiles over the last `windows` windows (at least 1) of length `length` (at least 1 ns), the current one
    /// included.
    pub fn new(windows: u8, length: Nanos) -> Sliding {
        let sum = Histogram32::with_config(&SHAPE);
        let empty = Window { number: 0, values: 0, counts: sum.clone() };
        let ring = vec![empty; windows.max(1).into()].into_boxed_slice();
        Sliding { length: length.max(Nanos(1)), latest: 0, ring, sum }
    }

    /// Bytes that [`Sliding::new`] allocates.
    pub fn memory_bytes(windows: u8) -> u64 {
        let windows = u64::from(windows.max(1));
        let counts = SHAPE.total_buckets() as u64 * size_of::<u32>() as u64;
        windows * size_of::<Window>() as u64 + (windows + 1) * counts
    }

    /// Records one value. A clock that steps back stands still.
    pub fn record(&mut self, value: Nanos, now: Nanos) {
        self.latest = self.number(now);
        let Some(window) = self.ring.get_mut(slot(self.latest, self.ring.len())) else { return };
        if window.number != self.latest {
            window.counts.reset();
            (window.number, window.values) = (self.latest, 0);
        }
        // Within the range by this, and 2^32 values of one bucket in one window take longer than any window.
        let units = value.min(LONGEST).0 >> UNIT_BITS;
        window.values += u64::from(window.counts.increment(units).is_ok());
    }

    /// What `percent` of the values did not exceed, in the newest windows that have `samples` values together, or
    /// in all if these are fewer. Nothing where there is no value, and for a `percent` that is none.
    pub fn percentile(&mut self, percent: f64, samples: u64, now: Nanos) -> Option<Percentile> {
        if !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let found = self.add_up(samples.max(1), now);
        // A hundredth is no binary fraction: rounded up, 99.9 % of 1,000 would be all of them.
        let share = (percent / 100.0 - ROUNDING).max(0.0);
        let bucket = self.sum.quantile_bucket(share).ok()??;
        Some(Percentile { value: Nanos((bucket.end() + 1) << UNIT_BITS), samples: found })
    }

    /// Adds up the newest windows until there are enough values.
    fn add_up(&mut self, enough: u64, now: Nanos) -> u64 {
        self.sum.reset();
        let newest = self.number(now);
        let mut found = 0;
        for age in 0..self.ring.len() as u64 {
            let Some(number) = newest.checked_sub(age).filter(|_| found < enough) else { break };
            let window =
                self.ring.get(slot(number, self.ring.len())).filter(|window| window.number == number);
            found += window.map_or(0, |window| add(&mut self.sum, window));
        }
        found
    }

    fn number(&self, now: Nanos) -> u64 {
        (now.0 / self.length.0).max(self.latest)
    }
}

/// Adds a window's counts, and says how many they are: none if a counter would overflow.
fn add(sum: &mut Histogram32, window: &Window) -> u64 {
    sum.checked_add_assign(&window.counts).map_or(0, |()| window.values)
}

fn slot(number: u64, windows: usize) -> usize {
    (number % windows.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const WINDOW: Nanos = Nanos::from_millis(200);

    fn millis(percentile: Option<Percentile>) -> Option<u64> {
        percentile.map(|percentile| percentile.value.as_millis())
    }

    #[test]
    fn a_percentile_of_nothing_is_nothing() {
        let mut sliding = Sliding::new(10, WINDOW);
        assert_eq!(sliding.percentile(95.0, 1, Nanos::MAX), None);
        sliding.record(Nanos::from_millis(5), Nanos::ZERO);
        for not_one in [-1.0, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(sliding.percentile(not_one, 1, Nanos::ZERO), None);
        }
    }

    #[test]
    fn what_is_older_than_the_windows_does_not_count() {
        let mut sliding = Sliding::new(10, WINDOW);
        let start = Nanos::from_secs(50);
        sliding.record(Nanos::from_secs(30), start);
        let last = start + WINDOW.times(9);
        sliding.record(Nanos::from_millis(1), last);
        assert_eq!(sliding.percentile(100.0, 2, last).map(|p| p.samples), Some(2));
        assert_eq!(millis(sliding.percentile(100.0, 2, last + WINDOW)), Some(1));
        assert_eq!(sliding.percentile(100.0, 2, last + WINDOW.times(10)), None);
    }

    #[test]
    fn the_newest_windows_that_hold_enough_are_asked() {
        let mut sliding = Sliding::new(10, WINDOW);
        for window in 0..10 {
            for _ in 0..20 {
                sliding.record(Nanos::from_millis(100 - window * 10), WINDOW.times(window));
            }
        }
        let now = WINDOW.times(9);
        let of = |sliding: &mut Sliding, samples| sliding.percentile(100.0, samples, now).unwrap();
        assert_eq!((of(&mut sliding, 1).samples, of(&mut sliding, 1).value.as_millis()), (20, 10));
        assert_eq!((of(&mut sliding, 60).samples, of(&mut sliding, 60).value.as_millis()), (60, 30));
        assert_eq!(of(&mut sliding, 1_000).samples, 200);
    }

    #[test]
    fn all_but_one_of_a_thousand_are_not_all() {
        let mut sliding = Sliding::new(1, WINDOW);
        (0..999).for_each(|_| sliding.record(Nanos::from_millis(1), WINDOW));
        sliding.record(Nanos::from_secs(100), WINDOW);
        assert_eq!(millis(sliding.percentile(99.9, 1000, WINDOW)), Some(1));
        assert!(millis(sliding.percentile(99.91, 1000, WINDOW)) >= Some(100_000));
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        let mut sliding = Sliding::new(3, WINDOW);
        sliding.record(Nanos::from_millis(7), Nanos::from_secs(100));
        sliding.record(Nanos::from_millis(7), Nanos::ZERO);
        assert_eq!(sliding.percentile(50.0, 9, Nanos::ZERO).map(|p| p.samples), Some(2));
        sliding.record(Nanos::MAX, Nanos::MAX);
        assert_eq!(sliding.percentile(50.0, 1, Nanos::ZERO).map(|p| p.value), Some(LONGEST + Nanos(1)));
    }

    #[test]
    fn memory_is_what_was_announced() {
        let sliding = Sliding::new(10, WINDOW);
        let counts = sliding.ring.iter().map(|window| window.counts.as_slice().len()).sum::<usize>();
        let held = size_of_val(&*sliding.ring) + (counts + sliding.sum.as_slice().len()) * 4;
        assert_eq!(Sliding::memory_bytes(10), held as u64);
        assert_eq!(sliding.sum.as_slice().len() * 4, 1_216);
    }

    proptest! {
        #[test]
        fn a_percentile_is_at_most_a_sixteenth_above_the_exact_one_and_never_below(
            mut values in vec(0u64..400_000_000_000, 1..200), thousandths in 0usize..=1000,
        ) {
            let mut sliding = Sliding::new(2, WINDOW);
            values.iter().for_each(|&value| sliding.record(Nanos(value), WINDOW));
            values.sort_unstable();
            let rank = (thousandths * values.len()).div_ceil(1000).max(1);
            let exact = values[rank - 1].min(LONGEST.0);
            let found = sliding.percentile(thousandths as f64 / 10.0, 1, WINDOW).unwrap().value.0;
            prop_assert!(found > exact || exact == LONGEST.0);
            prop_assert!(found - exact <= UNIT.0 + exact / 16, "{found} for {exact}");
        }
    }
}
