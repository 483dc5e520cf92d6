//! Counting one event of one address, beside what one would otherwise take: `governor` with its keyed store, and a
//! map of buckets behind a lock. All know the time already, and none of them is over its limit.
//!
//! The rivals grow with every address they see and are as exact as one process is; Weir's exchange has the memory
//! it was given and shares the rate among workers, its ticks included.

use core::net::IpAddr;
use core::num::NonZeroU32;
use std::collections::HashMap;
use std::sync::Mutex;

use divan::Bencher;
use governor::clock::FakeRelativeClock;
use governor::{Quota as GovernorQuota, RateLimiter};
use weir::counters::bucket::{Charge, Meter, Quota};
use weir::counters::table::{Cell, Table};
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::{Family, Seed, SubjectHash};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

use crate::{At, Events, STEP, TICK};

const KEYS: [u32; 3] = [1_000, 50_000, 1_000_000];
const SEED: Seed = Seed([7; 16]);
const QUOTA: Quota = Quota { interval: Nanos::from_millis(10), burst: 100, charge: Charge::Admitted };

/// The exchange with room for all, and with its default size, for which a million keys are too many.
#[divan::bench(args = [(1_000, 50_000), (50_000, 50_000), (1_000_000, 50_000), (1_000_000, 1_000_000)], sample_size = TICK, sample_count = 60)]
fn weir_exchange(bencher: Bencher, (keys, slots): (u32, u32)) {
    let settings = Settings { slots, sketch_buckets: 65_536, interval: Nanos::from_millis(200) };
    let mut events = Events::among(keys);
    let mut exchange = Exchange::new(MemStore::new(), settings, Own { seed: SEED.0, nonce: 7 }, events.now);
    let family = Family::new(&SEED, 0, "requests", "bench");
    run(bencher, &mut events, move |at| {
        divan::black_box(exchange.charge(family.key(subject(at.who)), &QUOTA, at.now));
        if at.tick {
            exchange.tick(at.now + STEP, Gauges::default());
        }
    });
}

/// The two structures under it, without sharing: what a limit per worker would cost.
#[divan::bench(args = KEYS, sample_size = TICK, sample_count = 60)]
fn weir_table_and_bucket(bencher: Bencher, keys: u32) {
    let mut table: Table<Tat> = Table::new(512, keys.max(50_000) / 4 * 5);
    let family = Family::new(&SEED, 0, "requests", "bench");
    run(bencher, &mut Events::among(keys), move |at| {
        let key = family.key(subject(at.who));
        let slot =
            table.find(key).or_else(|| table.insert(key, u64::MAX, at.now).ok().map(|placed| placed.slot));
        let Some(slot) = slot else { return };
        let Tat(tat) = table.cell(slot);
        let admitted = divan::black_box(QUOTA.admits(tat, at.now));
        table.put(slot, Tat(QUOTA.after(tat, admitted, at.now)));
    });
}

#[divan::bench(args = KEYS, sample_size = TICK, sample_count = 60)]
fn governor_dashmap(bencher: Bencher, keys: u32) {
    let quota = GovernorQuota::per_second(NonZeroU32::new(100).unwrap());
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::dashmap_with_clock(quota, clock.clone());
    run(bencher, &mut Events::among(keys), move |at| {
        clock.advance(core::time::Duration::from_nanos(STEP.0));
        let _ = divan::black_box(limiter.check_key(&address(at.who)));
    });
}

#[divan::bench(args = KEYS, sample_size = TICK, sample_count = 60)]
fn governor_hashmap(bencher: Bencher, keys: u32) {
    let quota = GovernorQuota::per_second(NonZeroU32::new(100).unwrap());
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::hashmap_with_clock(quota, clock.clone());
    run(bencher, &mut Events::among(keys), move |at| {
        clock.advance(core::time::Duration::from_nanos(STEP.0));
        let _ = divan::black_box(limiter.check_key(&address(at.who)));
    });
}

#[divan::bench(args = KEYS, sample_size = TICK, sample_count = 60)]
fn mutex_hashmap(bencher: Bencher, keys: u32) {
    let map: Mutex<HashMap<IpAddr, Nanos>> = Mutex::default();
    run(bencher, &mut Events::among(keys), move |at| {
        let mut map = map.lock().unwrap();
        let tat = map.entry(address(at.who)).or_insert(Nanos::ZERO);
        let admitted = divan::black_box(QUOTA.admits(*tat, at.now));
        *tat = QUOTA.after(*tat, admitted, at.now);
    });
}

fn run(bencher: Bencher, events: &mut Events, mut event: impl FnMut(At)) {
    events.warm_up(&mut event);
    bencher.bench_local(|| event(events.next()));
}

fn address(who: u32) -> IpAddr {
    IpAddr::from((0x0a00_0000 + who).to_be_bytes())
}

/// As a rule names a client: typed, keyed and hashed.
fn subject(who: u32) -> SubjectHash {
    let IpAddr::V4(address) = address(who) else { return SubjectHash(0) };
    SubjectHash(SEED.hasher().part(1, &address.octets()).finish())
}

#[derive(Clone, Copy, Default)]
struct Tat(Nanos);

impl Cell for Tat {
    fn stake(&self, now: Nanos) -> Option<u64> {
        Some((self.0 - now).0)
    }
}
