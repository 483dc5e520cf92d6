//! What is compared, behind one interface; first Weir's own.

use core::net::{IpAddr, Ipv4Addr};

use weir::counters::bucket::{Charge, Meter, Quota, Verdict};
use weir::counters::sketch::Sketch;
use weir::counters::table::{Cell, Table};
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::{Family, Key, Seed, SubjectHash};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

use crate::paper::grouped;

/// Something that counts events of addresses.
pub trait Contender {
    /// One event. Whether it is within the limit, or for those that only count: whether the address is not heavy.
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool;

    /// What a worker does every 200 ms.
    fn tick(&mut self, _now: Nanos) {}

    /// Keys of which something is remembered; none where keys are not told apart.
    fn kept(&self) -> Option<u64>;

    /// Bytes that it has for itself, where what it allocates is not all its own.
    fn own_bytes(&self) -> Option<u64> {
        None
    }
}

/// "50,000" keys; "–" where keys are not told apart.
pub fn shown(kept: Option<u64>) -> String {
    kept.map_or("–".to_owned(), |kept| grouped(kept as usize))
}

/// A sustained rate and a burst: 1 per second, 60 at once.
pub const QUOTA: Quota = Quota { interval: Nanos::from_secs(1), burst: 60, charge: Charge::Admitted };

/// Events per second from which those that only count call an address heavy.
pub const HEAVY: u32 = 20;

/// When virtual time begins.
pub const START: Nanos = Nanos::from_secs(1000);

const SEED: Seed = Seed([7; 16]);

/// One of the compared.
pub struct Entry {
    pub name: &'static str,
    /// Makes it, for so many keys where its size is to be chosen.
    pub make: fn(u32) -> Box<dyn Contender>,
    /// It can only count, not limit.
    pub counts_only: bool,
    /// It reads the clock by itself.
    pub own_clock: bool,
}

/// Weir's, the structures by themselves and the whole.
pub const WEIR: [Entry; 4] = [
    Entry {
        name: "(hashing the address for Weir)",
        make: |_| Box::new(Hashed(family())),
        counts_only: true,
        own_clock: false,
    },
    Entry {
        name: "**Weir** sketch, 65,536 buckets",
        make: |_| Box::new(Sketched::new()),
        counts_only: true,
        own_clock: false,
    },
    Entry {
        name: "**Weir** table + bucket, room for all",
        make: |keys| Box::new(Buckets::new(keys)),
        counts_only: false,
        own_clock: false,
    },
    Entry {
        name: "**Weir** exchange, 50,000 slots",
        make: |_| Box::new(Worker::new()),
        counts_only: false,
        own_clock: false,
    },
];

/// An address from a number.
pub const fn address(bits: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(bits))
}

/// As a rule names a client: typed, hashed under the seed, and bound to what is counted.
fn key(family: &Family, who: IpAddr) -> Key {
    let mut hasher = SEED.hasher();
    match who {
        IpAddr::V4(v4) => hasher.part(1, &v4.octets()),
        IpAddr::V6(v6) => hasher.part(2, &v6.octets()),
    };
    family.key(SubjectHash(hasher.finish()))
}

fn family() -> Family {
    Family::new(&SEED, 0, "requests", "bench")
}

/// Hashes and counts nothing: a part of what the others of Weir cost.
struct Hashed(Family);

impl Contender for Hashed {
    fn event(&mut self, who: IpAddr, _now: Nanos) -> bool {
        key(&self.0, who).0 > 0
    }

    fn kept(&self) -> Option<u64> {
        None
    }
}

struct Sketched {
    sketch: Sketch,
    family: Family,
}

impl Sketched {
    fn new() -> Sketched {
        Sketched { sketch: Sketch::new(65_536, Nanos::from_secs(1)), family: family() }
    }
}

impl Contender for Sketched {
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool {
        self.sketch.observe(key(&self.family, who), now).estimate < HEAVY
    }

    fn kept(&self) -> Option<u64> {
        Some(self.sketch.stats().used)
    }
}

#[derive(Clone, Copy, Default)]
struct Tat(Nanos);

impl Cell for Tat {
    fn stake(&self, now: Nanos) -> Option<u64> {
        Some((self.0 - now).0)
    }
}

struct Buckets {
    table: Table<Tat>,
    family: Family,
}

impl Buckets {
    /// A fifth of the slots stay free, as they should.
    fn new(keys: u32) -> Buckets {
        Buckets { table: Table::new(512, keys.max(40_000) / 4 * 5), family: family() }
    }
}

impl Contender for Buckets {
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool {
        let key = key(&self.family, who);
        let known = self.table.find(key);
        let slot = known.or_else(|| self.table.insert(key, u64::MAX, now).ok().map(|placed| placed.slot));
        let Some(slot) = slot else { return true };
        let Tat(tat) = self.table.cell(slot);
        let admitted = QUOTA.admits(tat, now);
        self.table.put(slot, Tat(QUOTA.after(tat, admitted, now)));
        admitted
    }

    fn kept(&self) -> Option<u64> {
        Some(self.table.stats().used.into())
    }
}

/// One worker that knows it is alone, with the sizes of the default configuration.
struct Worker {
    exchange: Exchange<MemStore>,
    family: Family,
}

const DEFAULT: Settings =
    Settings { slots: 50_000, sketch_buckets: 65_536, interval: Nanos::from_millis(200) };

impl Worker {
    fn new() -> Worker {
        let own = Own { seed: SEED.0, nonce: 7 };
        let mut exchange = Exchange::new(MemStore::new(), DEFAULT, own, START - Nanos::from_secs(10));
        exchange.tick(START - Nanos::from_secs(1), Gauges::default());
        let (seed, epoch) = exchange.seed();
        Worker { exchange, family: Family::new(&seed, epoch, "requests", "bench") }
    }
}

impl Contender for Worker {
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool {
        !matches!(self.exchange.charge(key(&self.family, who), &QUOTA, now), Verdict::Refuse { .. })
    }

    fn tick(&mut self, now: Nanos) {
        self.exchange.tick(now, Gauges::default());
    }

    fn kept(&self) -> Option<u64> {
        let stats = self.exchange.stats();
        Some(u64::from(stats.table.used) + stats.arrears.used)
    }

    /// The store is the process's, and holds at most `shared_bytes` of it.
    fn own_bytes(&self) -> Option<u64> {
        Some(DEFAULT.memory_bytes())
    }
}
