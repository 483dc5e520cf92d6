//! One shard of the process's counts: a blob of entries `(key, count, tick)` that all workers change under
//! compare-and-swap.
//!
//! 16 bytes per entry: key u64, count u32 in sixteenths, tick u32, little-endian, in no order. A count halves with each tick
//! since its own; one of which nothing is left gives its place away. In a full shard the smallest gives way to a larger
//! newcomer. Every byte is hostile: a blob that is no whole number of entries, or longer than [`MAX_ENTRIES`], is empty; a
//! tick that lies ahead by more than one (another worker may have read its clock later) is of another clock, and its count 0.

use super::tally::Tally;
use crate::hash::Key;
use crate::shared::bytes::{emptied_if_foreign, u32_at, u64_at, write};

/// Bytes per entry.
pub const ENTRY_BYTES: usize = 16;

/// Entries that a shard may have: 65,536 of a kind in all.
pub const MAX_ENTRIES: usize = 256;

/// No count of ours is larger: 65,535 events.
const LARGEST: u32 = 0xf_ffff;

/// Bytes of a full shard.
pub const MAX_BYTES: usize = MAX_ENTRIES * ENTRY_BYTES;

/// A shard, open for reading and change.
pub struct Shard<'a> {
    bytes: &'a mut Vec<u8>,
    tick: u32,
    corrupt: bool,
    changed: bool,
}

impl<'a> Shard<'a> {
    /// Opens a blob in this tick. One that can't be a shard is emptied, which is a change.
    pub fn open(bytes: &'a mut Vec<u8>, tick: u32) -> Shard<'a> {
        let corrupt = emptied_if_foreign(bytes, ENTRY_BYTES, MAX_ENTRIES);
        Shard { bytes, tick, corrupt, changed: corrupt }
    }

    /// Whether the blob had to be emptied.
    pub fn corrupt(&self) -> bool {
        self.corrupt
    }

    /// Whether the blob differs from what was opened.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// A key's count in sixteenths.
    pub fn get(&self, key: Key) -> u32 {
        self.records().find(|record| u64_at(record, 0) == key.0).map_or(0, |record| self.left(record))
    }

    /// Adds what a worker has of a key, and gives back what it has now; `false`: there was no place,
    /// and only this worker knows.
    pub fn join(&mut self, key: Key, tally: Tally) -> (Tally, bool) {
        let own = self.records().position(|record| u64_at(record, 0) == key.0);
        let count = tally.joined(self.get(key));
        let place = own.or_else(|| self.place(count));
        if let Some(at) = place {
            self.put(at, key, count);
        }
        (Tally::heard(count, self.tick, tally.most()), place.is_some())
    }

    /// Where nothing is left, else at the end, else in the place of the smallest count.
    fn place(&self, count: u32) -> Option<usize> {
        let entries = self.records().len();
        let left = self.records().map(|record| self.left(record)).enumerate();
        match left.min_by_key(|(_, left)| *left) {
            Some((at, 0)) => Some(at),
            _ if entries < MAX_ENTRIES => Some(entries),
            Some((at, least)) => (least < count).then_some(at),
            None => None,
        }
    }

    fn put(&mut self, at: usize, key: Key, count: u32) {
        let mut record = [0; ENTRY_BYTES];
        write(&mut record, 0, &key.0.to_le_bytes());
        write(&mut record, 8, &count.to_le_bytes());
        write(&mut record, 12, &self.tick.to_le_bytes());
        match self.bytes.get_mut(at * ENTRY_BYTES..(at + 1) * ENTRY_BYTES) {
            Some(place) => place.copy_from_slice(&record),
            None => self.bytes.extend_from_slice(&record),
        }
        self.changed = true;
    }

    /// What is left of an entry's count in this tick.
    fn left(&self, record: &[u8]) -> u32 {
        let (count, tick) = (u32_at(record, 8), u32_at(record, 12));
        let foreign = tick > self.tick.saturating_add(1);
        if foreign { 0 } else { count.min(LARGEST) >> self.tick.saturating_sub(tick).min(31) }
    }

    fn records(&self) -> core::slice::ChunksExact<'_, u8> {
        self.bytes.chunks_exact(ENTRY_BYTES)
    }
}
