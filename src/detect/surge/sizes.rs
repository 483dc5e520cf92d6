//! How much memory the traffic guard takes, here and in shared data.

use super::entry::ENTRY_BYTES;
use super::publish::Told;
use super::shard::{SHARDS, room};
use super::tally::Tally;
use crate::counters::marks::Marks;
use crate::counters::table::Table;
use crate::shared::bytes::MAX_VALUE;
use crate::time::Nanos;

/// How much a worker may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Keys that one worker follows, rounded up to whole sets in every shard, and that shared data has room for (at
    /// most 349,440 there).
    pub keys: u32,
    /// Time between two ticks.
    pub interval: Nanos,
}

impl Sizes {
    /// Bytes that [`Surge::new`](super::Surge::new) allocates, exactly; the settings are handed over.
    pub fn memory_bytes(&self) -> u64 {
        let slots = Table::<Tally>::slots_for(SHARDS, self.keys);
        Table::<Tally>::memory_bytes(SHARDS, self.keys)
            + 2 * Marks::memory_bytes(slots)
            + slots / u64::from(SHARDS) * size_of::<Told>() as u64
            + MAX_VALUE as u64
    }

    /// Bytes that all workers of the process together have in shared data at the most.
    pub fn shared_bytes(&self) -> u64 {
        u64::from(SHARDS) * (room(self.keys) * ENTRY_BYTES) as u64
    }
}
