//! What keys that lost their place in a [`table`](super::table) still owe, so that whoever comes back after an
//! eviction does not find a full bucket.
//!
//! ```text
//! word   tag (32 bits) | tat (32, milliseconds, modulo 2^32)
//! owes   tat − now, as a signed difference: what is not ahead of now is over, and the word is free
//! ```
//!
//! A bucket's `tat` (see [`bucket`](super::bucket)) is a time whatever its rate, so one word holds the whole
//! bucket of a key of any rule, seven times as many in the same memory as a table keeps; and the word of a bucket
//! that has filled again needs no cleaning.
//!
//! * Error: a bucket that is [put](Arrears::put) here and [taken](Arrears::take) back has lost less than 1 ms of
//!   what it owes, and never owes more than it did; nor more than 2^30 ms (12 days). Whoever never owed anything is
//!   taken for a debtor where its tag is that of another in its line: 8 in 2^32 = 2e-9.
//! * A key without any slot is [charged](Arrears::charge) here directly. Its `tat` is rounded to a millisecond up or
//!   down at random, more often to the nearer: so the rate is right over time whatever it is, and after `n` events the
//!   balance is off by some √n · min(√(τ · 1 ms), ½ ms) (10,000 events at 75 per second: 50 ms, four tokens).
//! * Full: what owes least gives way to what owes more; the longest debts of a line stay, however many come by.
//!   What had to be forgotten is handed to the caller.
//! * Memory: 8 bytes per key. Cost: one cache line per eviction or newcomer, none for a key that has its slot.

use super::bucket::{Quota, Verdict};
use super::lines::{Lines, least, position, tag};
use crate::hash::{Key, mix};
use crate::time::Nanos;

/// The furthest that a debt may reach, in milliseconds: half of what the difference of two words can tell, so that
/// a word which is over can't be mistaken for one before [`Arrears::sweep`] has visited it.
const FURTHEST: u64 = 1 << 30;

/// What happened so far, and how many debts there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Debts that were remembered.
    pub tracked: u64,
    /// Debts that were not, as all others of the line were longer.
    pub contest_lost: u64,
    /// Debts that gave way to longer ones.
    pub evictions: u64,
    /// Words in use now, those included that are over and were not swept yet.
    pub used: u64,
}

/// The debts. See the [module](self) for how they are kept.
pub struct Arrears {
    lines: Lines,
    swept: usize,
    last_sweep: Nanos,
    stats: Stats,
}

impl Arrears {
    /// No debts, in `lines` lines (rounded up to a power of two).
    pub fn new(lines: u32) -> Arrears {
        Arrears { lines: Lines::new(lines), swept: 0, last_sweep: Nanos::ZERO, stats: Stats::default() }
    }

    /// Bytes that [`Arrears::new`] allocates.
    pub fn memory_bytes(lines: u32) -> u64 {
        Lines::memory_bytes(lines)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Remembers a bucket that is not full. Gives back a debt that is forgotten for it, or this one where all
    /// others of the line are longer.
    pub fn put(&mut self, key: Key, tat: Nanos, now: Nanos) -> Option<Nanos> {
        let owed = owed_millis(tat, now);
        if owed == 0 {
            return None;
        }
        match self.place(Word::new(key, now.as_millis() + owed), key, now) {
            Placed::Own => None,
            Placed::Anew { lost: 0 } => None,
            Placed::Anew { lost } => Some(now + Nanos::from_millis(lost)),
            Placed::Nowhere => Some(tat),
        }
    }

    /// Takes back what a key still owes: it has a slot again.
    pub fn take(&mut self, key: Key, now: Nanos) -> Option<Nanos> {
        if self.stats.used == 0 {
            return None;
        }
        let line = self.lines.get_mut(self.lines.of(key))?;
        let at = position(line, |word| Word(word).is(key))?;
        let place = line.get_mut(at)?;
        let owed = Word(core::mem::take(place)).owed(now);
        self.stats.used -= 1;
        (owed > 0).then(|| Nanos::from_millis(now.as_millis() + owed))
    }

    /// Charges one event of a key that has no slot to its bucket here. [`Verdict::Untracked`] where the others of
    /// its line all owe more.
    pub fn charge(&mut self, key: Key, quota: &Quota, now: Nanos) -> Verdict {
        let tat = self.find(key, now);
        let admitted = quota.admits(tat, now);
        let after = quota.after(tat, admitted, now);
        if after != tat {
            let rounded = owed_millis(after + Nanos(mix(key.0 ^ now.0) % MILLI), now);
            if let Placed::Nowhere = self.place(Word::new(key, now.as_millis() + rounded), key, now) {
                return Verdict::Untracked;
            }
        }
        if admitted { Verdict::Admit } else { Verdict::Refuse { wait: quota.wait(tat, now) } }
    }

    /// Frees what is over among a 32nd of the lines, around and around. To be called at least once in twelve days:
    /// after a longer pause everything is over.
    pub fn sweep(&mut self, now: Nanos) {
        let paused = (now - self.last_sweep).as_millis() >= FURTHEST;
        self.last_sweep = now;
        if self.stats.used == 0 {
            return;
        }
        if paused {
            return self.clear();
        }
        for _ in 0..self.lines.count().div_ceil(SWEEPS) {
            self.swept = (self.swept + 1) % self.lines.count();
            for word in self.lines.get_mut(self.swept).into_iter().flatten() {
                if *word != 0 && Word(*word).owed(now) == 0 {
                    *word = 0;
                    self.stats.used -= 1;
                }
            }
        }
    }

    /// Forgets every debt, and keeps the counts of what happened.
    pub fn clear(&mut self) {
        if self.stats.used > 0 {
            self.lines.clear();
            self.stats.used = 0;
        }
    }

    /// When a key's bucket is full again, as far as is known here.
    fn find(&self, key: Key, now: Nanos) -> Nanos {
        let line = self.lines.get(self.lines.of(key));
        let own = position(&line, |word| Word(word).is(key)).and_then(|at| line.get(at));
        own.map_or(Nanos::ZERO, |word| Nanos::from_millis(now.as_millis() + Word(*word).owed(now)))
    }

    fn place(&mut self, word: Word, key: Key, now: Nanos) -> Placed {
        let Some(line) = self.lines.get_mut(self.lines.of(key)) else { return Placed::Nowhere };
        let at = least(line, |other| Word(other).rank(key, now));
        let Some(place) = line.get_mut(at) else { return Placed::Nowhere };
        let before = Word(*place);
        let lost = before.owed(now);
        if before.is(key) {
            *place = word.0;
            return Placed::Own;
        }
        if lost > word.owed(now) {
            self.stats.contest_lost += 1;
            return Placed::Nowhere;
        }
        *place = word.0;
        self.stats.tracked += 1;
        self.stats.used += u64::from(before.0 == 0);
        self.stats.evictions += u64::from(lost > 0);
        Placed::Anew { lost }
    }
}

/// Where a word went.
enum Placed {
    /// Where the key's word was before.
    Own,
    /// To a place of another, which owed so many milliseconds.
    Anew { lost: u64 },
    /// All others owe more.
    Nowhere,
}

/// One key's word; 0 where there is none.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn new(key: Key, tat_millis: u64) -> Word {
        Word(u64::from(tag(key)) << 32 | (tat_millis & 0xffff_ffff))
    }

    fn is(self, key: Key) -> bool {
        self.0 >> 32 == u64::from(tag(key))
    }

    /// Milliseconds until the bucket is full.
    fn owed(self, now: Nanos) -> u64 {
        let ahead = (self.0 as u32).wrapping_sub(now.as_millis() as u32) as i32;
        if self.0 == 0 { 0 } else { u64::try_from(ahead).unwrap_or(0) }
    }

    /// Which word is written over: the key's own, else the one that owes least (all beyond six days are equal).
    fn rank(self, key: Key, now: Nanos) -> u32 {
        if self.is(key) { 0 } else { 1 + (self.owed(now) as u32).min(1 << 28) }
    }
}

/// What a bucket owes in the clock of words: whole milliseconds, counted from the one that `now` lies in.
fn owed_millis(tat: Nanos, now: Nanos) -> u64 {
    tat.as_millis().saturating_sub(now.as_millis()).min(FURTHEST)
}

/// Nanoseconds of a millisecond.
const MILLI: u64 = 1_000_000;

/// Sweeps in which every line is visited once.
const SWEEPS: usize = 32;

#[cfg(test)]
mod tests;
