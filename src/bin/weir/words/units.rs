//! Numbers as a person says them.

use weir::config::advice::decimal;
use weir::time::Nanos;

fn span_in_seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}

/// `10 ms`, `1.5 s`, `24 h`.
pub fn span(span: Nanos) -> String {
    let seconds = span_in_seconds(span);
    let (number, unit) = match seconds {
        s if s >= 3_600.0 => (s / 3_600.0, "h"),
        s if s >= 60.0 => (s / 60.0, "min"),
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    format!("{} {unit}", decimal(number))
}

/// `100 per second`, `6 per minute`, `1 per day`.
pub fn rate(interval: Nanos) -> String {
    let per_second = 1.0 / span_in_seconds(interval);
    let units = [("second", 1.0), ("minute", 60.0), ("hour", 3_600.0), ("day", 86_400.0)];
    let fitting = units.into_iter().map(|(unit, seconds)| (unit, per_second * seconds));
    let whole = fitting.into_iter().find(|(_, number)| *number > 0.999_999);
    let (unit, number) = whole.unwrap_or(("day", per_second * 86_400.0));
    format!("{} per {unit}", decimal(number))
}

/// `2.8 MiB`.
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// `1 place`, `2 places`.
pub fn count(number: impl Into<u64>, thing: &str) -> String {
    let number = number.into();
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_rates_are_in_units_that_a_person_would_choose() {
        for (nanos, words, per) in [
            (10_000_000, "10 ms", "100 per second"),
            (333_333_333, "333.333 ms", "3 per second"),
            (10_000_000_000, "10 s", "6 per minute"),
            (3_600_000_000_000, "1 h", "1 per hour"),
            (86_400_000_000_000, "24 h", "1 per day"),
            (1_000, "1 µs", "1000000 per second"),
            (2_000_000_000, "2 s", "30 per minute"),
        ] {
            assert_eq!((span(Nanos(nanos)).as_str(), rate(Nanos(nanos)).as_str()), (words, per));
        }
    }
}
