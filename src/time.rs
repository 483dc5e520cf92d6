//! Time as a value. Nothing in the core reads a clock: the host reads one per callback and passes it in.

use core::ops::{Add, Sub};

/// Nanoseconds: a point on the process's monotonic clock, or a span between two points. All arithmetic
/// saturates, so a hostile or broken clock can make a number wrong but never make it wrap or trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The origin of the clock, and the empty span.
    pub const ZERO: Nanos = Nanos(0);
    /// Never.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// A span of whole seconds.
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// A span of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole seconds, rounded up: what a `Retry-After` must say, since a client that comes back a moment
    /// too early would be refused again.
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000_000)
    }

    /// Seconds, to a ten-millionth of itself or better.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// A span of so many seconds; of what is no span, none.
    pub fn from_secs_f64(seconds: f64) -> Nanos {
        Nanos((seconds * 1e9) as u64)
    }

    /// `self × n`.
    pub const fn times(self, n: u64) -> Nanos {
        Nanos(self.0.saturating_mul(n))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

/// A clock that never runs backwards, made of one that should not. Small steps back are waited out; after a large
/// one the old readings mean nothing, and who keeps times must forget them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steady {
    last: Nanos,
}

/// What a reading of [`Steady`] met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Time went on, or stood still.
    Forward,
    /// The clock went back a little: time stands still until it has caught up.
    Waited,
    /// The clock went back so far that it is another clock: its time is taken from here on.
    Reset,
}

impl Steady {
    /// How far back a step may go and still be waited out: nobody is refused for longer because of it.
    pub const PATIENCE: Nanos = Nanos::from_secs(1);

    /// The time of the last reading.
    pub fn last(&self) -> Nanos {
        self.last
    }

    /// Takes one reading and gives the time to go by.
    pub fn read(&mut self, raw: Nanos) -> (Nanos, Step) {
        let step = match self.last - raw {
            Nanos::ZERO => Step::Forward,
            back if back <= Self::PATIENCE => Step::Waited,
            _ => Step::Reset,
        };
        if step != Step::Waited {
            self.last = raw;
        }
        (self.last, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos(1) - Nanos(2), Nanos::ZERO);
        assert_eq!(Nanos::from_secs(u64::MAX).times(3), Nanos::MAX);
    }

    #[test]
    fn a_retry_time_is_never_rounded_down() {
        assert_eq!(Nanos(1).as_secs_ceil(), 1);
        assert_eq!(Nanos::from_secs(2).as_secs_ceil(), 2);
        assert_eq!((Nanos::from_secs(2) + Nanos(1)).as_secs_ceil(), 3);
    }

    #[test]
    fn time_never_runs_backwards_and_never_stands_still_for_long() {
        let second = Nanos::from_secs;
        let mut clock = Steady::default();
        assert_eq!(clock.read(second(100)), (second(100), Step::Forward));
        assert_eq!(clock.read(second(99)), (second(100), Step::Waited));
        assert_eq!(clock.read(second(101)), (second(101), Step::Forward));
        assert_eq!(clock.read(second(50)), (second(50), Step::Reset));
        assert_eq!(clock.read(second(51)), (second(51), Step::Forward));
        assert_eq!(clock.read(Nanos::MAX), (Nanos::MAX, Step::Forward));
    }
}
