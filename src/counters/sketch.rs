//! How often each of very many keys was seen lately, and whether it was seen at all: a fixed table of 64-bit words.
//!
//! ```text
//! word      tag (32 bits) | came back (1) | epoch (11) | count (20, of which 4 are a fraction)
//! estimate  count · 2^−(ticks since the key was seen), this event included
//! ```
//!
//! * Decay: happens when read. What was counted halves with every tick that begins: a key that sends `n` per tick
//!   is estimated at `n` in its first tick, and below `2·n` ever.
//! * Error: for a key that holds its word, between `x − 1⅛` and `x`, the exact decayed count (a sixteenth or less is
//!   lost per halving, an eighth altogether; the rest is rounded down). Above `x` only where another key of the line
//!   has the same tag: 8 in 2^32 = 2e-9 per newcomer. Counts stop at 65,535, or at
//!   [less](Sketch::observe_up_to).
//! * First sighting: the key has no word. False "seen before": the 2e-9 above. False "first": its word was taken.
//! * Full: a newcomer always gets in, and displaces the word of its line that will be worth nothing first: *tick of
//!   the last event + log2 of the count + [`KEPT`] if the key was seen more than once*. So **keys that are seen once
//!   displace each other, and of those that came back at most the least of each line**, for then the last newcomer
//!   is the least. To displace a key of count `c`, seven others of its line must have come to as many halvings: at least
//!   `3½·c` events per line within a tick, over *all* lines, as keys are hashed under a seed that nobody outside knows.
//! * Pause: without events and without [`Sketch::keep_time`], 512 ticks forget everything.
//! * Memory: 8 bytes per key, 64 per line. Cost: one cache line per event.

use super::lines::{Lines, WORDS, least, position, tag};
use crate::hash::Key;
use crate::time::Nanos;

/// Ticks for which a key that came back is held dearer than any that did not: a quarter of an hour of seconds.
pub const KEPT: u32 = 1024;

/// An event, in units of the fraction.
const ONE: u32 = 1 << FRACTION;
const FRACTION: u32 = 4;
const COUNT_BITS: u32 = 20;
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
const MAX_EPOCH: u32 = (1 << 11) - 1;
const BACK: u32 = 1 << 31;

/// Ticks in which every line is visited once, so that no epoch is ever mistaken for the one 2,048 ticks later:
/// a word is at most `KEPT + SWEEP_TICKS` ticks old when it is visited, and is made [`KEPT`] ticks old then.
const SWEEP_TICKS: u64 = 512;

/// What the sketch knows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Events lately, this one included, in whole ones.
    pub estimate: u32,
    /// The key was not known.
    pub first: bool,
}

/// What a key's events are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// What is judged by: near it the workers ask each other.
    pub threshold: u32,
    /// Events beyond these are not counted. One key has one such bound.
    pub most: u32,
}

/// What happened so far, and how full the sketch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Newcomers that met a full line.
    pub contests: u64,
    /// Of these, the ones that displaced a key which had come back.
    pub evictions: u64,
    /// Words in use now.
    pub used: u64,
}

/// The sketch. See the [module](self) for how it works.
pub struct Sketch {
    lines: Lines,
    tick: Nanos,
    /// The tick of the latest event, and when it ends.
    epoch: u64,
    ends: Nanos,
    stats: Stats,
}

impl Sketch {
    /// An empty sketch of `lines` lines (rounded up to a power of two) that halves its counts every `tick` (at least
    /// 1 ns).
    pub fn new(lines: u32, tick: Nanos) -> Sketch {
        Sketch {
            lines: Lines::new(lines),
            tick: tick.max(Nanos(1)),
            epoch: 0,
            ends: Nanos::ZERO,
            stats: Stats::default(),
        }
    }

    /// Bytes that [`Sketch::new`] allocates.
    pub fn memory_bytes(lines: u32) -> u64 {
        Lines::memory_bytes(lines)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Counts one event of a key. A clock that steps back stands still.
    #[inline]
    pub fn observe(&mut self, key: Key, now: Nanos) -> Sighting {
        self.observe_up_to(key, MAX_COUNT >> FRACTION, now)
    }

    /// The same, where a count that has come to `most` (at most 65,535) stays there.
    #[inline]
    pub fn observe_up_to(&mut self, key: Key, most: u32, now: Nanos) -> Sighting {
        let most = most.saturating_mul(ONE).clamp(ONE, MAX_COUNT);
        self.keep_time(now);
        let (tag, epoch) = (tag(key), self.epoch as u32);
        let Some(line) = self.lines.get_mut(self.lines.of(key)) else { return FIRST };
        let Some(at) = position(line, |word| Word(word).tag() == tag) else {
            self.stats.displace(enter(line, Word::new(tag, epoch), epoch), epoch);
            return FIRST;
        };
        let Some(place) = line.get_mut(at) else { return FIRST };
        let seen = Word(*place).seen_again(epoch, most);
        *place = seen.0;
        Sighting { estimate: seen.estimate(epoch), first: false }
    }

    /// Begins the tick of `now`, if it has not begun. Events do so by themselves; a timer should, so that hours without
    /// any event don't become the one long pause after which everything is forgotten (512 ticks).
    #[inline]
    pub fn keep_time(&mut self, now: Nanos) {
        if now >= self.ends {
            self.advance(now);
        }
    }

    /// Events of a key lately; 0 for one that is not known.
    pub fn estimate(&self, key: Key, now: Nanos) -> u32 {
        let epoch = if now < self.ends { self.epoch } else { self.epoch_of(now) };
        if epoch - self.epoch >= SWEEP_TICKS {
            return 0;
        }
        let words = self.lines.get(self.lines.of(key)).map(Word);
        words.into_iter().find(|word| word.tag() == tag(key)).map_or(0, |word| word.estimate(epoch as u32))
    }

    /// Forgets every key, and keeps the counts of what happened.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.stats.used = 0;
    }

    /// A pause of [`SWEEP_TICKS`] leaves nothing worth a visit to each line.
    #[cold]
    fn advance(&mut self, now: Nanos) {
        let epoch = self.epoch_of(now);
        match epoch - self.epoch {
            ticks @ 0..SWEEP_TICKS => self.sweep(epoch, ticks),
            _ => self.clear(),
        }
        self.epoch = epoch;
        self.ends = self.tick.times(epoch.saturating_add(1));
    }

    fn epoch_of(&self, now: Nanos) -> u64 {
        (now.0 / self.tick.0).max(self.epoch)
    }

    /// Visits the lines that are due after so many ticks, and limits the age of their words.
    fn sweep(&mut self, epoch: u64, ticks: u64) {
        let due = (self.lines.count() as u64 * ticks).div_ceil(SWEEP_TICKS);
        self.lines.visit(due as usize, |word| *word = Word(*word).aged(epoch as u32).0);
    }
}

/// What is told of a newcomer.
const FIRST: Sighting = Sighting { estimate: 1, first: true };

/// Puts a newcomer in the place of the word that ranks least, which is given back. A line is in the order in which its
/// keys came, so of equal ones the oldest goes.
fn enter(line: &mut [u64; WORDS], newcomer: Word, epoch: u32) -> Word {
    let at = least(line, |word| Word(word).rank(epoch));
    let word = |at: usize| line.get(at).copied().unwrap_or(newcomer.0);
    let gone = Word(word(at));
    *line = core::array::from_fn(|place| word(place + usize::from(place >= at)));
    gone
}

impl Stats {
    fn displace(&mut self, word: Word, epoch: u32) {
        let full = word.0 != 0;
        self.used += u64::from(!full);
        self.contests += u64::from(full);
        self.evictions += u64::from(full && word.came_back() && word.age(epoch) < KEPT);
    }
}

/// One key's word; 0 where there is none.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn new(tag: u32, epoch: u32) -> Word {
        Word(u64::from(tag) << 32).with(0, epoch, ONE)
    }

    fn with(self, back: u32, epoch: u32, count: u32) -> Word {
        let low = back | (epoch & MAX_EPOCH) << COUNT_BITS | count.min(MAX_COUNT);
        Word(self.0 & 0xffff_ffff_0000_0000 | u64::from(low))
    }

    fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn came_back(self) -> bool {
        self.0 as u32 & BACK != 0
    }

    /// Ticks since the key was seen.
    fn age(self, epoch: u32) -> u32 {
        epoch.wrapping_sub(self.0 as u32 >> COUNT_BITS) & MAX_EPOCH
    }

    fn decayed(self, epoch: u32) -> u32 {
        (self.0 as u32 & MAX_COUNT) >> self.age(epoch).min(COUNT_BITS)
    }

    fn estimate(self, epoch: u32) -> u32 {
        self.decayed(epoch) >> FRACTION
    }

    fn seen_again(self, epoch: u32, most: u32) -> Word {
        let before = self.decayed(epoch);
        self.with(BACK, epoch, (before + ONE).min(most).max(before))
    }

    /// The tick in which the word is worth nothing any more, counted from one that lies before all: when its count
    /// has halved below a sixteenth, and [`KEPT`] later if the key came back. 0 for no word.
    fn rank(self, epoch: u32) -> u32 {
        let halvings = (self.0 as u32 & MAX_COUNT | 1).ilog2();
        let kept = (self.0 as u32 >> 31) * KEPT;
        let rank = (MAX_EPOCH + 1 - self.age(epoch)) + halvings + kept;
        if self.0 == 0 { 0 } else { rank }
    }

    /// At most [`KEPT`] ticks old, when nothing of the count is left anyway.
    fn aged(self, epoch: u32) -> Word {
        if self.0 == 0 || self.age(epoch) <= KEPT {
            return self;
        }
        self.with(self.0 as u32 & BACK, epoch.wrapping_sub(KEPT), 0)
    }
}

#[cfg(test)]
mod tests;
