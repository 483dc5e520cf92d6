//! One shard of the baselines: a blob of [entries](super::entry) that all workers of the process change under
//! compare-and-swap.
//!
//! In no order. A key that knows its place from last time is found at once, another by a look through the shard (782
//! entries: about half a microsecond). What nobody used for an hour, or claims to be of the future, gives its place
//! away. In a full shard newcomers compete: the entry of which least was seen lately gives way to one of which more
//! was, and stays where it is as much. So keys that come once displace one another, and none that comes again and again.
//! What finds no place is not judged.

use super::entry::{ENTRY_BYTES, Entry, bucket_of, key_of, worth_of};
use super::moment::Moment;
use super::stats::Stats;
use crate::counters::ewma::Span;
use crate::hash::Key;
use crate::shared::bytes::{MAX_VALUE, emptied_if_foreign};
use crate::shared::names::{ShardName, Sharded};
use crate::shared::{Store, Update, update};

/// Shards, which are ranges of every worker's table.
pub const SHARDS: u32 = Sharded::Traffic.shards();

/// Entries that any shard may have.
pub const MAX_ENTRIES: usize = MAX_VALUE / ENTRY_BYTES;

/// Entries per shard for so many keys.
pub fn room(keys: u32) -> usize {
    (keys.div_ceil(SHARDS).max(1) as usize).min(MAX_ENTRIES)
}

/// Changes shard `number`, all or nothing, and counts how that went.
pub fn change(
    store: &mut impl Store,
    number: usize,
    room: usize,
    blob: &mut Vec<u8>,
    stats: &mut Stats,
    mut act: impl FnMut(&mut Shard),
) -> Update {
    let name = ShardName::new(Sharded::Traffic, number);
    let outcome = update(store, name.as_str(), blob, |bytes| {
        let mut shard = Shard::open(bytes, room);
        stats.corrupt += u64::from(shard.corrupt());
        act(&mut shard);
        shard.changed()
    });
    stats.count(outcome);
    outcome
}

/// Where a key's entry is, or one that may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    own: Option<usize>,
    free: Option<usize>,
}

/// A shard, open for reading and change.
pub struct Shard<'a> {
    bytes: &'a mut Vec<u8>,
    room: usize,
    corrupt: bool,
    changed: bool,
    /// No entry is worth less: found when first looked for, and true for as long as the shard is open.
    least: f32,
}

impl<'a> Shard<'a> {
    /// Opens a blob that may grow to `room` entries. A blob that can't be a shard is emptied.
    pub fn open(bytes: &'a mut Vec<u8>, room: usize) -> Shard<'a> {
        let corrupt = emptied_if_foreign(bytes, ENTRY_BYTES, MAX_ENTRIES);
        Shard { bytes, room, corrupt, changed: corrupt, least: 0.0 }
    }

    /// Whether the blob had to be emptied.
    pub fn corrupt(&self) -> bool {
        self.corrupt
    }

    /// Whether the blob differs from what was opened.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// Looks for a key, first at its last place, and on the way for an entry that may go.
    pub fn seat(&self, key: Key, place: usize, at: &Moment) -> Seat {
        if self.record(place).is_some_and(|record| key_of(record) == key) {
            return Seat { own: Some(place), free: None };
        }
        let mut free = None;
        for (place, record) in self.bytes.chunks_exact(ENTRY_BYTES).enumerate() {
            if key_of(record) == key {
                return Seat { own: Some(place), free };
            }
            if is_free(record, at) {
                free = Some(place);
            }
        }
        Seat { own: None, free }
    }

    /// The entry at a seat, taught with this span, if the key has one that makes sense.
    pub fn entry(&self, seat: Seat, span: &Span, at: &Moment) -> Option<Entry> {
        let record = self.record(seat.own?).filter(|record| !is_free(record, at))?;
        Some(Entry::read(record, span))
    }

    /// Records an entry: in its own place, else in that of one that may go, else at the end, else in that of the one
    /// that is worth least, if that is less. Says where.
    pub fn put(&mut self, seat: Seat, key: Key, entry: &Entry, at: &Moment) -> Option<usize> {
        let end = self.bytes.len() / ENTRY_BYTES;
        let appended = (end < self.room).then_some(end);
        let record = entry.record(key);
        let place = seat.own.or(seat.free).or(appended);
        let place = place.or_else(|| self.cheaper_than(worth_of(&record, at.bucket), at))?;
        match self.bytes.get_mut(place * ENTRY_BYTES..(place + 1) * ENTRY_BYTES) {
            Some(same) if *same == record => return Some(place),
            Some(place) => place.copy_from_slice(&record),
            None => self.bytes.extend_from_slice(&record),
        }
        self.changed = true;
        Some(place)
    }

    /// The entry that is worth least, if that is less.
    fn cheaper_than(&mut self, worth: f32, at: &Moment) -> Option<usize> {
        if worth <= self.least {
            return None;
        }
        let worths = self.bytes.chunks_exact(ENTRY_BYTES).map(|record| worth_of(record, at.bucket));
        let (place, least) = worths.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        self.least = least;
        (least < worth).then_some(place)
    }

    fn record(&self, place: usize) -> Option<&[u8]> {
        self.bytes.get(place * ENTRY_BYTES..(place + 1) * ENTRY_BYTES)
    }
}

/// Idle for an hour, or foreign. Another worker may be one bucket ahead.
fn is_free(record: &[u8], at: &Moment) -> bool {
    let bucket = bucket_of(record);
    bucket.saturating_add(at.hour()) <= at.bucket || bucket > at.bucket.saturating_add(1)
}

#[cfg(test)]
mod tests;
