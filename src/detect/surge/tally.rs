//! A worker's own view of one key: what it counted and has yet to tell, and what it last heard of the process.
//!
//! 32 bytes. Nothing that matters lives here alone for longer than a second: the baseline is in shared data. The threshold
//! of a key that is not known, is warming up or found no place is infinite, so it never surges.

use super::baseline::Terms;
use super::entry::{Entry, Folds};
use super::verdict::View;
use crate::counters::table::Cell;
use crate::time::Nanos;

/// One slot of the worker's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// The bucket of time that this is about.
    bucket: u32,
    /// Events of this bucket that the others have not heard of.
    pend: u32,
    /// Events of this bucket in the whole process, as last heard.
    merged: u32,
    /// Events of the bucket before, if that was a surge; else 0.
    surge: u32,
    /// Events that a whole bucket may have.
    threshold: f32,
    /// Events of a usual bucket.
    mean: f32,
    /// Events of the bucket before that the others have not heard of.
    late: u16,
    /// Where in its shard the entry was last.
    place: u16,
    /// The number of its judge.
    judge: u8,
    /// The two buckets before were surges, both.
    lasts: bool,
    asked: Asked,
    /// When that was, in 256ths of the bucket, rounded up.
    heard_at: u8,
}

/// What was asked in this bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Nothing.
    Nothing,
    /// What is usual.
    Usual,
    /// Whether the threshold is really crossed.
    Crossing,
}

/// What a key's entry said, after it has taken in what this worker had to tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heard {
    /// The share of the bucket that had passed.
    pub elapsed: f32,
    /// The entry's place in its shard; `None` if there was no room for it.
    pub place: Option<usize>,
    /// Events of this bucket.
    pub count: u32,
    /// Events of the bucket before, if that was a surge; else 0.
    pub surge: u32,
    /// The two buckets before were surges, both.
    pub lasts: bool,
    /// Events that a whole bucket may have.
    pub threshold: f32,
    /// Events of a usual bucket.
    pub mean: f32,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            bucket: 0,
            pend: 0,
            merged: 0,
            surge: 0,
            threshold: f32::INFINITY,
            mean: 0.0,
            late: 0,
            place: 0,
            judge: 0,
            lasts: false,
            asked: Asked::Nothing,
            heard_at: 0,
        }
    }
}

impl Tally {
    /// A key that gets its slot.
    pub fn newcomer(bucket: u32) -> Tally {
        Tally { bucket, ..Tally::default() }
    }

    /// Goes on to a bucket. Gives the events that nobody will hear of any more.
    pub fn roll(&mut self, bucket: u32) -> u32 {
        if bucket == self.bucket {
            return 0;
        }
        let next = bucket == self.bucket.saturating_add(1);
        let surged = next && self.seen() as f32 > self.threshold;
        let kept = if next { self.pend.min(u16::MAX.into()) } else { 0 };
        let lost = self.untold() - kept;
        *self = Tally {
            bucket,
            pend: 0,
            merged: 0,
            surge: if surged { self.seen() } else { 0 },
            lasts: surged && self.surge > 0,
            late: kept as u16,
            asked: Asked::Nothing,
            heard_at: 0,
            ..*self
        };
        lost
    }

    /// One event, of a key that this judge judges.
    pub fn count(&mut self, judge: u8) {
        self.judge = judge;
        self.pend = self.pend.saturating_add(1);
    }

    /// Must the process be asked before a verdict is given? Once in a bucket what is usual, where it can matter: where
    /// there is a surge already, or enough for one. And once whether the threshold is really crossed.
    pub fn must_ask(&self, floor: f32) -> bool {
        match self.asked {
            Asked::Nothing => self.surge > 0 || self.seen() as f32 >= floor,
            Asked::Usual => self.seen() as f32 > self.threshold,
            Asked::Crossing => false,
        }
    }

    /// Should the others hear of it at the next tick?
    pub fn is_urgent(&self) -> bool {
        self.surge > 0 || self.seen() as f32 > self.threshold / 2.0
    }

    /// Is the key surging in this bucket, or was it in the one before?
    pub fn is_surging(&self) -> bool {
        self.surge > 0 || self.seen() as f32 > self.threshold
    }

    /// Has the surge gone on for two whole buckets?
    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// Nothing was heard: the own view must do for this bucket, until a tick brings more.
    pub fn hear_nothing(&mut self) {
        self.asked = Asked::Crossing;
    }

    /// Tells an entry (`None`: there is none) all that it has not heard of.
    pub fn tell(&self, entry: Option<Entry>, terms: &Terms, folds: &mut Folds) -> Entry {
        let first = self.bucket.saturating_sub(u32::from(self.late > 0));
        let mut entry = entry.unwrap_or_else(|| Entry::new(first));
        if self.late > 0 {
            entry.add(first, self.late.into(), terms, folds);
        }
        entry.add(self.bucket, self.pend, terms, folds);
        entry
    }

    /// Takes in what the process knows, after it was told everything.
    pub fn hear(&mut self, heard: &Heard) {
        let Heard { place, count, surge, lasts, threshold, mean, elapsed } = *heard;
        self.heard_at = (elapsed * 256.0).ceil() as u8;
        self.merged = if place.is_some() { count } else { self.seen() };
        (self.surge, self.lasts, self.mean) = (surge, lasts, mean);
        (self.pend, self.late) = (0, 0);
        self.threshold = if place.is_some() { threshold } else { f32::INFINITY };
        self.place = place.and_then(|place| u16::try_from(place).ok()).unwrap_or(0);
        self.asked = if self.seen() as f32 > self.threshold { Asked::Crossing } else { Asked::Usual };
    }

    /// Events that the others have not heard of.
    pub fn untold(&self) -> u32 {
        self.pend.saturating_add(self.late.into())
    }

    /// Where in its shard the entry was last.
    pub fn place(&self) -> usize {
        self.place.into()
    }

    /// The number of its judge.
    pub fn judge(&self) -> u8 {
        self.judge
    }

    /// Events of a usual bucket.
    pub fn mean(&self) -> f32 {
        self.mean
    }

    /// What a verdict rests on.
    pub fn view(&self) -> View {
        let heard_at = f32::from(self.heard_at) / 256.0;
        View {
            count: self.seen(),
            heard: self.merged,
            heard_at,
            surge: self.surge,
            threshold: self.threshold,
        }
    }

    /// Events of this bucket that this worker knows of.
    fn seen(&self) -> u32 {
        self.merged.saturating_add(self.pend)
    }
}

impl Cell for Tally {
    /// Its worth is what it has in a bucket, halved for each that it was silent; time is counted in buckets here. All may
    /// go, as the baseline is elsewhere; what was silent for six buckets and has nothing to tell costs nothing.
    fn stake(&self, now: Nanos) -> Option<u64> {
        const IDLE: u64 = 6;
        let silent = now.0.saturating_sub(self.bucket.into());
        let busy = u64::from(self.seen()).max(self.mean as u64).max(1);
        let gone = silent >= IDLE && self.untold() == 0 || u64::from(self.bucket) > now.0;
        Some(if gone { 0 } else { (busy >> silent.min(63)).max(1) })
    }
}

#[cfg(test)]
mod tests;
