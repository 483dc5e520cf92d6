//! Token bucket with debt, as one number: the GCRA's theoretical arrival time `tat` (ITU-T I.371).
//!
//! ```text
//! full when        tat <= now
//! level (tokens) = (now + B·τ − max(tat, now)) / τ
//! charge:    tat = max(tat, now) + τ            never beyond now + B·τ + deepest debt (300 s, or B·τ: `Quota::ceiling`)
//! wait           = max(tat, now) + τ − B·τ − now   until one token is there; refused before, admitted at it
//! ```
//!
//! Bound: a bucket of capacity `B` admits exactly `B` at once; over a time `t` it admits at most `B + t/τ`. Credit
//! is kept to the nanosecond, so no fraction of a token is ever lost. `τ` is a whole number of nanoseconds: a rate
//! is off by at most half a nanosecond per token, 5e-10 × rate (75 per second: one token in 40 million; not at all
//! where τ is whole, as for 6 per minute or 1 per hour). A clock of 64-bit nanoseconds
//! does not go round in 584 years. One that steps forward fills the bucket, to its capacity at most; one that steps back
//! lets nobody wait for longer than the deepest debt and a token, from the next event on.
//! Cost: 8 bytes per bucket, a few additions per event, a division only to read the level. Nothing ever has to be
//! refilled or cleaned up, and two copies of one bucket are joined by `max`.

use crate::hash::Key;
use crate::time::Nanos;

/// The deepest debt, beyond an empty bucket: who stops has its next token within this time and one interval, however
/// hard it hammered.
pub const MAX_DEBT: Nanos = Nanos::from_secs(300);

/// A sustained rate with a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quota {
    /// One token every `interval` (τ = 1 / rate). At least 1 ns.
    pub interval: Nanos,
    /// Capacity in whole tokens, at least 1: a burst of `burst` is admitted, one more is not.
    pub burst: u32,
    /// Which events the bucket pays for.
    pub charge: Charge,
}

/// Which events a bucket pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Only what it admits: the admitted rate equals the limit however hard the caller pushes.
    Admitted,
    /// Every event: excess becomes debt, repaid by time alone, so who hammers on stays out until quiet.
    Every,
}

/// The answer of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the limit.
    Admit,
    /// Over the limit. One token will be there after `wait`, if nothing else is charged.
    Refuse {
        /// Time until the next token.
        wait: Nanos,
    },
    /// No place to count this key: no verdict, so the caller lets it pass and counts that.
    Untracked,
}

/// Something that counts against quotas by key: a process-wide ledger, or a plain table in a test.
pub trait Meter {
    /// Charges one event of `key` to `quota` and says whether it is within the limit.
    fn charge(&mut self, key: Key, quota: &Quota, now: Nanos) -> Verdict;

    /// Says whether one event of `key` would be within the limit, and charges nothing.
    fn look(&mut self, key: Key, quota: &Quota, now: Nanos) -> Verdict;
}

impl Quota {
    /// The time in which an empty bucket fills: B·τ.
    pub const fn capacity(&self) -> Nanos {
        self.interval.times(self.burst as u64)
    }

    /// The latest `tat` that a bucket may have: the capacity and the deepest debt from now. A bucket that pays only for
    /// what it admits has no debt of its own, but what workers admitted together beyond it (less than the capacity),
    /// which is repaid; or what it owed under another quota, for which a caller now within the limit must not wait.
    pub fn ceiling(&self, now: Nanos) -> Nanos {
        let debt = match self.charge {
            Charge::Admitted => self.capacity(),
            Charge::Every => MAX_DEBT,
        };
        now + self.capacity() + debt
    }

    /// Whole tokens that are there, at most `burst`; none in debt.
    pub fn level(&self, tat: Nanos, now: Nanos) -> u32 {
        let credit = now + self.capacity() - tat.max(now);
        let tokens = credit.0 / self.interval.0.max(1);
        u32::try_from(tokens).unwrap_or(u32::MAX).min(self.burst)
    }

    /// Time until one token is there; zero when there is one.
    pub fn wait(&self, tat: Nanos, now: Nanos) -> Nanos {
        tat.max(now) + self.interval - (now + self.capacity())
    }

    /// Whether a token is there.
    pub fn admits(&self, tat: Nanos, now: Nanos) -> bool {
        self.wait(tat, now) == Nanos::ZERO
    }

    /// The bucket after one more event, admitted or not.
    pub fn charged(&self, tat: Nanos, now: Nanos) -> Nanos {
        (tat.max(now) + self.interval).min(self.ceiling(now))
    }

    /// The bucket after an event that was `admitted` or not, as [`Quota::charge`] has it.
    pub fn after(&self, tat: Nanos, admitted: bool, now: Nanos) -> Nanos {
        match self.charge {
            Charge::Admitted if !admitted => tat.min(self.ceiling(now)),
            Charge::Admitted | Charge::Every => self.charged(tat, now),
        }
    }
}

#[cfg(test)]
mod tests;
