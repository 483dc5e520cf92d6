//! Set-associative keyed table: small cells by full 64-bit key, in memory that is allocated once.
//!
//! ```text
//! first set  = ⌊top 32 bits · sets⌋                    and so its range = ⌊top 32 bits · ranges⌋
//! second set = the first + 1 … 7 by other bits, around in the range
//! ```
//!
//! A key may live in any of [`CANDIDATES`] slots: two sets of [`WAYS`] (one where a range has but one), the second when the
//! first gets full. Both lie in the key's *range*, a contiguous run of slots that the top bits of the key choose, so what shares a range
//! in here can share a blob out there and be walked together.
//!
//! * Exact: a key finds its own cell or none. No aliasing but that of the 64-bit hash itself.
//! * Memory: 9 bytes per slot (key, and one byte of it beside those of its set) and the cell; slots are rounded up so
//!   that all ranges have equal, whole sets.
//! * Cost: a look-up reads the byte of all candidates, two words, and then the one slot that has the right byte
//!   (of the others one in 16 look-ups meets one with the same byte). The words of a million slots fit a cache, so it
//!   costs one miss. An insertion into full sets reads [`CANDIDATES`] cells, and never more: the search for a victim
//!   is bounded.
//! * Full: filled up to 65 % of its slots, next to no key has been displaced; up to 85 %, one of the newcomers so far in
//!   90, up to 94 % one in 25 (512 ranges of 104 slots, held by a test; with a single set per range sooner). The cell whose loss costs least ([`Cell::stake`]) goes, if
//!   the newcomer bids more than that: otherwise the *contest* is *lost*. Cells without a price never go: the
//!   *scan* is *exhausted* where there are no others. Nothing is refunded silently: the evicted cell is handed to
//!   the caller.

use super::hints::{Hints, Ways};
use crate::hash::Key;
use crate::time::Nanos;

/// Slots per set: one byte of each key makes a word.
pub const WAYS: usize = 8;

/// Slots that a key may live in, and that are searched for a victim.
pub const CANDIDATES: usize = 2 * WAYS;

/// Free slots that the first set keeps back. With 0 nearly every look-up ends in the first set, but six times as
/// many keys are displaced at 85 % load as when the emptier set is always taken; with 2, half as many again.
const SPARE: usize = 2;

/// How far the second set may lie behind the first: so that the hints of both lie in one cache line or two neighbours.
/// As good as any distance for 13 sets per range, the default.
const NEAR: u32 = 7;

/// Bits of a key that neither [`hint`] nor the first set looks at.
const STEP_BITS: u32 = 0xfff0_0000;

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
    /// Whose cell had to go.
    pub evicted: Option<(Key, C)>,
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

/// One slot.
#[derive(Clone, Copy, Default)]
struct Entry<C> {
    key: u64,
    cell: C,
}

/// The table. See the [module](self) for how it works.
pub struct Table<C> {
    /// One word per set.
    hints: Box<[Hints]>,
    entries: Box<[Entry<C>]>,
    ranges: u32,
    sets_per_range: u32,
    /// How many sets behind the first may be the second.
    near: u32,
    swept: usize,
    stats: Stats,
}

impl<C: Cell> Table<C> {
    /// An empty table of at least `slots` slots in `ranges` (at least 1) equal ranges.
    pub fn new(ranges: u32, slots: u32) -> Table<C> {
        let sets_per_range = sets_per_range(ranges, slots);
        let slots = Table::<C>::slots_for(ranges, slots) as usize;
        Table {
            hints: vec![Hints::default(); slots / WAYS].into_boxed_slice(),
            entries: vec![Entry::default(); slots].into_boxed_slice(),
            ranges: ranges.max(1),
            sets_per_range,
            near: sets_per_range.saturating_sub(1).min(NEAR),
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
        Table::<C>::slots_for(ranges, slots) * (1 + size_of::<Entry<C>>()) as u64
    }

    /// Slots of the whole table.
    pub fn slots(&self) -> usize {
        self.entries.len()
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
        let (in_first, in_second) = (self.similar(first, key), self.similar(second, key));
        // One guess for both sets, so that the processor needs none: it is right for 30 keys of 31.
        let mut guess =
            if in_first.is_empty() { slots_of(second, in_second) } else { slots_of(first, in_first) };
        let guess = guess.next()?;
        if self.holds(guess, key) {
            return Some(guess);
        }
        let mut rest = slots_of(first, in_first).chain(slots_of(second, in_second));
        rest.find(|slot| self.holds(*slot, key))
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
        self.entries.get(slot.index()).map_or(C::default(), |entry| entry.cell)
    }

    /// Replaces the cell of a slot.
    #[inline]
    pub fn put(&mut self, slot: Slot, cell: C) {
        if let Some(entry) = self.entries.get_mut(slot.index()) {
            entry.cell = cell;
        }
    }

    /// The key in a slot.
    pub fn key(&self, slot: Slot) -> Option<Key> {
        let taken = self.hints.get(slot.index() / WAYS)?.at(slot.index() % WAYS) != 0;
        let entry = self.entries.get(slot.index())?;
        taken.then_some(Key(entry.key))
    }

    /// Frees a slot.
    pub fn remove(&mut self, slot: Slot) {
        self.stats.used = self.stats.used.saturating_sub(u32::from(self.key(slot).is_some()));
        self.write(slot, 0, Entry::default());
    }

    /// All keys with their slots and cells, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, Key, &C)> {
        let slots = (0..self.slots()).map(Slot::at).zip(self.entries.iter());
        slots.filter_map(|(slot, entry)| Some((slot, self.key(slot)?, &entry.cell)))
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
        self.hints.fill(Hints::default());
        self.entries.fill(Entry::default());
        self.stats.used = 0;
    }

    /// The key's two sets. What chooses the first, chooses the range too, being finer: `first / sets_per_range` is
    /// [`Table::range`].
    #[inline]
    fn sets(&self, key: Key) -> (usize, usize) {
        let top = (key.0 >> 32) as u32;
        let first = spread(top, self.ranges * self.sets_per_range);
        let end = (spread(top, self.ranges) + 1) * self.sets_per_range;
        let second = first + 1 + spread((key.0 as u32) & STEP_BITS, self.near);
        (
            first as usize,
            if second < end { second } else { second.saturating_sub(self.sets_per_range) } as usize,
        )
    }

    /// The ways of a set whose keys may be this one.
    #[inline]
    fn similar(&self, set: usize, key: Key) -> Ways {
        self.hints.get(set).unwrap_or(&Hints::TAKEN).equal_to(hint(key))
    }

    #[inline]
    fn holds(&self, slot: Slot, key: Key) -> bool {
        self.entries.get(slot.index()).is_some_and(|entry| entry.key == key.0)
    }

    /// A free slot: in the first set while it has room to spare, so that most look-ups end there, then in the
    /// emptier one.
    fn free(&self, key: Key) -> Option<Slot> {
        let (first, second) = self.sets(key);
        let free = |set: usize| self.hints.get(set).unwrap_or(&Hints::TAKEN).equal_to(0);
        let spare = free(first).count();
        let set = if spare <= SPARE && free(second).count() > spare { second } else { first };
        slots_of(set, free(set)).next()
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
        Ok(Placed { slot, evicted: self.key(slot).map(|key| (key, self.cell(slot))) })
    }

    fn settle(&mut self, key: Key, placed: Placed<C>, now: Nanos) {
        self.stats.tracked += 1;
        match placed.evicted {
            None => self.stats.used += 1,
            Some((_, cell)) => self.stats.evictions += u64::from(cell.stake(now) != Some(0)),
        }
        self.write(placed.slot, hint(key), Entry { key: key.0, cell: C::default() });
    }

    fn write(&mut self, slot: Slot, hint: u8, entry: Entry<C>) {
        let place = (self.hints.get_mut(slot.index() / WAYS), self.entries.get_mut(slot.index()));
        if let (Some(hints), Some(place)) = place {
            hints.set(slot.index() % WAYS, hint);
            *place = entry;
        }
    }
}

/// The byte of a key that tells its slot from the others of its set: not one of those that choose the sets. 0 means a
/// free slot.
fn hint(key: Key) -> u8 {
    ((key.0 >> 12) as u8).max(1)
}

/// The slots of some ways of a set.
fn slots_of(set: usize, ways: Ways) -> impl Iterator<Item = Slot> {
    ways.map(move |way| Slot::at(set * WAYS + way))
}

fn sets_per_range(ranges: u32, slots: u32) -> u32 {
    slots.div_ceil(ranges.max(1)).div_ceil(WAYS as u32).max(1)
}

/// Maps a uniform 32-bit number to `0..n` (0 where n is 0) without a division.
#[inline]
fn spread(bits: u32, n: u32) -> u32 {
    ((u64::from(bits) * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests;
