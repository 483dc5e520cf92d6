//! The show as lines of text: one per sample.

use super::paper::grouped;
use super::sides::Side;
use super::watch::Sample;

/// What the columns of [`line`] mean.
pub fn header() -> String {
    let of = "memory    p99 ms  passed/s refused/s";
    format!(
        "{:>5} {:>9} {:>10}   {of:<38} {of}\n{:>26}   {:<38} {}",
        "s", "offered/s", "clients", "", "Weir", "naive limiter"
    )
}

/// What was seen at one moment.
pub fn line(sample: &Sample) -> String {
    let side = |side: Side| {
        let seen = sample.of(side);
        format!(
            "{:>4.0} MiB {:>8.1} {:>9} {:>9}",
            seen.resident_mib,
            seen.good.p99_ms,
            grouped(seen.passed_per_s as usize),
            grouped(seen.refused_per_s as usize)
        )
    };
    format!(
        "{:>5.0} {:>9} {:>10}   {:<38} {}",
        sample.at.as_secs_f64(),
        grouped(sample.offered as usize),
        grouped(sample.clients() as usize),
        side(Side::Weir),
        side(Side::Naive)
    )
}
