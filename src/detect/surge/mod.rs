//! The traffic guard: is somebody's traffic, or a route's, far above what is usual for it?
//!
//! Events are counted in buckets of time, by route, client, credential and network; what is usual is learned from the
//! buckets before. All of that belongs to the process and not to a worker: a connection lives on one worker and comes
//! back on another, so what is usual for a worker says nothing. In the order of one event and one tick:
//!
//! * A worker keeps a [`tally`] per key: what it counted, and what it last heard of the process. A key below its floor
//!   costs no shared call; one that reaches it asks the process once in a bucket what is usual, and one that crosses its
//!   threshold whether it really does. So a verdict never rests on what one worker saw.
//! * [`publish`]: about once a second the counts go to the process's [`entry`], in a [`shard`] of shared data, and what
//!   the others counted comes back. Whoever comes first after a bucket has ended folds it into the [`baseline`] there.
//! * [`verdict`]: how far beyond its threshold a key is in the middle of a bucket.
//!
//! A request does not count for all of its keys: see [`stand`]. What one client does alone raises no signal against
//! everybody on its route.
//!
//! Full table: the key goes that has least in a bucket, halved for each that it was silent. What it had not told is
//! counted as lost, and its baseline stays in shared data. Full shard: see [`shard`].

pub mod baseline;
pub mod entry;
pub mod moment;
pub mod publish;
pub mod settings;
pub mod shard;
pub mod sizes;
pub mod stand;
pub mod stats;
pub mod tally;
pub mod verdict;

pub use settings::{Dimension, Judge, Settings, Subjects};
pub use sizes::Sizes;
pub use stats::Stats;

use crate::counters::marks::Marks;
use crate::counters::table::{Slot, Table};
use crate::detect::signal::Signals;
use crate::hash::{Family, Key, Seed, SubjectHash};
use crate::shared::Store;
use crate::shared::bytes::MAX_VALUE;
use crate::time::Nanos;
use moment::Moment;
use publish::Told;
use shard::SHARDS;
use stand::Stand;
use tally::Tally;

/// One worker's traffic guard. See the [module](self) for how it works.
pub struct Surge<S> {
    store: S,
    sizes: Sizes,
    /// The latest plan's: by these ticks fold.
    settings: Settings,
    seed: Seed,
    epoch: u32,
    families: [Family; 4],
    table: Table<Tally>,
    /// Slots with something pending.
    dirty: Marks,
    /// Those that the others should hear of at the next tick.
    urgent: Marks,
    /// Entries that a shard may have.
    room: usize,
    /// What is left to ask, as a bucket's time.
    asks: Nanos,
    /// The bucket in which all shards were served last.
    flushed: u32,
    /// Which shards a tick serves.
    turn: usize,
    /// Workers that share the traffic, as far as that matters.
    workers: f32,
    stats: Stats,
    /// The value that is being read or written, and who takes part in it: allocated once.
    blob: Vec<u8>,
    told: Vec<Told>,
}

impl<S: Store> Surge<S> {
    /// Allocates the table, for the latest plan's settings and the process's seed and epoch.
    pub fn new(store: S, sizes: Sizes, settings: Settings, seed: &Seed, epoch: u32) -> Self {
        let table = Table::new(SHARDS, sizes.keys);
        Surge {
            store,
            families: families(&settings, seed, epoch),
            settings,
            seed: *seed,
            epoch,
            dirty: Marks::new(table.slots()),
            urgent: Marks::new(table.slots()),
            told: Vec::with_capacity(table.slots_per_range()),
            table,
            room: shard::room(sizes.keys),
            sizes,
            asks: Nanos::ZERO,
            flushed: 0,
            turn: 0,
            workers: 1.0,
            stats: Stats::default(),
            blob: Vec::with_capacity(MAX_VALUE),
        }
    }

    /// Counts one request, and says in which dimensions it is part of a surge. The settings are those of the request's
    /// plan; where plans differ in the lengths of time, the latest one's are in force. `reaches`: as far as is known,
    /// the request gets to its route. One that does not is its caller's doing, and nobody else's.
    pub fn observe(
        &mut self,
        settings: &Settings,
        subjects: &Subjects,
        reaches: bool,
        now: Nanos,
    ) -> Signals {
        let at = Moment::of(now, self.settings.bucket);
        let [for_source, for_consumer] = self.callers(settings, subjects, &at);
        let source = self.event(settings, subjects, Dimension::Source, for_source, &at, now);
        let consumer = self.event(settings, subjects, Dimension::Consumer, for_consumer, &at, now);
        let for_all = reaches && stand::counts_for_all(source.as_ref(), consumer.as_ref());
        let route = self.event(settings, subjects, Dimension::Route, for_all, &at, now);
        let network = self.event(settings, subjects, Dimension::Network, for_all, &at, now);
        let signal = |stand: Option<Stand>| stand.and_then(|stand| stand.signal);
        let [source, consumer] = stand::without_echo(source.as_ref(), consumer.as_ref());
        Signals::new([signal(route), source, consumer, signal(network)])
    }

    /// Says how many workers share the traffic: the more, the earlier one asks the process.
    pub fn share(&mut self, workers: u32) {
        self.workers = workers.clamp(1, MOST_SHARING) as f32;
    }

    /// Exchanges with the other workers.
    pub fn tick(&mut self, now: Nanos) {
        let at = Moment::of(now, self.settings.bucket);
        self.publish(&at);
        self.table.sweep(self.table.slots() / SWEEP_TICKS, Nanos(at.bucket.into()));
        // A foreign value may have been longer than any of ours.
        self.blob.shrink_to(MAX_VALUE);
    }

    /// Takes on other sizes, and the settings of what is the latest plan now. Baselines stay, unless the length of a bucket
    /// or the buckets to learn from are others: then all keys start anew.
    pub fn reconfigure(&mut self, sizes: Sizes, settings: Settings, now: Nanos) {
        if Table::<Tally>::slots_for(SHARDS, sizes.keys) != self.table.slots() as u64 {
            self.flushed = u32::MAX;
            self.publish(&Moment::of(now, self.settings.bucket));
            // The old one goes first: the memory of a module never shrinks, so it must not hold both.
            self.table = Table::new(SHARDS, 0);
            self.table = Table::new(SHARDS, sizes.keys);
            self.dirty = Marks::new(self.table.slots());
            self.urgent = Marks::new(self.table.slots());
            self.told = Vec::with_capacity(self.table.slots_per_range());
        }
        if (settings.bucket, settings.learning) != (self.settings.bucket, self.settings.learning) {
            self.families = families(&settings, &self.seed, self.epoch);
            self.clear();
        }
        self.room = shard::room(sizes.keys);
        (self.sizes, self.settings) = (sizes, settings);
    }

    /// Takes on the process's seed and epoch: under others nothing is known of anybody.
    pub fn rebind(&mut self, seed: &Seed, epoch: u32) {
        (self.seed, self.epoch) = (*seed, epoch);
        self.families = families(&self.settings, seed, epoch);
        self.clear();
    }

    /// Forgets what this worker has in memory: another clock has begun. The baselines are in shared data.
    pub fn clear(&mut self) {
        self.table.clear();
        self.dirty.clear();
        self.urgent.clear();
        self.asks = Nanos::ZERO;
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        Stats { table: self.table.stats(), slots: self.table.slots() as u64, ..self.stats }
    }

    /// Whether an event counts for its client and for its credential, where it has both.
    fn callers(&self, settings: &Settings, subjects: &Subjects, at: &Moment) -> [bool; 2] {
        let both = [Dimension::Source, Dimension::Consumer];
        if both.iter().any(|dimension| subjects.of.get(*dimension as usize).is_none_or(Option::is_none)) {
            return [true, true];
        }
        let [source, consumer] = both.map(|dimension| self.look(settings, subjects, dimension, at));
        stand::callers(source.as_ref(), consumer.as_ref())
    }

    /// One event of one dimension, whether it counts there or not.
    fn event(
        &mut self,
        settings: &Settings,
        subjects: &Subjects,
        dimension: Dimension,
        counts: bool,
        at: &Moment,
        now: Nanos,
    ) -> Option<Stand> {
        if !counts {
            return self.look(settings, subjects, dimension, at);
        }
        let (subject, number, judge) = self.judged(settings, subjects, dimension)?;
        let key = self.families.get(dimension as usize)?.key(subject);
        let slot = self.slot(key, at)?;
        let mut tally = self.table.cell(slot);
        self.stats.lost += u64::from(tally.roll(at.bucket));
        tally.count(number);
        if tally.must_ask(judge.floor / self.workers) {
            self.ask(key, &mut tally, &judge, at, now);
        }
        self.dirty.set(slot, tally.untold() > 0 || tally.is_surging());
        if tally.is_urgent() {
            self.urgent.set(slot, true);
        }
        self.table.put(slot, tally);
        Some(Stand::of(dimension, subject, &judge, &tally, at))
    }

    /// How one dimension stands, for an event that is not counted there.
    fn look(
        &self,
        settings: &Settings,
        subjects: &Subjects,
        dimension: Dimension,
        at: &Moment,
    ) -> Option<Stand> {
        let (subject, _, judge) = self.judged(settings, subjects, dimension)?;
        let key = self.families.get(dimension as usize)?.key(subject);
        let mut tally = self.table.find(key).map_or(Tally::newcomer(at.bucket), |slot| self.table.cell(slot));
        tally.roll(at.bucket);
        Some(Stand::of(dimension, subject, &judge, &tally, at))
    }

    /// Whom a request is of in one dimension, where its own plan looks at it; by the judge that all workers teach by, and
    /// the weight of its own plan.
    fn judged(
        &self,
        settings: &Settings,
        subjects: &Subjects,
        dimension: Dimension,
    ) -> Option<(SubjectHash, u8, Judge)> {
        let subject = (*subjects.of.get(dimension as usize)?)?;
        let (_, own) = settings.judge(dimension, subjects.route)?;
        let (number, judge) = self.settings.judge(dimension, subjects.route)?;
        Some((subject, number, Judge { weight: own.weight, ..judge }))
    }

    /// The slot of a key, which it gets if it has none.
    fn slot(&mut self, key: Key, at: &Moment) -> Option<Slot> {
        if let Some(slot) = self.table.find(key) {
            return Some(slot);
        }
        let placed = self.table.insert(key, u64::MAX, Nanos(at.bucket.into())).ok()?;
        self.stats.lost += placed.evicted.map_or(0, |(_, tally)| u64::from(tally.untold()));
        self.urgent.set(placed.slot, false);
        self.table.put(placed.slot, Tally::newcomer(at.bucket));
        Some(placed.slot)
    }
}

/// A count of one length of time says nothing about another, so the lengths belong to the name.
fn families(settings: &Settings, seed: &Seed, epoch: u32) -> [Family; 4] {
    let lengths = format!("{} {}", settings.bucket.0, settings.learning.buckets());
    Dimension::ALL
        .map(|dimension| Family::new(seed, epoch, "traffic", &format!("{} {lengths}", dimension.name())))
}

/// More workers than these don't make one ask earlier: where events are spread over sixteen of them, a fourth of what is
/// enough for a surge lies on some before the rest is heard of.
const MOST_SHARING: u32 = 4;

/// Ticks in which the whole table is swept once.
const SWEEP_TICKS: usize = 32;

#[cfg(test)]
mod tests;
