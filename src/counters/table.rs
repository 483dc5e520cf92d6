//! Set-associative keyed table: small cells by full 64-bit key, in memory that is allocated once.
//!
//! A key may live in any of [`CANDIDATES`] slots: two sets of [`WAYS`], the second when the first gets full. Both
//! lie in the key's *range*, a contiguous run of slots that the top bits of the key choose, so what shares a range
//! in here can share a blob out there and be walked together.
//!
//! * Exact: a key finds its own cell or none. No aliasing but that of the 64-bit hash itself.
//! * Memory: 8 bytes per slot and the cell; slots are rounded up so that all ranges have equal, whole sets.
//! * Cost: a hit reads one or two cache lines of keys and the cell. An insertion into full sets reads
//!   [`CANDIDATES`] cells, and never more: the search for a victim is bounded.
//! * Full: up to 65 % load next to no key is displaced; at 85 % one newcomer in 90 displaced another, at 94 % one
//!   in 25 (512 ranges of 104 slots, held by a test). The cell whose loss costs least ([`Cell::stake`]) goes, if
//!   the newcomer bids more than that: otherwise the *contest* is *lost*. Cells without a price never go: the
//!   *scan* is *exhausted* where there are no others. Nothing is refunded silently: the evicted cell is handed to
//!   the caller.

use crate::hash::{Key, mix};
use crate::time::Nanos;

/// Slots per set: the keys of one set fill a cache line of 64 bytes.
pub const WAYS: usize = 8;

/// Slots that a key may live in, and that are searched for a victim.
pub const CANDIDATES: usize = 2 * WAYS;

/// Free slots that the first set keeps back. With 0 nearly every look-up ends in the first set, but six times as
/// many keys are displaced at 85 % load as when the emptier set is always taken; with 2, half as many again.
const SPARE: usize = 2;

/// What a table keeps. The default value is an empty cell.
pub trait Cell: Copy + Default {
    /// What forgetting this cell now would cost: 0 where nothing is lost (it is idle, and may be swept away);
    /// `None` where it must not be forgotten.
    fn stake(&self, now: Nanos) -> Option<u64>;
}

/// The place of one cell: valid until its key is evicted or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    /// The place as a number below the table's slots.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn at(index: usize) -> Slot {
        Slot(index as u32)
    }
}

/// A newcomer's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<C> {
    /// Its slot, which holds an empty cell.
    pub slot: Slot,
    /// The cell that had to go.
    pub evicted: Option<C>,
}

/// Why a newcomer found no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untracked {
    /// Every candidate that may go is worth at least as much as the newcomer.
    ContestLost,
    /// No candidate may go.
    ScanExhausted,
}

/// What happened so far, and how full the table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Newcomers that found a place.
    pub tracked: u64,
    /// Newcomers that found only dearer candidates.
    pub contest_lost: u64,
    /// Newcomers that found only candidates which must stay.
    pub scan_exhausted: u64,
    /// Cells that a newcomer displaced although they were not idle.
    pub evictions: u64,
    /// Slots in use now, idle ones that were not swept yet included.
    pub used: u32,
}

/// Keys of one set. 0 is a free slot.
#[repr(C, align(64))]
#[derive(Clone, Copy, Default)]
struct Keys([u64; WAYS]);

/// The table. See the [module](self) for how it works.
pub struct Table<C> {
    keys: Box<[Keys]>,
    cells: Box<[C]>,
    ranges: u32,
    sets_per_range: u32,
    swept: usize,
    stats: Stats,
}

impl<C: Cell> Table<C> {
    /// An empty table of at least `slots` slots in `ranges` (at least 1) equal ranges.
    pub fn new(ranges: u32, slots: u32) -> Table<C> {
        let sets_per_range = sets_per_range(ranges, slots);
        let slots = Table::<C>::slots_for(ranges, slots) as usize;
        Table {
            keys: vec![Keys::default(); slots / WAYS].into_boxed_slice(),
            cells: vec![C::default(); slots].into_boxed_slice(),
            ranges: ranges.max(1),
            sets_per_range,
            swept: 0,
            stats: Stats::default(),
        }
    }

    /// Slots that [`Table::new`] makes of `slots`.
    pub fn slots_for(ranges: u32, slots: u32) -> u64 {
        u64::from(ranges.max(1)) * u64::from(sets_per_range(ranges, slots)) * WAYS as u64
    }

    /// Bytes that [`Table::new`] allocates.
    pub fn memory_bytes(ranges: u32, slots: u32) -> u64 {
        Table::<C>::slots_for(ranges, slots) * (size_of::<u64>() + size_of::<C>()) as u64
    }

    /// Slots of the whole table.
    pub fn slots(&self) -> usize {
        self.cells.len()
    }

    /// Slots of one range: range `r` is `r × slots_per_range` and the slots that follow.
    pub fn slots_per_range(&self) -> usize {
        self.sets_per_range as usize * WAYS
    }

    /// The range of a key.
    pub fn range(&self, key: Key) -> usize {
        spread((key.0 >> 32) as u32, self.ranges) as usize
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The slot of a key that is in the table.
    #[inline]
    pub fn find(&self, key: Key) -> Option<Slot> {
        let (first, second) = self.sets(key);
        self.way(first, stored(key)).or_else(|| self.way(second, stored(key)))
    }

    /// Finds a place for a key that is not in the table: a free slot, else that of the cheapest candidate below `bid`.
    ///
    /// # Errors
    /// The key has no place, and the reason is counted.
    pub fn insert(&mut self, key: Key, bid: u64, now: Nanos) -> Result<Placed<C>, Untracked> {
        let place = match self.free(key) {
            Some(slot) => Ok(Placed { slot, evicted: None }),
            None => self.cheapest(key, bid, now),
        };
        match place {
            Ok(placed) => self.settle(key, placed, now),
            Err(Untracked::ContestLost) => self.stats.contest_lost += 1,
            Err(Untracked::ScanExhausted) => self.stats.scan_exhausted += 1,
        }
        place
    }

    /// The cell of a slot.
    #[inline]
    pub fn cell(&self, slot: Slot) -> C {
        self.cells.get(slot.index()).copied().unwrap_or_default()
    }

    /// Replaces the cell of a slot.
    #[inline]
    pub fn put(&mut self, slot: Slot, cell: C) {
        if let Some(place) = self.cells.get_mut(slot.index()) {
            *place = cell;
        }
    }

    /// The key in a slot.
    pub fn key(&self, slot: Slot) -> Option<Key> {
        let key = *self.keys.get(slot.index() / WAYS)?.0.get(slot.index() % WAYS)?;
        (key != 0).then_some(Key(key))
    }

    /// Frees a slot.
    pub fn remove(&mut self, slot: Slot) {
        self.stats.used = self.stats.used.saturating_sub(u32::from(self.key(slot).is_some()));
        self.write(slot, 0, C::default());
    }

    /// All keys with their slots and cells, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, Key, &C)> {
        let keys = self.keys.iter().flat_map(|set| set.0.iter());
        let slots = keys.zip(self.cells.iter()).enumerate();
        slots.filter(|(_, (key, _))| **key != 0).map(|(at, (key, cell))| (Slot::at(at), Key(*key), cell))
    }

    /// Frees those among the next `steps` slots that were idle at `then` already, around and around: so `used`
    /// tells the truth without a full sweep in one call.
    pub fn sweep(&mut self, steps: usize, then: Nanos) {
        for _ in 0..steps.min(self.slots()) {
            self.swept = if self.swept + 1 < self.slots() { self.swept + 1 } else { 0 };
            let slot = Slot::at(self.swept);
            if self.key(slot).is_some() && self.cell(slot).stake(then) == Some(0) {
                self.remove(slot);
            }
        }
    }

    /// Forgets every key, and keeps the counts of what happened.
    pub fn clear(&mut self) {
        self.keys.fill(Keys::default());
        self.cells.fill(C::default());
        self.stats.used = 0;
    }

    /// The key's two sets: first from bits below those that choose the range, second from a mix of all.
    fn sets(&self, key: Key) -> (usize, usize) {
        let sets = self.sets_per_range;
        let base = self.range(key) as u32 * sets;
        let first = spread((key.0 >> 12) as u32, sets);
        let step = 1 + spread((mix(key.0) >> 32) as u32, sets.saturating_sub(1));
        let second = if first + step < sets { first + step } else { (first + step).saturating_sub(sets) };
        ((base + first) as usize, (base + second) as usize)
    }

    #[inline]
    fn way(&self, set: usize, key: u64) -> Option<Slot> {
        let way = self.keys.get(set)?.0.iter().position(|&k| k == key)?;
        Some(Slot::at(set * WAYS + way))
    }

    /// A free slot: in the first set while it has room to spare, so that most look-ups end there, then in the
    /// emptier one.
    fn free(&self, key: Key) -> Option<Slot> {
        let (first, second) = self.sets(key);
        let room = |set| self.keys.get(set).map_or(0, |k: &Keys| k.0.iter().filter(|&&k| k == 0).count());
        let spare = room(first);
        self.way(if spare <= SPARE && room(second) > spare { second } else { first }, 0)
    }

    /// The candidate that costs least, if that is below `bid`.
    fn cheapest(&self, key: Key, bid: u64, now: Nanos) -> Result<Placed<C>, Untracked> {
        let (first, second) = self.sets(key);
        let candidates =
            [first, second].into_iter().flat_map(|set| set * WAYS..(set + 1) * WAYS).map(Slot::at);
        let priced = candidates.filter_map(|slot| Some((self.cell(slot).stake(now)?, slot)));
        let (stake, slot) = priced.min_by_key(|(stake, _)| *stake).ok_or(Untracked::ScanExhausted)?;
        if stake >= bid {
            return Err(Untracked::ContestLost);
        }
        Ok(Placed { slot, evicted: Some(self.cell(slot)) })
    }

    fn settle(&mut self, key: Key, placed: Placed<C>, now: Nanos) {
        self.stats.tracked += 1;
        match placed.evicted {
            None => self.stats.used += 1,
            Some(cell) => self.stats.evictions += u64::from(cell.stake(now) != Some(0)),
        }
        self.write(placed.slot, stored(key), C::default());
    }

    fn write(&mut self, slot: Slot, key: u64, cell: C) {
        let set = self.keys.get_mut(slot.index() / WAYS);
        if let Some(place) = set.and_then(|set| set.0.get_mut(slot.index() % WAYS)) {
            *place = key;
        }
        self.put(slot, cell);
    }
}

/// Key 0 means a free slot, so the one key in 2^64 that is 0 is kept as 1.
fn stored(key: Key) -> u64 {
    key.0.max(1)
}

fn sets_per_range(ranges: u32, slots: u32) -> u32 {
    slots.div_ceil(ranges.max(1)).div_ceil(WAYS as u32).max(1)
}

/// Maps a uniform 32-bit number to `0..n` (0 where n is 0) without a division.
fn spread(bits: u32, n: u32) -> u32 {
    ((u64::from(bits) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests;
