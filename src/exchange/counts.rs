//! How often did a key come lately, to all workers of the process together? Counts that halve with every tick, for
//! thresholds over seconds: who reaches one is judged at once on what this worker knows, and it knows what the others
//! counted up to their last exchange.
//!
//! ```text
//! estimate = max(own sketch, what the process counted when last heard + own events since)
//! publish:   process = min(max(process, last heard) + own events since, most)        every count halved to this tick first
//! ```
//!
//! * A worker's [`Sketch`] sees every event. A key that comes back while its count has not decayed gets a place in a table of
//!   [`PLACES`] [`Tally`]s, which are exchanged; where they are more, those with the largest counts are. So a flood of
//!   keys that come once costs no shared call and displaces nobody who comes often.
//! * An exchange reads and writes each of 256 [`Shard`]s that has something to tell: at most 256 of each, of 4 KiB.
//! * Near the threshold a worker does not wait for it. Where `live` workers share the callers, a key that has come to
//!   `threshold / (2·live)` here is told of, and heard of, after each `threshold / (8·live)` events more: one read and one write
//!   of 4 KiB, [`ASKS`] of which a worker may spend. So of a burst that comes to all workers at once less than five eighths of a
//!   threshold pass beyond it; without asking, it would be a threshold for each worker.
//! * Error: the estimate is never above the true decayed count but for two keys of one line and tag (2e-9 per newcomer,
//!   see [`Sketch`]), and below it by what the others have not told yet: of a key far below its threshold, what they
//!   counted since their last exchange before this worker's, two intervals at most; and keys that came to them once.
//! * Full: a table or shard without a place for a key leaves it to each worker's own count, which is counted here.
//! * Bytes: see [`memory_bytes`]; in shared data at most [`SHARED_BYTES`] per process.

mod shard;
mod tally;

pub use shard::{ENTRY_BYTES, MAX_BYTES, MAX_ENTRIES, Shard};
pub use tally::Tally;

use crate::counters::bucket::{Charge, Quota};
use crate::counters::marks::Marks;
use crate::counters::sketch::{self, Bound, Sketch};
use crate::counters::table::{self, Slot, Table};
use crate::hash::Key;
use crate::shared::names::{ShardName, Sharded};
use crate::shared::{Store, update};
use crate::time::Nanos;
use core::ops::Range;

/// Keys that a worker tells the others of, at most, with each exchange.
pub const PLACES: u32 = 4_096;

const SHARDS: u32 = Sharded::Volume.shards();

/// Bytes that all workers of the process together have in shared data at the most, per kind of counts.
pub const SHARED_BYTES: u64 = SHARDS as u64 * MAX_BYTES as u64;

/// A key that comes so often within its decay is told of.
const TOLD_FROM: u32 = 2;

/// What a worker may ask between exchanges: 5,000 times a second, 1,000 at once. At some 3 µs each, 1.5 % of a core.
pub const ASKS: Quota = Quota { interval: Nanos(200_000), burst: 1_000, charge: Charge::Admitted };

/// Exchanges in which the whole table is swept once.
const SWEEP_EXCHANGES: usize = 32;

/// Ticks after which nothing is left of any count: it has 20 bits.
const FORGOTTEN: u32 = 20;

/// Bits of a count's fraction, those of the sketch's.
const FRACTION: u32 = 4;
const ONE: u32 = 1 << FRACTION;

/// How to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Lines of 64 bytes of the sketch, rounded up to a power of two.
    pub lines: u32,
    /// Time in which a count halves.
    pub tick: Nanos,
}

/// Counts since the worker began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The sketch's.
    pub sketch: sketch::Stats,
    /// The table's.
    pub table: table::Stats,
    /// Requests that asked the process what it has counted.
    pub asks: u64,
    /// Keys whose count the others could not be told of: evicted before, or without a place in shared data.
    pub untold: u64,
    /// Exchanges with a shard that failed. They are tried again with the next.
    pub given_up: u64,
    /// Values in shared data that made no sense and were taken for empty.
    pub corrupt: u64,
}

/// One worker's counts of one kind. See the [module](self) for how they work.
pub struct Counts<S> {
    store: S,
    kind: Sharded,
    settings: Settings,
    sketch: Sketch,
    table: Table<Tally>,
    /// Slots with something to tell.
    dirty: Marks,
    /// The tick of the latest event.
    latest: u32,
    /// Workers that share the callers.
    live: u32,
    /// What is left to ask, as a bucket's time.
    asks: Nanos,
    stats: Stats,
    /// The value that is being read or written, and who takes part in it: allocated once.
    blob: Vec<u8>,
    told: Vec<Told>,
}

/// One slot's share in an exchange, to be settled when the write has succeeded.
#[derive(Clone, Copy)]
struct Told {
    slot: Slot,
    tally: Tally,
    placed: bool,
}

/// Bytes that [`Counts::new`] allocates, exactly.
pub fn memory_bytes(settings: &Settings) -> u64 {
    let slots = Table::<Tally>::slots_for(SHARDS, PLACES);
    Sketch::memory_bytes(settings.lines)
        + Table::<Tally>::memory_bytes(SHARDS, PLACES)
        + Marks::memory_bytes(slots)
        + MAX_BYTES as u64
        + slots / u64::from(SHARDS) * size_of::<Told>() as u64
}

impl<S: Store> Counts<S> {
    /// Counts of this kind, all 0. Allocates [`memory_bytes`].
    pub fn new(store: S, kind: Sharded, settings: Settings) -> Self {
        let table = Table::new(SHARDS, PLACES);
        Counts {
            store,
            kind,
            settings,
            sketch: Sketch::new(settings.lines, settings.tick),
            dirty: Marks::new(table.slots()),
            told: Vec::with_capacity(table.slots_per_range()),
            table,
            latest: 0,
            live: 1,
            asks: Nanos::ZERO,
            stats: Stats::default(),
            blob: Vec::with_capacity(MAX_BYTES),
        }
    }

    /// Counts one event of a key, and says what it comes to with this one.
    pub fn observe(&mut self, key: Key, bound: &Bound, now: Nanos) -> u32 {
        let tick = self.tick(now);
        self.latest = self.latest.max(tick);
        let own = self.sketch.observe_up_to(key, bound.most, now).estimate;
        let Some(slot) = self.place(key, own, bound, tick) else { return own };
        let mut tally = self.table.cell(slot).at(tick);
        tally.add(ONE);
        self.table.put(slot, tally);
        self.dirty.set(slot, true);
        if self.should_ask(&tally, bound, now) {
            self.ask(slot, tick, now);
            tally = self.table.cell(slot);
        }
        own.max(tally.sixteenths() >> FRACTION)
    }

    /// Says how many workers share the callers.
    pub fn share(&mut self, live: u32) {
        self.live = live.max(1);
    }

    /// What a key's events come to.
    pub fn look(&self, key: Key, now: Nanos) -> u32 {
        let tick = self.tick(now);
        if tick.saturating_sub(self.latest) > FORGOTTEN {
            return 0;
        }
        let told = self.table.find(key).map(|slot| self.table.cell(slot).at(tick).sixteenths() >> FRACTION);
        self.sketch.estimate(key, now).max(told.unwrap_or_default())
    }

    /// Keys in the table that have come to their most.
    pub fn full(&self, now: Nanos) -> u64 {
        let tick = self.tick(now);
        self.table.iter().filter(|(_, _, tally)| tally.at(tick).is_full()).count() as u64
    }

    /// Exchanges with the other workers.
    pub fn publish(&mut self, now: Nanos) {
        self.sketch.keep_time(now);
        let tick = self.tick(now);
        let mut from = 0;
        while let Some(slot) = self.dirty.next(from) {
            let shard = slot.index() / self.table.slots_per_range();
            let end = (shard + 1) * self.table.slots_per_range();
            self.publish_shard(shard, slot.index()..end, tick);
            from = end;
        }
        self.table.sweep(self.table.slots() / SWEEP_EXCHANGES, Nanos(tick.into()));
        // A foreign value may have been longer than any of ours.
        self.blob.shrink_to(MAX_BYTES);
    }

    /// Takes on other settings. Another size or tick starts at 0.
    pub fn reconfigure(&mut self, settings: Settings) {
        let same = (settings.lines, settings.tick) == (self.settings.lines, self.settings.tick);
        if !same {
            self.settings = settings;
            self.clear();
        }
    }

    /// Forgets every key: under another seed or clock none is found again.
    pub fn clear(&mut self) {
        // The old one goes first: the memory of a module never shrinks, so it must not hold both.
        self.sketch = Sketch::new(0, self.settings.tick);
        self.sketch = Sketch::new(self.settings.lines, self.settings.tick);
        self.table.clear();
        self.dirty.clear();
        (self.latest, self.asks) = (0, Nanos::ZERO); // the clock may be another
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        Stats { sketch: self.sketch.stats(), table: self.table.stats(), ..self.stats }
    }

    /// The time in which a count halves.
    pub fn halving(&self) -> Nanos {
        self.settings.tick
    }

    /// Is the key so near its threshold that the others should hear of it now? Beyond it what this worker knows is enough.
    fn should_ask(&self, tally: &Tally, bound: &Bound, now: Nanos) -> bool {
        let threshold = bound.threshold.saturating_mul(ONE);
        self.live > 1
            && (threshold / (2 * self.live)..threshold).contains(&tally.sixteenths())
            && tally.pending() >= (threshold / (8 * self.live)).max(ONE)
            && ASKS.admits(self.asks, now)
    }

    fn ask(&mut self, slot: Slot, tick: u32, now: Nanos) {
        self.asks = ASKS.charged(self.asks, now);
        self.stats.asks += 1;
        let shard = slot.index() / self.table.slots_per_range();
        self.publish_shard(shard, slot.index()..slot.index() + 1, tick);
    }

    fn tick(&self, now: Nanos) -> u32 {
        (now.0 / self.settings.tick.0.max(1)) as u32
    }

    /// The key's place in the table: its own, or a new one if it comes often enough.
    fn place(&mut self, key: Key, own: u32, bound: &Bound, tick: u32) -> Option<Slot> {
        let slot = self.table.find(key);
        if slot.is_some() || own < TOLD_FROM {
            return slot;
        }
        let bid = u64::from(own << FRACTION);
        let placed = self.table.insert(key, bid, Nanos(tick.into())).ok();
        let Some(placed) = placed else {
            self.stats.untold += 1;
            return None;
        };
        let lost = placed.evicted.is_some_and(|(_, tally)| tally.at(tick).pending() > 0);
        self.stats.untold += u64::from(lost);
        self.table
            .put(placed.slot, Tally::heard((own - 1) << FRACTION, tick, bound.most.saturating_mul(ONE)));
        Some(placed.slot)
    }

    fn publish_shard(&mut self, shard: usize, slots: Range<usize>, tick: u32) {
        let Counts { store, kind, table, dirty, blob, told, .. } = self;
        let name = ShardName::new(*kind, shard);
        let mut corrupt = false;
        let outcome = update(store, name.as_str(), blob, |bytes| {
            let mut shard = Shard::open(bytes, tick);
            corrupt |= shard.corrupt();
            told.clear();
            for slot in dirty.within(slots.clone()) {
                let Some(key) = table.key(slot) else { continue };
                let (tally, placed) = shard.join(key, table.cell(slot).at(tick));
                told.push(Told { slot, tally, placed });
            }
            shard.changed()
        });
        self.stats.corrupt += u64::from(corrupt);
        match outcome.done {
            true => self.settle(slots),
            false => self.stats.given_up += 1,
        }
    }

    fn settle(&mut self, slots: Range<usize>) {
        slots.map(Slot::at).for_each(|slot| self.dirty.set(slot, false));
        for Told { slot, tally, placed } in self.told.drain(..) {
            self.table.put(slot, tally);
            self.stats.untold += u64::from(!placed);
        }
    }
}

#[cfg(test)]
mod tests;
