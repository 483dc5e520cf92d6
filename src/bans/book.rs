//! What does this worker know of bans? A fixed table of records, and what the worker has yet to tell of each.
//!
//! ```text
//! active → lapsed (its time is over) → silent (the worker was asked for it once more, and has told)
//! ```
//!
//! * 33 bytes per slot; a range of slots per shard of the shared data.
//! * Asking is one look-up of the table (and none at all while the book is [`quiet`](Book::quiet)).
//! * Full: a record that counts is never evicted, so a newcomer may find no place. With seven slots for four bans next to
//!   none is without (held by a test).
//! * Lapses are noticed when the subject comes or the range is swept; until then they count as active.

use super::record::{Reason, Record};
use crate::counters::table::{Cell, Slot, Stats, Table, WAYS};
use crate::hash::Key;
use crate::shared::names::Sharded;
use crate::time::Nanos;
use core::ops::Range;

const RANGES: u32 = Sharded::Bans.shards();

/// How long a lapse is kept for the subject to come. Its slot is free for others all the while.
const LAPSED_KEPT: Nanos = Nanos::from_secs(3600);

/// A subject's ban.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ban {
    /// When it ends, or ended.
    pub until: Nanos,
    /// Who banned the subject.
    pub reason: Reason,
}

/// How a subject stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not banned.
    Free,
    /// Banned.
    Banned(Ban),
    /// Not banned any more, and this worker says so for the first time. It says so once per ban that it enforced.
    Lapsed(Ban),
}

/// What a worker has yet to tell of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Silent,
    Active,
    Lapsed,
}

/// One slot: a record and its phase, without the padding that a record in a struct would have.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    until: Nanos,
    keep: Nanos,
    generation: u32,
    reason: Reason,
    phase: Phase,
}

impl Page {
    fn new(record: Record, phase: Phase) -> Page {
        let Record { until, keep, generation, reason } = record;
        Page { until, keep, generation, reason, phase }
    }

    fn record(&self) -> Record {
        Record { until: self.until, keep: self.keep, generation: self.generation, reason: self.reason }
    }

    fn ban(&self) -> Ban {
        Ban { until: self.until, reason: self.reason }
    }

    /// Its phase, seen at `now`. What was unbanned or was over when this worker heard of it has nothing to tell.
    fn phase_at(&self, now: Nanos) -> Phase {
        match self.phase {
            _ if self.record().bans(now) => Phase::Active,
            _ if self.until == Nanos::ZERO => Phase::Silent,
            Phase::Active => Phase::Lapsed,
            phase => phase,
        }
    }
}

impl Cell for Page {
    /// What counts must stay; the rest is free to go.
    fn stake(&self, now: Nanos) -> Option<u64> {
        (!self.record().counts(now)).then_some(0)
    }
}

/// One worker's knowledge. See the [module](self).
pub struct Book {
    table: Table<Page>,
    active: u32,
    lapsed: u32,
}

impl Book {
    /// An empty book with places for `bans` bans.
    pub fn new(bans: u32) -> Book {
        Book { table: Table::new(RANGES, slots(bans)), active: 0, lapsed: 0 }
    }

    /// Bytes that [`Book::new`] allocates.
    pub fn memory_bytes(bans: u32) -> u64 {
        Table::<Page>::memory_bytes(RANGES, slots(bans))
    }

    /// Slots that [`Book::new`] makes for `bans` bans.
    pub fn slots_for(bans: u32) -> u64 {
        Table::<Page>::slots_for(RANGES, slots(bans))
    }

    /// Nobody is banned, and there is nothing to tell of those who were.
    pub fn quiet(&self) -> bool {
        self.active == 0 && self.lapsed == 0
    }

    /// Bans in force, those included whose end was not noticed yet.
    pub fn active(&self) -> u64 {
        u64::from(self.active)
    }

    /// What the table counted.
    pub fn stats(&self) -> Stats {
        self.table.stats()
    }

    /// How a subject stands. A lapse is told once.
    pub fn check(&mut self, key: Key, now: Nanos) -> Standing {
        let Some(slot) = self.table.find(key) else { return Standing::Free };
        let page = self.table.cell(slot);
        let phase = page.phase_at(now);
        let told = if phase == Phase::Lapsed { Phase::Silent } else { phase };
        if told != page.phase {
            self.put(slot, Page { phase: told, ..page });
        }
        match phase {
            Phase::Silent => Standing::Free,
            Phase::Active => Standing::Banned(page.ban()),
            Phase::Lapsed => Standing::Lapsed(page.ban()),
        }
    }

    /// What is known of a key: nothing is the default.
    pub fn get(&self, key: Key) -> Record {
        self.table.find(key).map_or(Record::default(), |slot| self.at(slot))
    }

    /// What is known in a slot.
    pub fn at(&self, slot: Slot) -> Record {
        self.table.cell(slot).record()
    }

    /// The slot of a key, a new one if need be. `None` where all that it may have are taken by what counts.
    pub fn slot(&mut self, key: Key, now: Nanos) -> Option<Slot> {
        if let Some(slot) = self.table.find(key) {
            return Some(slot);
        }
        let placed = self.table.insert(key, 1, now).ok()?;
        if let Some((_, page)) = placed.evicted {
            self.count(page.phase, u32::wrapping_sub);
        }
        Some(placed.slot)
    }

    /// Joins a record that counts to what is known of a key. `None` where there is no place.
    pub fn join(&mut self, key: Key, record: Record, now: Nanos) -> Option<Slot> {
        let slot = self.slot(key, now)?;
        let page = self.table.cell(slot);
        let joined = Page::new(page.record().join(record), page.phase);
        self.put(slot, Page { phase: joined.phase_at(now), ..joined });
        Some(slot)
    }

    /// The slots of a shard's keys.
    pub fn slots_of(&self, shard: usize) -> Range<usize> {
        shard * self.table.slots_per_range()..(shard + 1) * self.table.slots_per_range()
    }

    /// The slots of a shard's keys in which something counts.
    pub fn counting(&self, shard: usize, now: Nanos) -> impl Iterator<Item = Slot> {
        self.slots_of(shard).map(Slot::at).filter(move |slot| self.at(*slot).counts(now))
    }

    /// The key in a slot.
    pub fn key(&self, slot: Slot) -> Option<Key> {
        self.table.key(slot)
    }

    /// Notices what has lapsed among a shard's keys, and frees what nobody needs any more.
    pub fn sweep(&mut self, shard: usize, now: Nanos) {
        for slot in self.slots_of(shard).map(Slot::at) {
            if self.table.key(slot).is_some() {
                self.sweep_slot(slot, now);
            }
        }
    }

    fn sweep_slot(&mut self, slot: Slot, now: Nanos) {
        let page = self.table.cell(slot);
        let phase = page.phase_at(now);
        let waits = phase == Phase::Lapsed && now - page.keep < LAPSED_KEPT;
        if page.record().counts(now) || waits {
            self.put(slot, Page { phase, ..page });
        } else {
            self.put(slot, Page::default());
            self.table.remove(slot);
        }
    }

    /// Forgets everything, and keeps the counts of what happened.
    pub fn clear(&mut self) {
        self.table.clear();
        (self.active, self.lapsed) = (0, 0);
    }

    /// Takes over what counts in another book. Returns how many records found no place.
    pub fn take_over(&mut self, other: &Book, now: Nanos) -> u64 {
        let mut lost = 0;
        for (_, key, page) in other
            .table
            .iter()
            .filter(|(_, _, page)| page.phase_at(now) != Phase::Silent || page.record().counts(now))
        {
            match self.slot(key, now) {
                Some(slot) => self.put(slot, *page),
                None => lost += 1,
            }
        }
        lost
    }

    /// All bans in force.
    pub fn bans(&self, now: Nanos) -> impl Iterator<Item = (Key, Ban)> {
        let all = self.table.iter().filter(move |(_, _, page)| page.record().bans(now));
        all.map(|(_, key, page)| (key, page.ban()))
    }

    fn put(&mut self, slot: Slot, page: Page) {
        self.count(self.table.cell(slot).phase, u32::wrapping_sub);
        self.count(page.phase, u32::wrapping_add);
        self.table.put(slot, page);
    }

    fn count(&mut self, phase: Phase, step: fn(u32, u32) -> u32) {
        match phase {
            Phase::Silent => {}
            Phase::Active => self.active = step(self.active, 1),
            Phase::Lapsed => self.lapsed = step(self.lapsed, 1),
        }
    }
}

/// Seven quarters of the bans, and two sets more in every range, so that all find a place though no one may be moved. Of
/// 50,000 none or one had none; with five quarters 150 to 220, with six 5 to 13.
fn slots(bans: u32) -> u32 {
    bans.saturating_add(bans / 4 * 3).saturating_add(RANGES * 2 * WAYS as u32)
}

#[cfg(test)]
mod tests;
