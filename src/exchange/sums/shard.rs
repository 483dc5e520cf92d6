//! One shard of the sums: a blob of entries `(key, end, sum)` that all workers of the process change under
//! compare-and-swap.
//!
//! 24 bytes per entry: key u64, end u64 in ns, sum u32, 4 bytes of 0, little-endian, in no order. Finding a key reads the
//! blob once. An entry whose window is over says nothing and gives its place away. In a full shard the smallest sum (of
//! equal ones that which ends first) gives way to a newcomer of at least as much: so whoever makes up keys displaces
//! those who did as little, and nobody who is near a limit.
//! Every byte is hostile: a blob that is no whole number of entries, or longer than [`MAX_ENTRIES`], is empty; a window
//! that ends further ahead than any of ours is over.

use super::{Charged, MAX_WINDOW};
use crate::hash::Key;
use crate::shared::bytes::{emptied_if_foreign, u32_at, u64_at, write};
use crate::time::Nanos;

/// Bytes per entry.
pub const ENTRY_BYTES: usize = 24;

/// Entries that a shard may have: 65,536 in all. A charge reads and writes them all, so twice as many would let half as
/// many charges be made under a flood.
pub const MAX_ENTRIES: usize = 1024;

/// Bytes of a full shard.
pub const MAX_BYTES: usize = MAX_ENTRIES * ENTRY_BYTES;

/// Another worker may have read its clock a little later.
const SKEW: Nanos = Nanos::from_secs(60);

/// What a key added up to, until the window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The sum.
    pub sum: u32,
    /// When it is forgotten.
    pub end: Nanos,
}

/// A shard, open for reading and change.
pub struct Shard<'a> {
    bytes: &'a mut Vec<u8>,
    now: Nanos,
    corrupt: bool,
    changed: bool,
}

/// Where a key's entry is, and one that is over.
#[derive(Clone, Copy, Default)]
struct Seat {
    own: Option<usize>,
    over: Option<usize>,
}

impl<'a> Shard<'a> {
    /// Opens a blob. One that can't be a shard is emptied, which is a change.
    pub fn open(bytes: &'a mut Vec<u8>, now: Nanos) -> Shard<'a> {
        let corrupt = emptied_if_foreign(bytes, ENTRY_BYTES, MAX_ENTRIES);
        Shard { bytes, now, corrupt, changed: corrupt }
    }

    /// Whether the blob had to be emptied.
    pub fn corrupt(&self) -> bool {
        self.corrupt
    }

    /// Whether the blob differs from what was opened.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Entries, those that are over included.
    pub fn entries(&self) -> usize {
        self.bytes.len() / ENTRY_BYTES
    }

    /// A key's sum, while its window runs.
    pub fn get(&self, key: Key) -> Option<Sum> {
        self.sum_at(self.seat(key).own?).filter(|sum| self.runs(sum))
    }

    /// Adds what `more` has to a key's sum, unless that has reached `most`. A window that runs keeps its end. `None` where
    /// there is no place.
    pub fn charge(&mut self, key: Key, more: Sum, most: u32) -> Option<Charged> {
        let seat = self.seat(key);
        let known = seat.own.and_then(|at| self.sum_at(at)).filter(|sum| self.runs(sum));
        let Sum { sum: before, end } = known.unwrap_or(Sum { sum: 0, ..more });
        let sum = Sum { sum: before.saturating_add(more.sum), end };
        if before < most && sum.sum > before && self.runs(&sum) {
            let at = seat.own.or(seat.over).or_else(|| self.place(sum.sum))?;
            self.put(at, key, sum);
        }
        Some(Charged { before, end })
    }

    /// Forgets a key's sum.
    pub fn remove(&mut self, key: Key) {
        let Some(at) = self.seat(key).own else { return };
        let last = self.bytes.len().saturating_sub(ENTRY_BYTES);
        self.bytes.copy_within(last.., at * ENTRY_BYTES);
        self.bytes.truncate(last);
        self.changed = true;
    }

    fn seat(&self, key: Key) -> Seat {
        let mut seat = Seat::default();
        for (at, record) in self.records().enumerate() {
            if u64_at(record, 0) == key.0 {
                return Seat { own: Some(at), ..seat };
            }
            if !self.runs(&sum_of(record)) {
                seat.over = Some(at);
            }
        }
        seat
    }

    /// At the end, else in the place of the smallest sum.
    fn place(&self, sum: u32) -> Option<usize> {
        if self.entries() < MAX_ENTRIES {
            return Some(self.entries());
        }
        let all = self.records().map(sum_of).enumerate();
        let (at, smallest) = all.min_by_key(|(_, other)| (other.sum, other.end))?;
        (smallest.sum <= sum).then_some(at)
    }

    fn put(&mut self, at: usize, key: Key, sum: Sum) {
        let mut record = [0; ENTRY_BYTES];
        write(&mut record, 0, &key.0.to_le_bytes());
        write(&mut record, 8, &sum.end.0.to_le_bytes());
        write(&mut record, 16, &sum.sum.to_le_bytes());
        match self.bytes.get_mut(at * ENTRY_BYTES..(at + 1) * ENTRY_BYTES) {
            Some(place) => place.copy_from_slice(&record),
            None => self.bytes.extend_from_slice(&record),
        }
        self.changed = true;
    }

    fn runs(&self, sum: &Sum) -> bool {
        sum.end > self.now && sum.end <= self.now + MAX_WINDOW + SKEW
    }

    fn sum_at(&self, at: usize) -> Option<Sum> {
        self.records().nth(at).map(sum_of)
    }

    fn records(&self) -> core::slice::ChunksExact<'_, u8> {
        self.bytes.chunks_exact(ENTRY_BYTES)
    }
}

fn sum_of(record: &[u8]) -> Sum {
    Sum { sum: u32_at(record, 16), end: Nanos(u64_at(record, 8)) }
}
