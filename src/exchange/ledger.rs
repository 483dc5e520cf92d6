//! One shard of the ledger: a blob of entries `(key, tat, who)` that all workers of the process change under
//! compare-and-swap.
//!
//! 24 bytes per entry: key u64, `tat` u64 in ns, [`Who`] u64, little-endian, in no order. Finding a key reads the
//! blob once (128 entries: about 30 ns). An entry whose `tat` has passed says nothing and gives its place away; in
//! a full shard the mildest entry gives way to one that owes more. What finds no place even then is not recorded:
//! each worker keeps its own bucket for that key, until it owes more than the mildest recorded one.
//! Every byte is hostile: a blob that is no whole number of entries, or longer than [`MAX_ENTRIES`], is empty.

use super::bytes::{MAX_VALUE, emptied_if_foreign, u64_at, write};
use super::who::Who;
use crate::hash::Key;
use crate::time::Nanos;

/// Bytes per entry.
pub const ENTRY_BYTES: usize = 24;

/// Entries that any shard may have.
pub const MAX_ENTRIES: usize = MAX_VALUE / ENTRY_BYTES;

/// Entries per shard that a table of `slots` asks for: 128 (65,536 in all shards) up to 50,000 slots, and in
/// proportion above, so that what fits one worker's table also fits the ledger of all.
pub fn room(slots: u32) -> usize {
    (slots.div_ceil(50_000).max(1) as usize * 128).min(MAX_ENTRIES)
}

/// What the ledger knows of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The bucket, as [`Quota`](crate::counters::bucket::Quota) has it.
    pub tat: Nanos,
    /// The workers that use the key.
    pub who: Who,
}

/// Where a key's entry is, or may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    own: Option<usize>,
    mildest: Option<(usize, Nanos)>,
}

/// A shard, open for reading and change.
pub struct Shard<'a> {
    bytes: &'a mut Vec<u8>,
    room: usize,
    corrupt: bool,
    changed: bool,
}

impl<'a> Shard<'a> {
    /// Opens a blob that may grow to `room` entries. A blob that can't be a shard is emptied, which is a change.
    pub fn open(bytes: &'a mut Vec<u8>, room: usize) -> Shard<'a> {
        let corrupt = emptied_if_foreign(bytes, ENTRY_BYTES, MAX_ENTRIES);
        Shard { bytes, room, corrupt, changed: corrupt }
    }

    /// Whether the blob had to be emptied.
    pub fn corrupt(&self) -> bool {
        self.corrupt
    }

    /// Whether the blob differs from what was opened.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Looks for a key, and for the entry that would have to give way to it.
    pub fn seat(&self, key: Key) -> Seat {
        let mut mildest: Option<(usize, Nanos)> = None;
        for (at, record) in self.records().enumerate() {
            let tat = tat_of(record);
            if key_of(record) == key {
                return Seat { own: Some(at), mildest };
            }
            if mildest.is_none_or(|(_, least)| tat < least) {
                mildest = Some((at, tat));
            }
        }
        Seat { own: None, mildest }
    }

    /// The entry at a seat; an unknown key is a full bucket that nobody uses.
    pub fn entry(&self, seat: Seat) -> Entry {
        let record = seat.own.and_then(|at| self.records().nth(at));
        record.map_or(Entry::default(), |record| Entry { tat: tat_of(record), who: Who(u64_at(record, 16)) })
    }

    /// Records an entry: in its own place, else in that of an expired one, else at the end, else in that of the
    /// mildest if it owes less. Says whether the shard now has it.
    pub fn put(&mut self, seat: Seat, key: Key, entry: Entry, now: Nanos) -> bool {
        if seat.own.is_some() && self.entry(seat) == entry {
            return true;
        }
        let Some(at) = self.place(seat, entry.tat, now) else { return false };
        let bytes = record(key, entry);
        match self.bytes.get_mut(at * ENTRY_BYTES..(at + 1) * ENTRY_BYTES) {
            Some(place) => place.copy_from_slice(&bytes),
            None => self.bytes.extend_from_slice(&bytes),
        }
        self.changed = true;
        true
    }

    /// Removes all entries whose key carries one of `tags`.
    pub fn remove_tags(&mut self, tags: &[u16]) {
        let mut at = 0;
        while let Some(record) = self.records().nth(at) {
            if tags.contains(&key_of(record).tag()) {
                self.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// The latest `tat` of all entries: from then on, whoever is not known here has a full bucket.
    pub fn latest(&self) -> Nanos {
        self.records().map(tat_of).max().unwrap_or_default()
    }

    fn place(&self, seat: Seat, tat: Nanos, now: Nanos) -> Option<usize> {
        let len = self.records().len();
        let replaced = |limit: Nanos| seat.mildest.filter(|(_, least)| *least < limit).map(|(at, _)| at);
        let appended = (len < self.room).then_some(len);
        seat.own.or_else(|| replaced(now + Nanos(1))).or(appended).or_else(|| replaced(tat))
    }

    fn remove(&mut self, at: usize) {
        let last = self.bytes.len().saturating_sub(ENTRY_BYTES);
        self.bytes.copy_within(last.., at * ENTRY_BYTES);
        self.bytes.truncate(last);
        self.changed = true;
    }

    fn records(&self) -> core::slice::ChunksExact<'_, u8> {
        self.bytes.chunks_exact(ENTRY_BYTES)
    }
}

fn key_of(record: &[u8]) -> Key {
    Key(u64_at(record, 0))
}

fn tat_of(record: &[u8]) -> Nanos {
    Nanos(u64_at(record, 8))
}

fn record(key: Key, entry: Entry) -> [u8; ENTRY_BYTES] {
    let mut record = [0; ENTRY_BYTES];
    write(&mut record, 0, &key.0.to_le_bytes());
    write(&mut record, 8, &entry.tat.0.to_le_bytes());
    write(&mut record, 16, &entry.who.0.to_le_bytes());
    record
}

#[cfg(test)]
mod tests;
