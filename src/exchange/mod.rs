//! How the workers of one process share consumption, so that a limit is the process's and not a worker's.
//!
//! There is one *ledger* per process, in shared data: a bucket per key, as one absolute time, changed only under
//! compare-and-swap. A worker admits from a small *allowance* without any shared call, remembers what it admitted,
//! and adds it to the ledger at its next tick, or at once when the allowance is used up. It refuses only on the
//! ledger's word, and from memory for a short *hold* after it. So a client below its limit costs no shared call
//! and is never refused; a client above it gets the limit, whatever the number of workers and however its
//! connections are spread.
//!
//! In the order of one request and one tick:
//! * [`admit`]: the request. Its slot is an [`account`]; what it may spend or how long it is held, [`allowance`].
//! * [`ledger`]: the shard that it asks when that is used up; [`who`] uses a key is written beside its balance.
//! * `look`: whether a key is over its limit, asked by those who charge nothing.
//! * [`budget`]: how often requests may ask.
//! * [`publish`]: the tick's half; [`roster`]: which workers live; [`meta`]: the seed and epoch they agree on.
//! * [`sums`]: what is added up over windows of time, at once and exactly: quotas and charges of tiers.
//! * [`counts`]: how often very many keys came lately, which halves with time: volumes, wallets, failures.
//! * [`stats`]: what all that did. How it is stored: [`names`](crate::shared::names), [`bytes`](crate::shared::bytes).
//!
//! Nothing in a worker is needed to get its charges back: a worker that dies loses what it had not published, at
//! most its allowances. A worker that is new asks the ledger before it lends anything in a shard that it does not
//! know yet. A key that loses its slot leaves what it owes in the [`arrears`](crate::counters::arrears) and finds it there
//! when it comes back; where there are other workers it asks the ledger first, and so does every newcomer where the
//! arrears had to forget more than single events. Slots go to who comes; arrears and ledger forget first who owes the fewest
//! events, whatever the rates. So neither a reload nor an eviction refunds a bucket, also with the ledger out of reach,
//! while there are words for all who owe as many events; beyond that, those are forgotten who owe fewest.

pub mod account;
pub mod admit;
pub mod allowance;
pub mod budget;
pub mod counts;
pub mod ledger;
mod look;
pub mod meta;
pub mod publish;
pub mod roster;
pub mod stats;
pub mod sums;
pub mod who;

pub use roster::Gauges;
pub use stats::Stats;

use crate::counters::arrears::Arrears;
use crate::counters::lines::Lines;
use crate::counters::marks::Marks;
use crate::counters::table::{Slot, Table};
use crate::hash::{Key, Seed};
use crate::shared::Store;
use crate::shared::bytes::MAX_VALUE;
use crate::shared::names::Sharded;
use crate::time::Nanos;
use account::Account;
use allowance::Team;
use budget::Budget;
use ledger::Shard;
use meta::{Agreement, Meta};
use publish::Joined;
use roster::Roster;

/// Shards of the ledger, which are ranges of every worker's table.
const SHARDS: u32 = Sharded::Ledger.shards();

/// What the operator may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Keys that one worker can follow, rounded up to whole sets in every shard (at least 4,096). Whoever lets an
    /// operator choose asks [`Settings::memory_bytes`] first.
    pub slots: u32,
    /// Lines of eight words for what keys without a slot owe, rounded up to a power of two (at least 512).
    pub sketch_buckets: u32,
    /// Time between two ticks.
    pub interval: Nanos,
}

impl Settings {
    /// The sizes that are made of these: whole sets in every shard, and a power of two.
    pub fn rounded(&self) -> Settings {
        let slots = Table::<Account>::slots_for(SHARDS, self.slots);
        Settings { slots: u32::try_from(slots).unwrap_or(u32::MAX), sketch_buckets: self.lines(), ..*self }
    }

    /// Bytes that [`Exchange::new`] allocates, exactly. In shared data the process adds at most
    /// [`Settings::shared_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        let slots = Table::<Account>::slots_for(SHARDS, self.slots);
        let shards = u64::from(SHARDS);
        Table::<Account>::memory_bytes(SHARDS, self.slots)
            + Marks::memory_bytes(slots)
            + Arrears::memory_bytes(self.lines())
            + shards * size_of::<Nanos>() as u64
            + slots / shards * size_of::<Joined>() as u64
            + MAX_VALUE as u64
    }

    /// Bytes that all workers of the process together have in shared data at the most: the ledger, the roster and what
    /// they agreed on.
    pub fn shared_bytes(&self) -> u64 {
        let ledger = u64::from(SHARDS) * ledger::room(self.slots) as u64 * ledger::ENTRY_BYTES as u64;
        ledger + roster::MAX_BYTES as u64 + meta::BYTES as u64
    }

    /// Every line of arrears belongs to one shard, so that what it forgets casts a doubt on that shard alone.
    fn lines(&self) -> u32 {
        Lines::rounded(self.sketch_buckets.max(SHARDS))
    }
}

/// What makes this VM unlike the others. Randomness is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The hash seed to propose to the process.
    pub seed: [u8; 16],
    /// The VM's name in the roster.
    pub nonce: u64,
}

/// What a tick brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Seed or epoch are other ones now: keys must be made anew, and nothing is known of any of them.
    pub reseeded: bool,
    /// What the other workers hold together.
    pub others: Gauges,
}

/// One worker's end of the exchange. See the [module](self) for how it works.
pub struct Exchange<S> {
    store: S,
    settings: Settings,
    table: Table<Account>,
    /// What keys owe that lost their slot or never had one.
    arrears: Arrears,
    /// Slots with something pending.
    dirty: Marks,
    /// Keys that got something pending since it was last published.
    unheard: u32,
    /// Per shard: until then, a newcomer may owe something of which nothing is left here, not even arrears.
    doubt: Box<[Nanos]>,
    /// Entries that a shard of the ledger may have.
    room: usize,
    meta: Meta,
    roster: Roster,
    budget: Budget,
    stats: Stats,
    /// The value that is being read or written, and who takes part in it: allocated once, used for every exchange.
    blob: Vec<u8>,
    joined: Vec<Joined>,
}

impl<S: Store> Exchange<S> {
    /// Allocates the table, agrees on the seed and joins the roster: to be called when the VM serves its first
    /// stream, since VMs that never serve must neither cost memory nor count as workers.
    pub fn new(store: S, settings: Settings, own: Own, now: Nanos) -> Self {
        let table = Table::new(SHARDS, settings.slots);
        let mut exchange = Exchange {
            store,
            settings,
            arrears: Arrears::new(settings.lines()),
            dirty: Marks::new(table.slots()),
            unheard: 0,
            joined: Vec::with_capacity(table.slots_per_range()),
            table,
            doubt: vec![Nanos::MAX; SHARDS as usize].into_boxed_slice(),
            room: ledger::room(settings.slots),
            meta: Meta { seed: own.seed, created: now, epoch: 0 },
            roster: Roster::new(own.nonce),
            budget: Budget::default(),
            stats: Stats::default(),
            blob: Vec::with_capacity(MAX_VALUE),
        };
        let agreement = exchange.meta.enter(&mut exchange.store, &mut exchange.blob);
        exchange.adopt(agreement);
        exchange.renew(Gauges::default(), now);
        exchange
    }

    /// The process's hash seed and epoch, from which all keys are made. They change only where [`Tick::reseeded`]
    /// says so, and by [`Exchange::clear`].
    pub fn seed(&self) -> (Seed, u32) {
        (Seed(self.meta.seed), self.meta.epoch)
    }

    /// Workers that live, as this one counts them: what a limit that can't be shared is divided by.
    pub fn live(&self, now: Nanos) -> u32 {
        self.roster.live(now)
    }

    /// Publishes, from the next tick on, the token of the queue on which this worker hears the others; 0 for none.
    pub fn set_queue(&mut self, token: u32) {
        self.roster.set_queue(token);
    }

    /// The own place in the roster, below 64, by which to name the queue. `None` until the roster was reached and
    /// while it is full; another one after a lease was missed.
    pub fn place(&self) -> Option<usize> {
        self.roster.seat()
    }

    /// The queues of the other workers that lived at the last tick: at most 63 tokens, each once, never 0 and never the
    /// own.
    pub fn queues(&self) -> impl Iterator<Item = u32> {
        self.roster.queues()
    }

    /// Whether this worker is the one that reports what is the process's and not a worker's: no worker that lives has
    /// a lower place. For a lease after the leader's death nobody is, for a tick after a change two may be.
    pub fn leads(&self) -> bool {
        self.roster.leads()
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        let (table, arrears) = (self.table.stats(), self.arrears.stats());
        Stats { table, arrears, slots: self.table.slots() as u64, ..self.stats }
    }

    /// Exchanges with the other workers: seed and epoch, the roster, then everything that is pending.
    pub fn tick(&mut self, now: Nanos, gauges: Gauges) -> Tick {
        let reseeded = self.agree();
        if reseeded {
            self.start_over();
        }
        self.renew(gauges, now);
        self.publish(now);
        self.table.sweep(self.table.slots() / SWEEP_TICKS, now - IDLE);
        self.arrears.sweep(now);
        // A foreign value may have been longer than any of ours.
        self.blob.shrink_to(MAX_VALUE);
        Tick { reseeded, others: self.roster.others() }
    }

    /// Forgets every bucket of the process: the others follow at their next tick. The keys must be made anew.
    pub fn clear(&mut self) {
        let agreement = self.meta.next_epoch(&mut self.store, &mut self.blob);
        self.adopt(agreement);
        self.start_over();
    }

    /// Forgets all buckets whose keys carry one of these family tags, here and in the ledger: those of removed
    /// rules. 512 reads, and a write for each shard that had any.
    pub fn forget(&mut self, tags: &[u16]) {
        self.forget_own(tags);
        for shard in 0..SHARDS as usize {
            let Exchange { store, room, blob, stats, .. } = self;
            ledger::change(store, shard, *room, blob, stats, |shard| shard.remove_tags(tags));
        }
    }

    /// Takes on other settings. Another size starts empty: the balances come back from the arrears or the ledger.
    pub fn reconfigure(&mut self, settings: Settings, now: Nanos) {
        if settings.lines() != self.settings.lines() {
            // The old ones go first: the memory of a module never shrinks, so it must not hold both.
            self.arrears = Arrears::new(0);
            self.arrears = Arrears::new(settings.lines());
            self.doubt.fill(Nanos::MAX);
        }
        let slots = Table::<Account>::slots_for(SHARDS, settings.slots);
        if slots != self.table.slots() as u64 {
            self.publish(now);
            let before = core::mem::replace(&mut self.table, Table::new(SHARDS, 0));
            before.iter().for_each(|(_, key, account)| self.remember(key, account, now));
            drop(before);
            self.table = Table::new(SHARDS, settings.slots);
            self.dirty = Marks::new(self.table.slots());
            self.joined = Vec::with_capacity(self.table.slots_per_range());
        }
        self.room = ledger::room(settings.slots);
        self.settings = settings;
    }

    fn team(&self, now: Nanos) -> Team {
        let valid = self.settings.interval + Nanos(self.settings.interval.0 / 2);
        Team {
            live: self.roster.live(now),
            settled: self.roster.settled(now),
            place: self.roster.place(),
            valid,
        }
    }

    fn agree(&mut self) -> bool {
        let agreement = self.meta.agree(&mut self.store, &mut self.blob);
        self.adopt(agreement)
    }

    /// Takes on seed and epoch, and says whether they are other ones.
    fn adopt(&mut self, agreement: Agreement) -> bool {
        self.stats.count(agreement.update);
        self.stats.corrupt += u64::from(agreement.corrupt);
        let before = self.seed();
        self.meta = agreement.meta;
        self.seed() != before
    }

    /// Forgets what is known under another seed or epoch: none of it can be found again.
    fn start_over(&mut self) {
        self.stats.reseeded += 1;
        self.table.clear();
        self.arrears.clear();
        self.dirty.clear();
        self.doubt.fill(Nanos::MAX);
    }

    fn renew(&mut self, gauges: Gauges, now: Nanos) {
        let lease = self.settings.interval.times(LEASE_TICKS).max(MIN_LEASE);
        let renewal = self.roster.renew(&mut self.store, &mut self.blob, gauges, lease, now);
        self.stats.count(renewal.update);
        self.stats.corrupt += u64::from(renewal.corrupt);
        if renewal.update.done {
            self.stats.last_exchange = now;
        }
    }

    /// A shard was read. The first time, everything that it holds for keys without a slot goes to the arrears: from
    /// then on there is no doubt about a newcomer.
    fn heard(&mut self, shard: usize, now: Nanos) {
        if self.doubt.get(shard) != Some(&Nanos::MAX) {
            return;
        }
        let Exchange { blob, table, arrears, room, .. } = self;
        let mut lost = Nanos::ZERO;
        for (key, entry) in Shard::open(blob, *room).entries().filter(|(key, _)| table.find(*key).is_none()) {
            lost = arrears.put(key, entry.tat, entry.pace, now).unwrap_or_default().max(lost);
        }
        if let Some(doubt) = self.doubt.get_mut(shard) {
            *doubt = lost;
        }
    }

    /// A key loses its slot: what it owes goes to the arrears, or else leaves a doubt.
    fn remember(&mut self, key: Key, account: &Account, now: Nanos) {
        let lost = self.arrears.put(key, account.tat, account.pace(), now);
        if let Some(doubt) = self.doubt.get_mut(self.table.range(key)) {
            *doubt = lost.unwrap_or_default().max(*doubt);
        }
    }

    /// Arrears don't say to which rule they belong. What keys of a removed one owe there is left to time: nobody asks
    /// for it, unless the rule comes back before it is over.
    fn forget_own(&mut self, tags: &[u16]) {
        for slot in (0..self.table.slots()).map(Slot::at) {
            if self.table.key(slot).is_some_and(|key| tags.contains(&key.tag())) {
                self.table.remove(slot);
                self.dirty.set(slot, false);
            }
        }
    }
}

/// A lease lasts ten ticks: one that is late or missed is no death.
const LEASE_TICKS: u64 = 10;

/// And at least two seconds: a worker that is busy for one is not dead either.
const MIN_LEASE: Nanos = Nanos::from_secs(2);

/// Ticks in which the whole table is swept once: 1,664 slots per tick of 53,248.
const SWEEP_TICKS: usize = 32;

/// A key that is back within ten seconds finds its slot, and its allowance without an insertion.
const IDLE: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests;
