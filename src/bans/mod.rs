//! Who is banned, and until when? One list for all workers of the process; every worker knows all of it.
//!
//! Shared data is the truth, in 64 shards; each worker keeps a copy in a fixed table, and asks that alone. A ban is written
//! to its shard at once, and the shard's [version](versions) is raised: the others read what has changed at their
//! next tick, or at once when they [hear](Bans::hear) of it. What is lost on the way heals: what was written is read back
//! at the next tick until it is found, and every tick looks at 4 shards of 64 in turn, in both directions. Two copies of
//! one [record] are joined by an order, so it doesn't matter who hears what when.
//!
//! * [`record`]: one subject's ban and its join; [`shard`]: records in shared data; [`versions`]: which shards changed.
//! * [`book`]: the worker's own table; [`share`]: how book and shards meet.
//!
//! Seen by every worker within one tick of its own, two where writes are lost; by a new worker at once.
//! A request costs one look-up, and none while nobody is banned; a ban two reads and two writes; a tick reads 256 bytes
//! and 4 shards (32 bytes per ban), and those that changed.
//! Full: an unexpired ban is never evicted. One that finds no place in the table of the worker that bans is not in force
//! and not published; one that finds none in its shard (98,304 bans in all) holds on that worker alone. Both are counted.

pub mod book;
pub mod record;
pub mod shard;
pub mod share;
pub mod versions;

pub use book::{Ban, Standing};
pub use record::{MAX_BAN, Reason};
pub use shard::Era;

use crate::counters::bucket::{Charge, Quota};
use crate::counters::marks::Marks;
use crate::counters::table;
use crate::hash::Key;
use crate::shared::Store;
use crate::shared::bytes::MAX_VALUE;
use crate::shared::names::Sharded;
use crate::time::Nanos;
use book::Book;
use record::Record;
use versions::{Versions, shards};

/// What the operator may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bans that find a place, all but one in 50,000 of them. At most some 90,000 also fit shared data.
    pub bans: u32,
}

impl Settings {
    /// Bytes that [`Bans::new`] allocates, exactly. In shared data the process adds at most [`Settings::shared_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        Book::memory_bytes(self.bans) + Marks::memory_bytes(Book::slots_for(self.bans)) + MAX_VALUE as u64
    }

    /// Bytes that all workers of the process together have in shared data at the most.
    pub fn shared_bytes(&self) -> u64 {
        u64::from(Sharded::Bans.shards()) * MAX_VALUE as u64 + versions::BYTES as u64
    }
}

/// What became of a ban.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The subject was not banned, and is now.
    New,
    /// It was banned for a shorter time.
    Extended,
    /// It is banned for as long already, within a second; or the ban would be over by now.
    Standing,
    /// There is no place for it: it is not in force.
    Full,
}

/// Counts since the worker began, and what is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bans in force. Those that end are noticed at their subject's next request, or within 16 ticks.
    pub active: u64,
    /// Bans that found no place: not in this worker's table, or not in shared data.
    pub full: u64,
    /// Values in shared data that made no sense and were taken for empty.
    pub corrupt: u64,
    /// Changes given up: every write was forestalled, or the host refused. They are made at the next tick.
    pub given_up: u64,
    /// Writes that another worker's write forestalled.
    pub cas_lost: u64,
    /// The table of this worker.
    pub table: table::Stats,
}

/// One worker's end of the list. See the [module](self) for how it works.
pub struct Bans<S> {
    store: S,
    settings: Settings,
    era: Era,
    book: Book,
    versions: Versions,
    /// Shards that this worker wrote to and has not found to be as they should.
    again: u64,
    /// Shards to read at the next tick whatever their versions say.
    stale: u64,
    /// The last of the shards that are read in turn.
    turn: usize,
    /// Shards that this worker changed and the others were not told of.
    news: u64,
    /// What is left of the reads that others may ask for.
    heard: Nanos,
    stats: Stats,
    /// The value that is being read or written, and what it lacks: allocated once, used for every exchange.
    blob: Vec<u8>,
    lacking: Marks,
}

/// Shards that a worker reads because others tell it to: 500 a second, of some 25 µs with 800 bans each. The rest waits for
/// the tick.
const HEARD: Quota = Quota { interval: Nanos::from_millis(2), burst: 128, charge: Charge::Admitted };

/// Workers that ban a subject in the same moment mean one ban, though each counts from its own.
const SAME: Nanos = Nanos::from_secs(1);

/// Shards that a tick reads in turn, whatever their versions say: all within 16 ticks. With one of them, lost writes took
/// up to 12 s to heal.
const IN_TURN: usize = 4;

impl<S: Store> Bans<S> {
    /// Allocates the table and reads all shards: to be called when the VM serves its first stream. `era` is that of the
    /// seed and epoch that keys are made of.
    pub fn new(store: S, settings: Settings, era: Era, now: Nanos) -> Self {
        let mut bans = Bans {
            store,
            settings,
            era,
            book: Book::new(settings.bans),
            versions: Versions::default(),
            again: 0,
            stale: u64::MAX,
            turn: 0,
            news: 0,
            heard: Nanos::ZERO,
            stats: Stats::default(),
            blob: Vec::with_capacity(MAX_VALUE),
            lacking: Marks::new(Book::slots_for(settings.bans) as usize),
        };
        bans.tick(now);
        bans
    }

    /// Whether there is nothing to ask about anybody: no ban, and none that has lapsed and was not told of.
    pub fn is_empty(&self) -> bool {
        self.book.quiet()
    }

    /// How a subject stands. Every worker tells of a lapse once, at the subject's first request after it (while it comes
    /// within an hour, and the slot was not needed).
    pub fn check(&mut self, key: Key, now: Nanos) -> Standing {
        if self.is_empty() { Standing::Free } else { self.book.check(key, now) }
    }

    /// Bans a subject until then, at most [`MAX_BAN`] from now. Never shortens a ban. Shared data is asked also where this
    /// worker knows of a longer ban: it may have been lifted just now.
    pub fn ban(&mut self, key: Key, until: Nanos, reason: Reason, now: Nanos) -> Outcome {
        let until = until.min(now + MAX_BAN);
        if until <= now {
            return Outcome::Standing;
        }
        if self.book.slot(key, now).is_none() {
            self.stats.full += 1;
            return Outcome::Full;
        }
        let before = self.publish(key, now, |record| record.banned(until, reason));
        let after = before.banned(until, reason);
        self.book.join(key, after, now);
        self.stats.full += u64::from(!after.bans(now));
        match before {
            _ if !after.bans(now) => Outcome::Full,
            _ if until <= before.until => Outcome::Standing,
            _ if before.bans(now) && until - before.until <= SAME => Outcome::Standing,
            _ if before.bans(now) => Outcome::Extended,
            _ => Outcome::New,
        }
    }

    /// Lifts a subject's ban, for all workers. Says whether there was one.
    pub fn unban(&mut self, key: Key, now: Nanos) -> bool {
        let lift = |record: Record| if record.bans(now) { record.lifted() } else { record };
        let before = self.publish(key, now, lift);
        if before.counts(now) {
            self.book.join(key, lift(before), now);
        }
        before.bans(now)
    }

    /// Exchanges with the other workers: what has changed, what was written since the last tick once more, and 4 shards in
    /// turn.
    pub fn tick(&mut self, now: Nanos) {
        let changed = self.versions.changed(&mut self.store, &mut self.blob, u64::MAX);
        let again = core::mem::take(&mut self.again);
        let stale = core::mem::take(&mut self.stale);
        let turn = self.next_in_turn();
        let added = self.meet_all(changed | again | stale | turn, now);
        self.news |= added & again;
        self.again |= added;
        self.raise(added | again);
        shards(turn).for_each(|shard| self.book.sweep(shard, now));
        // A foreign value may have been longer than any of ours.
        self.blob.shrink_to(MAX_VALUE);
    }

    /// A notice came: other workers have changed these shards. They are read at once, 500 of
    /// them a second; what is beyond that, at the next tick.
    pub fn hear(&mut self, of: u64, now: Nanos) {
        let mut due = 0;
        for shard in shards(of) {
            if HEARD.admits(self.heard, now) {
                self.heard = HEARD.charged(self.heard, now);
                due |= 1 << shard;
            }
        }
        self.stale |= of & !due;
        if due != 0 {
            self.versions.changed(&mut self.store, &mut self.blob, due);
            let added = self.meet_all(due, now);
            self.again |= added;
        }
    }

    /// The shards that this worker has changed since it was last asked: the others are to [hear](Bans::hear) of them.
    pub fn take_news(&mut self) -> u64 {
        core::mem::take(&mut self.news)
    }

    /// Forgets everything here: under another seed or epoch no key can be found again. What is banned in `era` comes with
    /// the next tick.
    pub fn clear(&mut self, era: Era) {
        self.era = era;
        self.book.clear();
        self.versions = Versions::default();
        (self.again, self.news, self.stale) = (0, 0, u64::MAX);
        self.heard = Nanos::ZERO; // the clock may be another
    }

    /// Takes on other settings. Another size keeps all bans that fit; for a moment there is memory for both.
    pub fn reconfigure(&mut self, settings: Settings, now: Nanos) {
        if Book::slots_for(settings.bans) != Book::slots_for(self.settings.bans) {
            let before = core::mem::replace(&mut self.book, Book::new(settings.bans));
            self.stats.full += self.book.take_over(&before, now);
            self.lacking = Marks::new(Book::slots_for(settings.bans) as usize);
            self.stale = u64::MAX;
        }
        self.settings = settings;
    }

    /// All bans in force that this worker knows, by key: a walk through the table.
    pub fn iter(&self, now: Nanos) -> impl Iterator<Item = (Key, Ban)> {
        self.book.bans(now)
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        Stats { active: self.book.active(), table: self.book.stats(), ..self.stats }
    }

    fn next_in_turn(&mut self) -> u64 {
        let all = Sharded::Bans.shards() as usize;
        self.turn = (self.turn + IN_TURN) % all;
        (0..IN_TURN).fold(0, |mask, step| mask | 1 << ((self.turn + step) % all))
    }
}

#[cfg(test)]
mod tests;
