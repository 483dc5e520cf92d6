//! What the process knows of one key: this bucket's events, those of the bucket before, and what is usual.
//!
//! A bucket that is over stays *open* for a while, so that every worker can still add what it counted there; whoever
//! comes after that folds it into the baseline. This happens in the entry itself, under compare-and-swap: exactly once,
//! by any worker, and it outlives them all. Events that come later still are dropped. Buckets in which nobody came are
//! passed at once.
//!
//! 36 bytes, little-endian:
//!
//! | at | bytes | |
//! |--:|--:|---|
//! | 0 | 8 | key |
//! | 8 | 4 | number of the bucket of time |
//! | 12 | 4 | its events so far |
//! | 16 | 4 | events of the bucket before |
//! | 20 | 8 | mean: sum f32, buckets taught u16, silent ones u16 |
//! | 28 | 4 | deviation: sum f32 |
//! | 32 | 2 | surged buckets in a row |
//! | 34 | 2 | 1 while the bucket before is open |
//!
//! Every byte is hostile. Numbers that no history leads to are a key that is unknown; a bucket from the future is no
//! entry at all; and whatever a count claims, a bucket later it is only a surge that teaches nothing.

use super::baseline::{Baseline, Terms};
use crate::counters::ewma::Span;
use crate::hash::Key;
use crate::shared::bytes::{u32_at, u64_at, write};

/// Bytes per entry.
pub const ENTRY_BYTES: usize = 36;

/// What the process knows of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entry {
    /// The number of the bucket of time.
    pub bucket: u32,
    /// Its events so far.
    pub count: u32,
    /// Events of the bucket before.
    pub previous: u32,
    /// The bucket before is not in the baseline yet.
    pub open: bool,
    /// What was learned.
    pub baseline: Baseline,
}

/// What became of what was brought to an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// Buckets that were folded as surges.
    pub surges: u32,
    /// Events that came after their bucket was folded.
    pub late: u32,
}

impl Entry {
    /// A key that nobody knows yet.
    pub fn new(bucket: u32) -> Entry {
        Entry { bucket, ..Entry::default() }
    }

    /// Adds events of one bucket.
    pub fn add(&mut self, bucket: u32, events: u32, terms: &Terms, folds: &mut Folds) {
        self.advance(bucket, terms, folds);
        if bucket == self.bucket {
            self.count = self.count.saturating_add(events);
        } else if self.open && self.bucket - bucket == 1 {
            self.previous = self.previous.saturating_add(events);
        } else {
            folds.late = folds.late.saturating_add(events);
        }
    }

    /// Goes on to a bucket; one that has passed is where we are.
    pub fn advance(&mut self, bucket: u32, terms: &Terms, folds: &mut Folds) {
        let gap = bucket.saturating_sub(self.bucket);
        if gap == 0 {
            return;
        }
        self.close(terms, folds);
        self.previous = self.count;
        if gap > 1 {
            folds.surges += u32::from(self.baseline.fold(self.count, terms));
            self.baseline.pass(gap - 2, terms);
            self.previous = 0;
        }
        (self.bucket, self.count, self.open) = (bucket, 0, true);
    }

    /// The bucket before is complete: it is folded, if it was not yet.
    pub fn close(&mut self, terms: &Terms, folds: &mut Folds) {
        if core::mem::take(&mut self.open) {
            folds.surges += u32::from(self.baseline.fold(self.previous, terms));
        }
    }

    /// Events of the bucket before, if it was a surge, as far as it is known; else 0.
    pub fn surge(&self, terms: &Terms) -> u32 {
        let surged = match self.open {
            true => self.previous as f32 > self.baseline.threshold(terms),
            false => self.baseline.surged(),
        };
        if surged { self.previous.max(1) } else { 0 }
    }

    /// Were the two buckets before surges, both, as far as is known?
    pub fn lasts(&self, terms: &Terms) -> bool {
        let run = self.baseline.run().saturating_add(self.open.into());
        self.surge(terms) > 0 && run >= 2
    }

    /// The entry in a record, taught with this span.
    pub fn read(record: &[u8], span: &Span) -> Entry {
        let last = u32_at(record, 32);
        Entry {
            bucket: bucket_of(record),
            count: u32_at(record, 12),
            previous: u32_at(record, 16),
            open: last >> 16 == 1,
            baseline: Baseline::kept(
                u64_at(record, 20),
                f32::from_bits(u32_at(record, 28)),
                last as u16,
                span,
            ),
        }
    }

    /// The record of a key's entry.
    pub fn record(&self, key: Key) -> [u8; ENTRY_BYTES] {
        let mut record = [0; ENTRY_BYTES];
        let (mean, deviation, run) = self.baseline.to_keep();
        write(&mut record, 0, &key.0.to_le_bytes());
        write(&mut record, 8, &self.bucket.to_le_bytes());
        write(&mut record, 12, &self.count.to_le_bytes());
        write(&mut record, 16, &self.previous.to_le_bytes());
        write(&mut record, 20, &mean.to_le_bytes());
        write(&mut record, 28, &deviation.to_le_bytes());
        write(&mut record, 32, &run.to_le_bytes());
        write(&mut record, 34, &u16::from(self.open).to_le_bytes());
        record
    }
}

/// The key of a record.
pub fn key_of(record: &[u8]) -> Key {
    Key(u64_at(record, 0))
}

/// What it is worth to have an entry: what was seen lately (this bucket's events and the mean's sum, as they stand there),
/// by the buckets since.
pub fn worth_of(record: &[u8], bucket: u32) -> f32 {
    let idle = bucket.saturating_sub(bucket_of(record));
    let sum = f32::from_bits(u32_at(record, 20)).max(0.0);
    (u32_at(record, 12) as f32 + sum) / (1.0 + idle as f32)
}

/// The bucket of a record.
pub fn bucket_of(record: &[u8]) -> u32 {
    u32_at(record, 8)
}

#[cfg(test)]
mod tests;
