//! How much did a key add up to in this window of time? One sum for all workers of the process, exact at once.
//!
//! ```text
//! a window runs from the first charge to its end;  charged while before < most:  sum = before + amount
//! ```
//!
//! Every charge is a read and a write of one of 64 [`Shard`]s under compare-and-swap, so a sum exceeds `most` by less
//! than one amount, whatever the number of workers. A key that has reached `most` is *spent*: that is remembered in a
//! small direct-mapped memory, and repeated for up to a second without any shared call.
//!
//! * Bytes: 32 KiB of memory and one value per worker; 24 per key in shared data, 1.5 MiB at the most.
//! * Cost: one get and one set of a shard, of 24 bytes per key that has a sum there; a spent key one look.
//! * Bounded: a [`Budget`] of its own allows 20,000 charges a second per worker, fewer where shards are long. Beyond it,
//!   with the store out of reach, or where a full shard has no place, the sum is *not known*, which is counted: the
//!   caller decides.
//! * Lost: values that vanish from shared data start again from nothing. Nothing here puts them back.

mod memory;
mod shard;

use super::budget::Budget;
use crate::hash::Key;
use crate::shared::names::{ShardName, Sharded};
use crate::shared::{Store, Update, update};
use crate::time::Nanos;
use memory::Memory;

pub use shard::{ENTRY_BYTES, MAX_BYTES, MAX_ENTRIES, Shard, Sum};

/// No window ends later than a day from now: what does is foreign.
pub const MAX_WINDOW: Nanos = Nanos::from_secs(86_400);

/// A spent key is asked about again after a second: another worker may have settled it.
const BELIEVED: Nanos = Nanos::from_secs(1);

const SHARDS: usize = Sharded::Sums.shards() as usize;

/// Bytes that [`Sums::new`] allocates, exactly.
pub const MEMORY_BYTES: u64 = Memory::BYTES + MAX_BYTES as u64;

/// Bytes that all workers of the process together have in shared data at the most.
pub const SHARED_BYTES: u64 = (SHARDS * MAX_BYTES) as u64;

/// What a key had added up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The sum before this charge. From `most` on nothing was added.
    pub before: u32,
    /// When the window ends and the sum is forgotten.
    pub end: Nanos,
}

/// Counts since the worker began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Charges that asked shared data.
    pub asked: u64,
    /// Charges answered from memory: the key was known to be spent.
    pub remembered: u64,
    /// Charges not known because the budget was spent.
    pub unsynced: u64,
    /// Charges not known because a shard was full of larger sums.
    pub full: u64,
    /// Changes given up: every write was forestalled, or the host refused.
    pub given_up: u64,
    /// Writes that another worker's write forestalled.
    pub cas_lost: u64,
    /// Values in shared data that made no sense and were taken for empty.
    pub corrupt: u64,
}

/// One worker's end of the sums. See the [module](self) for how they work.
pub struct Sums<S> {
    store: S,
    blob: Vec<u8>,
    spent: Memory,
    budget: Budget,
    /// Entries of each shard when it was last read: what an exchange with it costs.
    lengths: [u16; SHARDS],
    stats: Stats,
}

impl<S: Store> Sums<S> {
    /// Knows nothing yet, and allocates [`MEMORY_BYTES`].
    pub fn new(store: S) -> Self {
        Sums {
            store,
            blob: Vec::with_capacity(MAX_BYTES),
            spent: Memory::new(),
            budget: Budget::default(),
            lengths: [0; SHARDS],
            stats: Stats::default(),
        }
    }

    /// Adds `amount` to a key's sum unless that has reached `most`. A window that runs keeps its end; else it begins now
    /// and ends at `end`, at most [`MAX_WINDOW`] from now. `None` where the sum is not known: nothing was added.
    pub fn charge(&mut self, key: Key, amount: u32, most: u32, end: Nanos, now: Nanos) -> Option<Charged> {
        if let Some(known) = self.spent.find(key, now).filter(|known| known.before >= most) {
            self.stats.remembered += 1;
            return Some(known);
        }
        if !self.afford(key, now) {
            self.stats.unsynced += 1;
            return None;
        }
        self.stats.asked += 1;
        let mut answer = None;
        let end = end.min(now + MAX_WINDOW);
        let done = self.change(key, now, |shard| answer = shard.charge(key, Sum { sum: amount, end }, most));
        if !done {
            return None;
        }
        self.stats.full += u64::from(answer.is_none());
        let charged = answer?;
        if charged.before >= most {
            self.spent.put(key, charged, now + BELIEVED);
        }
        Some(charged)
    }

    /// Forgets a key's sum, for all workers: those that know it to be spent within a second. Says whether shared data
    /// could be had.
    pub fn settle(&mut self, key: Key, now: Nanos) -> bool {
        self.spent.forget(key);
        self.change(key, now, |shard| shard.remove(key))
    }

    /// Forgets everything here: under another seed or epoch the keys mean nothing any more. What is in shared data ends
    /// by itself.
    pub fn clear(&mut self) {
        self.spent.clear();
        self.budget = Budget::default(); // the clock may be another
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Any charge may be the last that a quota admits, so all may spend the whole budget.
    fn afford(&mut self, key: Key, now: Nanos) -> bool {
        let length = self.lengths.get(Sharded::Sums.of(key)).copied().unwrap_or_default();
        self.budget.take(usize::from(length), true, now)
    }

    fn change(&mut self, key: Key, now: Nanos, mut act: impl FnMut(&mut Shard)) -> bool {
        let (at, mut corrupt, mut length) = (Sharded::Sums.of(key), false, 0);
        let name = ShardName::new(Sharded::Sums, at);
        let outcome = update(&mut self.store, name.as_str(), &mut self.blob, |bytes| {
            let mut shard = Shard::open(bytes, now);
            act(&mut shard);
            (corrupt, length) = (shard.corrupt(), shard.entries());
            shard.changed()
        });
        // A foreign value may have been longer than any of ours.
        self.blob.shrink_to(MAX_BYTES);
        if let Some(known) = self.lengths.get_mut(at) {
            *known = length.min(MAX_ENTRIES) as u16;
        }
        self.count(outcome, corrupt);
        outcome.done
    }

    fn count(&mut self, outcome: Update, corrupt: bool) {
        self.stats.cas_lost += u64::from(outcome.conflicts);
        self.stats.given_up += u64::from(!outcome.done);
        self.stats.corrupt += u64::from(corrupt);
    }
}

#[cfg(test)]
mod tests;
