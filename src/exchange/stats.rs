//! What the exchange did, as plain numbers.

use crate::counters::{arrears, table};
use crate::shared::Update;
use crate::time::Nanos;

/// Counts since the VM joined, and gauges of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests that asked the ledger.
    pub syncs: u64,
    /// Requests decided on the own view alone: the budget was spent, or the ledger could not be had.
    pub unsynced: u64,
    /// Writes that another worker's write forestalled.
    pub cas_lost: u64,
    /// Changes given up: every write was forestalled, or the host refused.
    pub given_up: u64,
    /// Values in shared data that made no sense and were taken for empty.
    pub corrupt: u64,
    /// Exchanges that left a key unrecorded because its shard was full of keys that owe more.
    pub full: u64,
    /// Charges evicted with their slot before they were published: only this worker remembers them.
    pub pending_lost: u64,
    /// Times that another seed or a new epoch was adopted: everything known was forgotten.
    pub reseeded: u64,
    /// The table of this worker.
    pub table: table::Stats,
    /// The arrears of this worker.
    pub arrears: arrears::Stats,
    /// Slots of that table.
    pub slots: u64,
    /// When the last tick reached the store: its age is that of the exchange.
    pub last_exchange: Nanos,
}

impl Stats {
    /// Counts how an update of shared data ended.
    pub(super) fn count(&mut self, update: Update) {
        self.cas_lost += u64::from(update.conflicts);
        self.given_up += u64::from(!update.done);
    }
}
