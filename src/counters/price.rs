//! What a bucket is worth remembering: the events that it was charged and that time has not repaid.
//!
//! ```text
//! price = owed / 2^⌊log2 τ⌋          owed = tat − now: n events are priced between n and 2·n
//! ```
//!
//! Not the time that is owed: one event at one per day owes a day, and whoever makes up a key for each request would
//! push out everybody who owes many events of a faster rate. By this price it takes keys of `n/2` events each to push
//! out one of `n`, whatever their rates. A price is the bits of an f32, which are in order, so it takes no division;
//! and six bits of pace say all that it needs of a quota.

use super::bucket::Quota;
use crate::time::Nanos;

/// How slow a quota is: log2 of its interval in nanoseconds, rounded down. Six bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace(u8);

impl Pace {
    /// Bits that hold a pace.
    pub const BITS: u32 = 6;

    /// The pace of a quota.
    pub fn of(quota: &Quota) -> Pace {
        Pace(quota.interval.0.max(1).ilog2() as u8)
    }

    /// As the lowest six bits of a number.
    pub fn to_bits(self) -> u64 {
        self.0.into()
    }

    /// From the lowest six bits of a number, whatever the others are.
    pub fn from_bits(bits: u64) -> Pace {
        Pace(bits as u8 & ((1 << Pace::BITS) - 1))
    }
}

/// A price: more events are worth more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price(u32);

impl Price {
    /// Of a bucket that is full.
    pub const NOTHING: Price = Price(0);

    /// Of a bucket that is full again after `owed`.
    #[inline]
    pub fn of(owed: Nanos, pace: Pace) -> Price {
        if owed == Nanos::ZERO {
            return Price::NOTHING;
        }
        // A division by a power of two, in the exponent. It stays positive: f32 bits of 1 and more are 127 << 23.
        Price((owed.0.min(i64::MAX as u64) as i64 as f32).to_bits() - (u32::from(pace.0) << MANTISSA))
    }

    /// Which power of two it is. Where it matters who came first, prices of one octave are equal.
    pub fn octave(self) -> u32 {
        self.0 >> MANTISSA
    }

    /// Below 2^29, in order, and 0 for nothing alone.
    pub fn rank(self) -> u32 {
        self.0 >> 2
    }

    /// Whether forgetting it gives away more than one event.
    pub fn exceeds_one_event(self) -> bool {
        self.0 >= 2.0_f32.to_bits()
    }
}

/// Bits of an f32 below its exponent.
const MANTISSA: u32 = 23;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::bucket::Charge;
    use proptest::prelude::*;

    fn price(interval: u64, events: u64) -> Price {
        let quota = Quota { interval: Nanos(interval), burst: 1, charge: Charge::Every };
        Price::of(quota.interval.times(events), Pace::of(&quota))
    }

    #[test]
    fn an_event_per_day_is_worth_no_more_than_one_per_second() {
        let (day, second) = (86_400_000_000_000, 1_000_000_000);
        assert_eq!(price(day, 1).octave(), price(second, 1).octave());
        assert!(price(day, 1) < price(second, 2));
        assert!(!price(day, 1).exceeds_one_event() && price(second, 2).exceeds_one_event());
        assert_eq!(price(day, 0), Price::NOTHING);
    }

    #[test]
    fn extremes_have_a_price() {
        for interval in [0, 1, u64::MAX] {
            for events in [0, 1, u64::MAX] {
                assert!(price(interval, events).rank() < 1 << 29);
            }
        }
        assert!((0..256).all(|bits| Pace::from_bits(bits).to_bits() == bits % 64));
    }

    proptest! {
        #[test]
        fn twice_the_events_are_worth_as_much_or_more_whatever_the_rates(
            interval in 1_000u64..86_400_000_000_000, other in 1_000u64..86_400_000_000_000, events in 1u64..10_000,
        ) {
            prop_assert!(price(interval, events) <= price(other, 2 * events));
            prop_assert!(price(interval, events).octave() <= price(other, 2 * events).octave());
            prop_assert!(price(interval, events) <= price(interval, events + 1));
        }
    }
}
