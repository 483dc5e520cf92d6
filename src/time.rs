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
}
