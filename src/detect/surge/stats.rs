//! What the traffic guard did, as plain numbers.

use crate::counters::table;
use crate::shared::Update;

/// Counts since the guard was made, and gauges of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Buckets that this worker folded as surges, by [`Dimension`](super::Dimension).
    pub surged: [u64; 4],
    /// Requests that asked the shared entry before a verdict was given.
    pub asks: u64,
    /// Verdicts on the own view alone: the budget was spent.
    pub unasked: u64,
    /// Events that came after their bucket was folded.
    pub late: u64,
    /// Events of keys that lost their slot before anybody heard of them.
    pub lost: u64,
    /// Exchanges in which a key found no place in its shard: it is not judged.
    pub full: u64,
    /// Values in shared data that made no sense and were taken for empty.
    pub corrupt: u64,
    /// Writes that another worker's write forestalled.
    pub cas_lost: u64,
    /// Changes given up: every write was forestalled, or the host refused.
    pub given_up: u64,
    /// The worker's table.
    pub table: table::Stats,
    /// Its slots.
    pub slots: u64,
}

impl Stats {
    /// Counts how an update ended.
    pub(super) fn count(&mut self, update: Update) {
        self.cas_lost += u64::from(update.conflicts);
        self.given_up += u64::from(!update.done);
    }
}
