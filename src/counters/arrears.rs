//! What keys that lost their place in a [`table`](super::table) still owe, so that whoever comes back after an
//! eviction does not find a full bucket.
//!
//! ```text
//! word   tag (26 bits) | pace (6) | tat (32, milliseconds, modulo 2^32)
//! owes   tat − now, as a signed difference: what is not ahead of now is over, and the word is free
//! ```
//!
//! A bucket's `tat` (see [`bucket`](super::bucket)) is a time whatever its rate, so one word holds the whole
//! bucket of a key of any rule, seven times as many in the same memory as a table keeps; and the word of a bucket
//! that has filled again needs no cleaning. The pace is what its [`price`](super::price) needs.
//!
//! * Error: a bucket that is [put](Arrears::put) here and [taken](Arrears::take) back has lost less than 1 ms of
//!   what it owes, and never owes more than it did; nor more than 2^30 ms (12 days). Whoever never owed anything is
//!   taken for a debtor where its tag is that of another in its line: 8 in 2^26 = 1.2e-7.
//! * Full: the cheapest word of the line gives way to one of a higher octave of price, so to who owes more events, at
//!   the most four times as many. Among equals who came first stays: of more keys than there is room for, as many are
//!   remembered as there is room for, also when they come in turns.
//! * What had to be forgotten is handed to the caller, if it is more than a single event.
//! * Memory: 8 bytes per key. Cost: one cache line per eviction or newcomer, none for a key that has its slot.

use super::lines::{Lines, least, position, tag};
use super::price::{Pace, Price};
use crate::hash::Key;
use crate::time::Nanos;

/// The furthest that a debt may reach, in milliseconds: half of what the difference of two words can tell, so that
/// a word which is over can't be mistaken for one before [`Arrears::sweep`] has visited it.
const FURTHEST: u64 = 1 << 30;

/// What happened so far, and how many debts there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Debts that were remembered.
    pub tracked: u64,
    /// Debts that were not, as all others of the line were as dear or dearer.
    pub contest_lost: u64,
    /// Debts that gave way to dearer ones.
    pub evictions: u64,
    /// Words in use now, those included that are over and were not swept yet.
    pub used: u64,
}

/// The debts. See the [module](self) for how they are kept.
pub struct Arrears {
    lines: Lines,
    last_sweep: Nanos,
    stats: Stats,
}

impl Arrears {
    /// No debts, in `lines` lines (rounded up to a power of two).
    pub fn new(lines: u32) -> Arrears {
        Arrears { lines: Lines::new(lines), last_sweep: Nanos::ZERO, stats: Stats::default() }
    }

    /// Bytes that [`Arrears::new`] allocates.
    pub fn memory_bytes(lines: u32) -> u64 {
        Lines::memory_bytes(lines)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Remembers a bucket that is not full; of two that are told of one key, the later `tat`. Where something worth more than one event is forgotten for it, or it is so
    /// itself as all others of its line are dearer: until when that is owed.
    pub fn put(&mut self, key: Key, tat: Nanos, pace: Pace, now: Nanos) -> Option<Nanos> {
        let word = Word::new(key, tat, pace, now);
        let price = word.price(now);
        if price == Price::NOTHING {
            return None;
        }
        let line = self.lines.get_mut(self.lines.of(key))?;
        let at = least(line, |other| Word(other).rank(key, now));
        let place = line.get_mut(at)?;
        let before = Word(*place);
        if before.is(key) {
            *place = if before.owed(now) > word.owed(now) { before.0 } else { word.0 };
            return None;
        }
        let before_price = before.price(now);
        let (lost, worth) = if before_price.octave() < price.octave() {
            *place = word.0;
            self.stats.tracked += 1;
            self.stats.used += u64::from(before.0 == 0);
            self.stats.evictions += u64::from(before_price != Price::NOTHING);
            (before, before_price)
        } else {
            self.stats.contest_lost += 1;
            (word, price)
        };
        worth.exceeds_one_event().then(|| lost.tat(now))
    }

    /// Takes back what a key still owes: it has a slot again.
    pub fn take(&mut self, key: Key, now: Nanos) -> Option<Nanos> {
        if self.stats.used == 0 {
            return None;
        }
        let line = self.lines.get_mut(self.lines.of(key))?;
        let at = position(line, |word| Word(word).is(key))?;
        let place = line.get_mut(at)?;
        let word = Word(core::mem::take(place));
        self.stats.used -= 1;
        (word.owed(now) > 0).then(|| word.tat(now))
    }

    /// Frees what is over among a 32nd of the lines, around and around; among all of them when the last time was hours
    /// ago, so that no debt is mistaken for one which begins when the clock of words has gone round.
    pub fn sweep(&mut self, now: Nanos) {
        let paused = (now - self.last_sweep).as_millis();
        self.last_sweep = now;
        match paused {
            _ if self.stats.used == 0 => (),
            0..LONG => self.sweep_lines(self.lines.count().div_ceil(SWEEPS), now),
            LONG..FURTHEST => self.sweep_lines(self.lines.count(), now),
            _ => self.clear(),
        }
    }

    /// Forgets every debt, and keeps the counts of what happened.
    pub fn clear(&mut self) {
        if self.stats.used > 0 {
            self.lines.clear();
            self.stats.used = 0;
        }
    }

    fn sweep_lines(&mut self, lines: usize, now: Nanos) {
        let used = &mut self.stats.used;
        self.lines.visit(lines, |word| {
            if *word != 0 && Word(*word).owed(now) == 0 {
                *word = 0;
                *used -= 1;
            }
        });
    }
}

/// One key's word; 0 where there is none.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn new(key: Key, tat: Nanos, pace: Pace, now: Nanos) -> Word {
        let furthest = now.as_millis() + FURTHEST;
        let millis = tat.as_millis().clamp(now.as_millis(), furthest);
        Word(own_bits(key) | pace.to_bits() << 32 | (millis & 0xffff_ffff))
    }

    fn is(self, key: Key) -> bool {
        (self.0 ^ own_bits(key)) >> PACE_END == 0
    }

    /// Milliseconds until the bucket is full, counted from the one that `now` lies in.
    fn owed(self, now: Nanos) -> u64 {
        let ahead = (self.0 as u32).wrapping_sub(now.as_millis() as u32) as i32;
        if self.0 == 0 { 0 } else { u64::try_from(ahead).unwrap_or(0) }
    }

    fn tat(self, now: Nanos) -> Nanos {
        Nanos::from_millis(now.as_millis() + self.owed(now))
    }

    fn price(self, now: Nanos) -> Price {
        Price::of(Nanos::from_millis(self.owed(now)), Pace::from_bits(self.0 >> 32))
    }

    /// Which word is written over: the key's own, else the cheapest.
    fn rank(self, key: Key, now: Nanos) -> u32 {
        if self.is(key) { 0 } else { 1 + self.price(now).rank() }
    }
}

/// The 26 bits of the tag in their place; never 0.
fn own_bits(key: Key) -> u64 {
    u64::from(tag(key) >> Pace::BITS).max(1) << PACE_END
}

const PACE_END: u32 = 32 + Pace::BITS;

/// Sweeps in which every line is visited once.
const SWEEPS: usize = 32;

/// Milliseconds after which one sweep visits every line.
const LONG: u64 = FURTHEST / SWEEPS as u64;

#[cfg(test)]
mod tests;
