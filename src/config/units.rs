//! Numbers and rates: from loose text to values that can't be wrong.

use super::error::{Cause, Shown};
use super::json::Value;
use crate::time::Nanos;
use core::fmt::{self, Display};

/// Which numbers a field takes, both ends included, and which one is meant when it is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// When absent.
    pub default: f64,
    /// What it counts, for messages and the reference.
    pub unit: &'static str,
}

impl Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}–{} {}", self.min, self.max, self.unit)
    }
}

/// `true` or `false`.
pub fn switch(value: &Value) -> Result<bool, Cause> {
    match value {
        Value::Bool(on) => Ok(*on),
        other => Err(Cause::WrongKind { found: other.kind(), expected: "true or false" }),
    }
}

/// A string.
pub fn text(value: &Value) -> Result<&str, Cause> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(Cause::WrongKind { found: other.kind(), expected: "a string in quotes" }),
    }
}

/// A number in `range`.
pub fn number(value: &Value, range: &Range) -> Result<f64, Cause> {
    let &Value::Number(number) = value else {
        return Err(Cause::WrongKind { found: value.kind(), expected: "a number without quotes" });
    };
    let Range { min, max, unit, .. } = *range;
    match number >= min && number <= max {
        true => Ok(number),
        false => Err(Cause::OutOfRange { found: number, min, max, unit }),
    }
}

/// A whole number in `range`. Istio delivers it as a double: 3.0 is 3.
pub fn count(value: &Value, range: &Range) -> Result<u32, Cause> {
    match number(value, range)? {
        found if found.fract() != 0.0 => Err(Cause::NotWhole { found }),
        whole => Ok(whole as u32),
    }
}

/// Seconds in `range`, to the nanosecond.
pub fn seconds(value: &Value, range: &Range) -> Result<Nanos, Cause> {
    Ok(nanos(number(value, range)?))
}

/// The span of so many seconds, to the nanosecond.
pub fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

/// So many in so many seconds. Kept as written, so that `"6/m"` never becomes 0.1 and its roundings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    count: f64,
    per: f64,
}

/// The units of a rate, and how many seconds they have.
const UNITS: [(&str, f64); 4] = [("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

/// Forgives the last bits of a decimal that binary can't hold: 0.29 × 100 is 29, and 1 / 86,400 is one per day. Far
/// above the error of a product below a billion (1e-7), far below what an operator writes.
const SLACK: f64 = 1e-6;

/// `100` (per second), `"100/s"`, `"6/m"`, `"1/h"`, `"0.5/d"`: at least one per day, at most a million per second.
pub fn rate(value: &Value) -> Result<Rate, Cause> {
    let rate = match value {
        Value::Number(count) => Rate { count: *count, per: 1.0 },
        Value::Text(text) => rate_of(text).ok_or_else(|| Cause::RateSyntax { found: Shown::new(text) })?,
        other => {
            let expected = "a number per second, or a string like \"6/m\"";
            return Err(Cause::WrongKind { found: other.kind(), expected });
        }
    };
    if rate.count <= 0.0 {
        return Err(Cause::RateNotPositive);
    }
    let per_day = rate.count * 86_400.0 / rate.per;
    let is_sane = (1.0 - SLACK..=86_400e6).contains(&per_day);
    is_sane.then_some(rate).ok_or(Cause::RateOutOfRange)
}

fn rate_of(text: &str) -> Option<Rate> {
    let (count, unit) = text.split_once('/')?;
    let count = count.trim();
    let is_decimal = count.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let count = count.parse().ok().filter(|_| is_decimal)?;
    let &(_, per) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    Some(Rate { count, per })
}

impl Rate {
    /// The largest burst: more is no limit, and fits no counter.
    const MOST: u32 = 1_000_000_000;

    /// Time between two events at this rate, to the nearest nanosecond: at 75 per second a limit is off by
    /// 0.00000003 of itself, at 700,000 by 0.0003.
    pub fn interval(&self) -> Nanos {
        nanos(self.per / self.count)
    }

    /// What may come at once: `multiplier` seconds' worth, rounded down, at least 1.
    pub fn burst(&self, multiplier: f64) -> Result<u32, Cause> {
        let burst = self.count * multiplier / self.per;
        match burst <= f64::from(Self::MOST) {
            true => Ok(((burst + SLACK) as u32).max(1)),
            false => Err(Cause::BurstTooLarge { found: burst, most: Self::MOST }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANGE: Range = Range { min: 1.0, max: 32.0, default: 8.0, unit: "bits" };

    fn text_rate(text: &str) -> Result<Rate, Cause> {
        rate(&Value::Text(text.into()))
    }

    fn interval(text: &str) -> u64 {
        text_rate(text).unwrap().interval().0
    }

    #[test]
    fn both_ends_of_a_range_are_in_it() {
        assert_eq!(count(&Value::Number(1.0), &RANGE), Ok(1));
        assert_eq!(count(&Value::Number(32.0), &RANGE), Ok(32));
        for outside in [0.0, 0.999, 32.001, -1.0, 1e300, f64::NAN] {
            assert!(matches!(count(&Value::Number(outside), &RANGE), Err(Cause::OutOfRange { .. })));
        }
        assert_eq!(count(&Value::Number(3.5), &RANGE), Err(Cause::NotWhole { found: 3.5 }));
        assert!(matches!(count(&Value::Text("3".into()), &RANGE), Err(Cause::WrongKind { .. })));
    }

    #[test]
    fn a_rate_is_a_count_in_a_unit_of_time() {
        assert_eq!(interval("100/s"), 10_000_000);
        assert_eq!(interval("6/m"), 10_000_000_000);
        assert_eq!(interval(" 1 / h "), 3_600_000_000_000);
        assert_eq!(interval("1/d"), 86_400_000_000_000);
        assert_eq!(interval("0.5/s"), 2_000_000_000);
        assert_eq!(rate(&Value::Number(3.0)).unwrap().interval().0, 333_333_333);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for bad in
            ["100", "/s", "x/s", "1/week", "1/", "1e5/s", "-1/s", "inf/s", "nan/s", "1/s/s", ".", "1/S"]
        {
            assert!(matches!(text_rate(bad), Err(Cause::RateSyntax { .. })), "{bad}");
        }
        assert_eq!(text_rate("0/s"), Err(Cause::RateNotPositive));
        assert_eq!(rate(&Value::Number(-1.0)), Err(Cause::RateNotPositive));
        for bad in ["0.9/d", "1000001/s"] {
            assert_eq!(text_rate(bad), Err(Cause::RateOutOfRange), "{bad}");
        }
        assert!(text_rate("1000000/s").is_ok() && rate(&Value::Number(1.0 / 86_400.0)).is_ok());
    }

    #[test]
    fn a_burst_is_rounded_down_and_never_below_one() {
        let burst = |text, multiplier| text_rate(text).unwrap().burst(multiplier).unwrap();
        assert_eq!(burst("100/s", 2.0), 200);
        assert_eq!(burst("6/m", 1.0), 1);
        assert_eq!(burst("6/m", 59.0), 5);
        assert_eq!(burst("6/m", 60.0), 6);
        assert_eq!(burst("29/s", 0.1), 2);
        assert_eq!(burst("0.29/s", 100.0), 29); // in binary 28.999999999999996
        assert_eq!(burst("1/d", 259_200.0), 3);
        let huge = text_rate("1000000/s").unwrap().burst(1_000_000.0);
        assert!(matches!(huge, Err(Cause::BurstTooLarge { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_a_rate_or_is_refused(text in "[0-9./smhd e-]{0,12}") {
            if let Ok(rate) = text_rate(&text) {
                prop_assert!(rate.interval().0 >= 1_000);
                prop_assert!(rate.burst(1.0).unwrap() >= 1);
            }
        }
    }
}
