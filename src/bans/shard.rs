//! One shard of the bans: a blob of records that all workers of the process change under compare-and-swap.
//!
//! 32 bytes per entry, little-endian, in no order:
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 8 | key |
//! | 8 | 8 | until in ns |
//! | 16 | 8 | keep in ns |
//! | 24 | 4 | generation |
//! | 28 | 1 | reason |
//! | 29 | 3 | [`Era`] of the key |
//!
//! Finding a key reads the blob once. Every byte is hostile: a blob that is no whole number of entries, or longer than
//! [`MAX_ENTRIES`], is empty. An entry says nothing if its time is over, if its times lie further ahead than any of ours,
//! or if its key belongs into another shard: its place is free. One of another era says nothing to us, but may to a
//! worker that is ahead: its place is taken only in a full shard.

use super::record::{MAX_BAN, Reason, Record};
use crate::hash::{Key, Seed};
use crate::shared::bytes::{MAX_VALUE, emptied_if_foreign, u32_at, u64_at, write};
use crate::shared::names::Sharded;
use crate::time::Nanos;

/// Bytes per entry.
pub const ENTRY_BYTES: usize = 32;

/// Entries that a shard may have: 98,304 in all.
pub const MAX_ENTRIES: usize = MAX_VALUE / ENTRY_BYTES;

/// Another worker may have read its clock a little later.
const SKEW: Nanos = Nanos::from_secs(60);

/// Under which seed and epoch a key was made: 24 bits of both. What was banned under others can't be found any more, and
/// must neither fill tables nor count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era([u8; 3]);

impl Era {
    /// The era of a seed and an epoch.
    pub fn of(seed: &Seed, epoch: u32) -> Era {
        let [a, b, c, ..] = seed.hasher().number(u64::from(epoch)).finish().to_le_bytes();
        Era([a, b, c])
    }
}

/// What stands at one place of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Something that counts.
    Of(Key, Record),
    /// Nothing that counts.
    Free,
    /// Something of another era.
    Alien,
}

/// A shard, open for reading and change.
pub struct Shard<'a> {
    bytes: &'a mut Vec<u8>,
    number: usize,
    era: Era,
    now: Nanos,
    corrupt: bool,
    changed: bool,
}

impl<'a> Shard<'a> {
    /// Opens the blob of shard `number`. One that can't be a shard is emptied, which is a change.
    pub fn open(bytes: &'a mut Vec<u8>, number: usize, era: Era, now: Nanos) -> Shard<'a> {
        let corrupt = emptied_if_foreign(bytes, ENTRY_BYTES, MAX_ENTRIES);
        Shard { bytes, number, era, now, corrupt, changed: corrupt }
    }

    /// Whether the blob had to be emptied.
    pub fn corrupt(&self) -> bool {
        self.corrupt
    }

    /// Whether the blob differs from what was opened.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Places, free ones included.
    pub fn places(&self) -> usize {
        self.bytes.len() / ENTRY_BYTES
    }

    /// What stands at a place.
    pub fn at(&self, place: usize) -> Entry {
        let bytes = self.bytes.get(place * ENTRY_BYTES..(place + 1) * ENTRY_BYTES);
        bytes.map_or(Entry::Free, |bytes| self.read(bytes))
    }

    /// What is recorded of a key: nothing is the default.
    pub fn get(&self, key: Key) -> Record {
        self.find(key).map_or(Record::default(), |(_, record)| record)
    }

    /// Records what is known of a key. Says whether the shard now has it: not where it is full.
    pub fn put(&mut self, key: Key, record: Record) -> bool {
        if !record.counts(self.now) {
            return true;
        }
        match self.find(key) {
            Some((_, known)) if known == record => true,
            Some((place, _)) => self.write(place, key, record),
            None => match self.free() {
                Some(place) => self.write(place, key, record),
                None => self.add(key, record),
            },
        }
    }

    /// Records a key that the shard doesn't have: at the end, else in the place of one of another era. Says whether the
    /// shard now has it.
    pub fn add(&mut self, key: Key, record: Record) -> bool {
        let end = self.places();
        let appended = (end < MAX_ENTRIES).then_some(end);
        let place = appended.or_else(|| (0..end).find(|place| self.at(*place) == Entry::Alien));
        place.is_some_and(|place| self.write(place, key, record))
    }

    /// Overwrites a place, or appends.
    pub fn write(&mut self, place: usize, key: Key, record: Record) -> bool {
        let bytes = encode(key, record, self.era);
        match self.bytes.get_mut(place * ENTRY_BYTES..(place + 1) * ENTRY_BYTES) {
            Some(old) => old.copy_from_slice(&bytes),
            None => self.bytes.extend_from_slice(&bytes),
        }
        self.changed = true;
        true
    }

    /// Cuts off the free places.
    pub fn tidy(&mut self) {
        let mut place = 0;
        while place < self.places() {
            if self.at(place) == Entry::Free {
                let last = self.bytes.len() - ENTRY_BYTES;
                self.bytes.copy_within(last.., place * ENTRY_BYTES);
                self.bytes.truncate(last);
                self.changed = true;
            } else {
                place += 1;
            }
        }
    }

    fn free(&self) -> Option<usize> {
        (0..self.places()).find(|place| self.at(*place) == Entry::Free)
    }

    fn find(&self, key: Key) -> Option<(usize, Record)> {
        let mut places = self.bytes.chunks_exact(ENTRY_BYTES).enumerate();
        places.find_map(|(place, bytes)| match self.read(bytes) {
            Entry::Of(other, record) if other == key => Some((place, record)),
            _ => None,
        })
    }

    fn read(&self, bytes: &[u8]) -> Entry {
        let (key, record) = decode(bytes);
        let end = self.now + MAX_BAN + SKEW;
        if !record.counts(self.now) || record.keep > end || Sharded::Bans.of(key) != self.number {
            Entry::Free
        } else if bytes.get(29..) == Some(&self.era.0) {
            Entry::Of(key, record)
        } else {
            Entry::Alien
        }
    }
}

fn decode(bytes: &[u8]) -> (Key, Record) {
    let until = Nanos(u64_at(bytes, 8));
    let reason = Reason::from_byte(bytes.get(28).copied().unwrap_or_default());
    let keep = Nanos(u64_at(bytes, 16)).max(until);
    (Key(u64_at(bytes, 0)), Record { until, keep, generation: u32_at(bytes, 24), reason })
}

fn encode(key: Key, record: Record, era: Era) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    write(&mut bytes, 0, &key.0.to_le_bytes());
    write(&mut bytes, 8, &record.until.0.to_le_bytes());
    write(&mut bytes, 16, &record.keep.0.to_le_bytes());
    write(&mut bytes, 24, &record.generation.to_le_bytes());
    write(&mut bytes, 28, &[record.reason as u8]);
    write(&mut bytes, 29, &era.0);
    bytes
}

#[cfg(test)]
mod tests;
