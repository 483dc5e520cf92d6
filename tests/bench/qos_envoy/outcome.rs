//! What a run comes to.

use std::time::Duration;

use super::drive::{End, Sent};
use super::numbers::quantile;
use super::schedule::Times;

/// An answer that comes later is no use to anybody.
const GOOD_WITHIN: Duration = Duration::from_secs(2);

/// After so much of the attack its onset is over.
pub const ONSET: Duration = Duration::from_secs(15);

/// Some of the requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub requests: usize,
    /// 2xx within [`GOOD_WITHIN`].
    pub good: usize,
    /// 2xx at all.
    pub served: usize,
    /// Any other answer: the service itself has none.
    pub refused: usize,
    pub gave_up: usize,
    pub broke_off: usize,
    /// Of those that were not refused; who gave up has waited for as long. Seconds.
    pub p50: f64,
    pub p95: f64,
}

/// One contender under one load.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Ordinary clients before the attack.
    pub quiet: Share,
    /// During it.
    pub ordinary: Share,
    /// The same without its onset.
    pub steady: Share,
    pub attackers: Share,
    /// What the service did of what it can do, while the attack lasted.
    pub busy: f64,
    /// How late 99 of 100 requests were sent at most.
    pub late: f64,
}

impl Outcome {
    pub fn of(sent: &[Sent], times: Times, busy: f64) -> Outcome {
        let of = |attacks: bool, from: Duration, to: Duration| {
            let is_meant = |one: &&Sent| one.attacks == attacks && (from..to).contains(&one.at);
            Share::of(&sent.iter().filter(is_meant).copied().collect::<Vec<_>>())
        };
        let late: Vec<f64> = sent.iter().map(|one| one.late.as_secs_f64()).collect();
        Outcome {
            quiet: of(false, Duration::ZERO, times.quiet),
            ordinary: of(false, times.quiet, times.end()),
            steady: of(false, times.quiet + ONSET, times.end()),
            attackers: of(true, times.quiet, times.end()),
            busy,
            late: quantile_or_zero(&late, 0.99),
        }
    }
}

impl Share {
    fn of(sent: &[Sent]) -> Share {
        let count = |is_so: &dyn Fn(&Sent) -> bool| sent.iter().filter(|one| is_so(one)).count();
        let is_served = |one: &Sent| matches!(one.end, End::Answered(200..300));
        let is_refused = |one: &Sent| matches!(one.end, End::Answered(_)) && !is_served(one);
        let waits = sent.iter().filter(|one| is_served(one) || one.end == End::GaveUp);
        let waits: Vec<f64> = waits.map(|one| one.took.as_secs_f64()).collect();
        Share {
            requests: sent.len(),
            good: count(&|one| is_served(one) && one.took <= GOOD_WITHIN),
            served: count(&is_served),
            refused: count(&is_refused),
            gave_up: count(&|one| one.end == End::GaveUp),
            broke_off: count(&|one| one.end == End::BrokeOff),
            p50: quantile_or_zero(&waits, 0.5),
            p95: quantile_or_zero(&waits, 0.95),
        }
    }
}

fn quantile_or_zero(numbers: &[f64], q: f64) -> f64 {
    if numbers.is_empty() { 0.0 } else { quantile(numbers, q) }
}
