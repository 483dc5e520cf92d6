//! Token bucket with debt, as one number.

use crate::hash::Key;
use crate::time::Nanos;

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
}
