//! How fast the attack comes: in steps, each twice as fast as the one before, most of the time at the top.

use std::time::Duration;

/// Requests per second of the first step.
const FIRST: u64 = 1_000;

/// The part of the time in which the attack climbs, before it stays at the top.
const CLIMB: f64 = 0.25;

/// One rate, for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub per_second: u64,
    pub lasts: Duration,
}

/// The steps, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(Vec<Step>);

impl From<Step> for Schedule {
    fn from(step: Step) -> Schedule {
        Schedule(vec![step])
    }
}

impl Schedule {
    /// From [`FIRST`] to `top` requests per second, all in all this long.
    pub fn escalating(top: u64, lasts: Duration) -> Schedule {
        let climbing: Vec<u64> = std::iter::successors(Some(FIRST), |rate| Some(rate * 2))
            .take_while(|rate| *rate < top)
            .collect();
        let climb = if climbing.is_empty() { Duration::ZERO } else { lasts.mul_f64(CLIMB) };
        let each = climb / climbing.len().max(1) as u32;
        let climbing = climbing.into_iter().map(|per_second| Step { per_second, lasts: each });
        Schedule(climbing.chain([Step { per_second: top, lasts: lasts - climb }]).collect())
    }

    /// All steps together.
    pub fn lasts(&self) -> Duration {
        self.0.iter().map(|step| step.lasts).sum()
    }

    /// When the last step begins.
    pub fn climbs(&self) -> Duration {
        self.lasts() - self.0.last().map_or(Duration::ZERO, |step| step.lasts)
    }

    /// The rate of the last step.
    pub fn top(&self) -> u64 {
        self.0.last().map_or(0, |step| step.per_second)
    }

    /// How many requests should have been sent so long after the begin.
    pub fn sent_by(&self, at: Duration) -> u64 {
        let mut left = at;
        let mut sent = 0.0;
        for step in &self.0 {
            let spent = left.min(step.lasts);
            sent += spent.as_secs_f64() * step.per_second as f64;
            left -= spent;
        }
        sent as u64
    }

    /// The rate so long after the begin; 0 after the end.
    pub fn rate_at(&self, at: Duration) -> u64 {
        let mut end = Duration::ZERO;
        let under_way = self.0.iter().find(|step| {
            end += step.lasts;
            at < end
        });
        under_way.map_or(0, |step| step.per_second)
    }
}
