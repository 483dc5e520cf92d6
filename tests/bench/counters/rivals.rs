//! What one would otherwise take. Buckets are those of Weir (one number), where a rival brings none of its own.

use core::net::IpAddr;
use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use governor::clock::FakeRelativeClock;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::ShrinkableKeyedStateStore;
use governor::{Quota as GovernorQuota, RateLimiter};
use moka::sync::Cache;
use pingora_limits::rate::Rate;
use weir::time::Nanos;

use crate::contenders::{Contender, Entry, HEAVY, QUOTA, START};

/// Maps that grow, a cache that forgets, and count-min sketches.
pub const RIVALS: [Entry; 6] = [
    Entry {
        name: "`governor` keyed, dashmap",
        make: |_| Box::new(Governor::new(RateLimiter::dashmap_with_clock)),
        counts_only: false,
        own_clock: false,
    },
    Entry {
        name: "`governor` keyed, hashmap",
        make: |_| Box::new(Governor::new(RateLimiter::hashmap_with_clock)),
        counts_only: false,
        own_clock: false,
    },
    Entry {
        name: "`HashMap` of buckets in a mutex",
        make: |_| Box::new(Locked::default()),
        counts_only: false,
        own_clock: false,
    },
    Entry {
        name: "`moka` cache of 50,000 buckets",
        make: |_| Box::new(Cached(Cache::new(50_000))),
        counts_only: false,
        own_clock: false,
    },
    Entry {
        name: "`pingora-limits` Rate, default size",
        make: |_| Box::new(Pingora(Rate::new(SECOND))),
        counts_only: true,
        own_clock: true,
    },
    Entry {
        name: "`pingora-limits` Rate, 4 MiB",
        make: |_| Box::new(Pingora(Rate::new_with_estimator_config(SECOND, 4, 65_536))),
        counts_only: true,
        own_clock: true,
    },
];

const SECOND: Duration = Duration::from_secs(1);

struct Governor<S: ShrinkableKeyedStateStore<IpAddr>> {
    limiter: Limiter<S>,
    clock: FakeRelativeClock,
    now: Nanos,
}

type Limiter<S> = RateLimiter<IpAddr, S, FakeRelativeClock, NoOpMiddleware<governor::nanos::Nanos>>;

impl<S: ShrinkableKeyedStateStore<IpAddr>> Governor<S> {
    fn new(make: fn(GovernorQuota, FakeRelativeClock) -> Limiter<S>) -> Self {
        let burst = NonZeroU32::new(QUOTA.burst).unwrap();
        let clock = FakeRelativeClock::default();
        let limiter = make(GovernorQuota::per_second(NonZeroU32::MIN).allow_burst(burst), clock.clone());
        Governor { limiter, clock, now: START }
    }
}

impl<S: ShrinkableKeyedStateStore<IpAddr>> Contender for Governor<S> {
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool {
        self.clock.advance(Duration::from_nanos((now - self.now).0));
        self.now = now;
        self.limiter.check_key(&who).is_ok()
    }

    fn kept(&self) -> Option<u64> {
        Some(self.limiter.len() as u64)
    }
}

#[derive(Default)]
struct Locked(Mutex<HashMap<IpAddr, Nanos>>);

impl Contender for Locked {
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool {
        let mut map = self.0.lock().unwrap();
        let tat = map.entry(who).or_insert(Nanos::ZERO);
        let admitted = QUOTA.admits(*tat, now);
        *tat = QUOTA.after(*tat, admitted, now);
        admitted
    }

    fn kept(&self) -> Option<u64> {
        Some(self.0.lock().unwrap().len() as u64)
    }
}

struct Cached(Cache<IpAddr, Arc<AtomicU64>>);

impl Contender for Cached {
    fn event(&mut self, who: IpAddr, now: Nanos) -> bool {
        let bucket = self.0.get_with(who, Arc::default);
        let tat = Nanos(bucket.load(Relaxed));
        let admitted = QUOTA.admits(tat, now);
        bucket.store(QUOTA.after(tat, admitted, now).0, Relaxed);
        admitted
    }

    fn kept(&self) -> Option<u64> {
        self.0.run_pending_tasks();
        Some(self.0.entry_count())
    }
}

struct Pingora(Rate);

impl Contender for Pingora {
    fn event(&mut self, who: IpAddr, _now: Nanos) -> bool {
        self.0.observe(&who, 1) < HEAVY as isize
    }

    fn kept(&self) -> Option<u64> {
        None
    }
}
