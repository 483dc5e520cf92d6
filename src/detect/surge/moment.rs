//! Where in which bucket of time we are.
//!
//! ```text
//! bucket = ⌊now / length⌋       elapsed = now / length − bucket
//! ```
//!
//! All workers of a process share the monotonic clock, and so the numbers of its buckets.

use crate::time::Nanos;

/// A time, by buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The number of the bucket.
    pub bucket: u32,
    /// Time since it began.
    pub into: Nanos,
    length: Nanos,
}

impl Moment {
    /// `now` among buckets of that length.
    pub fn of(now: Nanos, length: Nanos) -> Moment {
        let length = Nanos(length.0.max(1));
        let bucket = now.0 / length.0;
        Moment {
            bucket: u32::try_from(bucket).unwrap_or(u32::MAX),
            into: Nanos(now.0 - bucket * length.0),
            length,
        }
    }

    /// The share of the bucket that has passed: 0 to 1.
    pub fn elapsed(&self) -> f32 {
        (self.into.0 as f64 / self.length.0 as f64) as f32
    }

    /// Buckets in which an hour passes, rounded up.
    pub fn hour(&self) -> u32 {
        u32::try_from(HOUR.0.div_ceil(self.length.0)).unwrap_or(u32::MAX)
    }
}

const HOUR: Nanos = Nanos::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_bucket_and_a_share_of_it() {
        let ten = Nanos::from_secs(10);
        let at = Moment::of(Nanos::from_millis(1_232_500), ten);
        assert_eq!((at.bucket, at.into, at.elapsed(), at.hour()), (123, Nanos::from_millis(2500), 0.25, 360));
    }

    #[test]
    fn no_clock_and_no_length_make_it_anything_else() {
        assert_eq!(Moment::of(Nanos::MAX, Nanos(1)).bucket, u32::MAX);
        assert_eq!(Moment::of(Nanos::MAX, Nanos::ZERO).bucket, u32::MAX);
        assert_eq!(Moment::of(Nanos::ZERO, Nanos::MAX).hour(), 1);
    }
}
