//! One shard of the ledger: a blob of entries `(key, tat, who)` that all workers of the process change under
//! compare-and-swap.
//!
//! 24 bytes per entry: key u64, `tat` u64 in ns, [`Who`] in 48 bits, [`Pace`] in the six above, little-endian, in no
//! order. Finding a key reads the blob once (128 entries: about 30 ns). An entry whose `tat` has passed says nothing and
//! gives its place away; in a full shard the cheapest entry gives way to one of a higher octave of
//! [`price`](crate::counters::price), where keys that nobody has used for some seconds are four octaves cheaper. What
//! finds no place even then is not recorded: each worker keeps its own bucket for that key, until it owes twice as many
//! events as the cheapest recorded one, or an eighth of those of one that is idle.
//! Every byte is hostile: a blob that is no whole number of entries, or longer than [`MAX_ENTRIES`], is empty.

use super::stats::Stats;
use super::who::Who;
use crate::counters::price::{Pace, Price};
use crate::hash::Key;
use crate::shared::bytes::{MAX_VALUE, emptied_if_foreign, u64_at, write};
use crate::shared::names::{ShardName, Sharded};
use crate::shared::{Store, Update, update};
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
    /// How slow its quota is.
    pub pace: Pace,
}

/// Octaves that an entry is worth less while nobody uses its key: the ledger is for those who are counted by several
/// workers now, and must not be filled once and for all with what a slow rule lets nobody repay.
const IDLE_OCTAVES: u32 = 4;

impl Entry {
    /// What it is worth to have it here: the octave of its price.
    fn worth(&self, now: Nanos) -> u32 {
        let octave = Price::of(self.tat - now, self.pace).octave();
        if self.who.idle(now) { octave.saturating_sub(IDLE_OCTAVES) } else { octave }
    }
}

/// Changes shard `number` of the ledger, all or nothing, and counts how that went.
pub fn change(
    store: &mut impl Store,
    number: usize,
    room: usize,
    blob: &mut Vec<u8>,
    stats: &mut Stats,
    mut act: impl FnMut(&mut Shard),
) -> Update {
    let name = ShardName::new(Sharded::Ledger, number);
    let outcome = update(store, name.as_str(), blob, |bytes| {
        let mut shard = Shard::open(bytes, room);
        stats.corrupt += u64::from(shard.corrupt());
        act(&mut shard);
        shard.changed()
    });
    stats.count(outcome);
    outcome
}

/// Where a key's entry is, or one that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    own: Option<usize>,
    expired: Option<usize>,
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

    /// Looks for a key, and on the way for an entry that says nothing any more.
    pub fn seat(&self, key: Key, now: Nanos) -> Seat {
        let mut expired = None;
        for (at, record) in self.records().enumerate() {
            if key_of(record) == key {
                return Seat { own: Some(at), expired };
            }
            if tat_of(record) <= now {
                expired = Some(at);
            }
        }
        Seat { own: None, expired }
    }

    /// The entry at a seat; an unknown key is a full bucket that nobody uses.
    pub fn entry(&self, seat: Seat) -> Entry {
        let record = seat.own.and_then(|at| self.records().nth(at));
        record.map_or(Entry::default(), entry_of)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = (Key, Entry)> {
        self.records().map(|record| (key_of(record), entry_of(record)))
    }

    /// Records an entry: in its own place, else in that of an expired one, else at the end, else in that of the
    /// cheapest if it is cheaper. Says whether the shard now has it.
    pub fn put(&mut self, seat: Seat, key: Key, entry: Entry, now: Nanos) -> bool {
        if seat.own.is_some() && self.entry(seat) == entry {
            return true;
        }
        let Some(at) = self.place(seat, &entry, now) else { return false };
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

    fn place(&self, seat: Seat, entry: &Entry, now: Nanos) -> Option<usize> {
        let end = self.records().len();
        let appended = (end < self.room).then_some(end);
        seat.own.or(seat.expired).or(appended).or_else(|| self.cheaper_than(entry.worth(now), now))
    }

    /// The entry that is worth least, if that is less.
    fn cheaper_than(&self, worth: u32, now: Nanos) -> Option<usize> {
        let all = self.records().map(|record| entry_of(record).worth(now)).enumerate();
        let (at, least) = all.min_by_key(|(_, worth)| *worth)?;
        (least < worth).then_some(at)
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

fn entry_of(record: &[u8]) -> Entry {
    let last = u64_at(record, 16);
    Entry { tat: tat_of(record), who: Who(last & WHO), pace: Pace::from_bits(last >> Who::BITS) }
}

fn record(key: Key, entry: Entry) -> [u8; ENTRY_BYTES] {
    let mut record = [0; ENTRY_BYTES];
    write(&mut record, 0, &key.0.to_le_bytes());
    write(&mut record, 8, &entry.tat.0.to_le_bytes());
    let last = (entry.who.0 & WHO) | entry.pace.to_bits() << Who::BITS;
    write(&mut record, 16, &last.to_le_bytes());
    record
}

const WHO: u64 = (1 << Who::BITS) - 1;

#[cfg(test)]
mod tests;
