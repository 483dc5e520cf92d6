use super::*;
use crate::counters::bucket::{Charge, MAX_DEBT, Meter, Quota, Verdict};
use crate::counters::price::Pace;
use crate::hash::{Family, Key, SubjectHash};
use crate::shared::mem::{Faults, MemStore};
use crate::shared::names::ShardName;

mod eviction;

const TEN: Quota = Quota { interval: Nanos::from_millis(100), burst: 10, charge: Charge::Admitted };
const EVERY: Quota = Quota { charge: Charge::Every, ..TEN };
/// What made-up credentials are under a slow rule: one event each, and a day until it is repaid.
const DAILY: Quota = Quota { interval: Nanos::from_secs(86_400), burst: 1, charge: Charge::Every };
const SETTINGS: Settings = Settings { slots: 4096, sketch_buckets: 512, interval: Nanos::from_millis(200) };
const START: Nanos = Nanos::from_secs(1000);

fn worker(store: &MemStore, nonce: u64, now: Nanos) -> Exchange<MemStore> {
    let own = Own { seed: [nonce as u8; 16], nonce };
    Exchange::new(store.clone(), SETTINGS, own, now)
}

/// A worker that has found out that it is alone, and the time.
fn lone(store: &MemStore) -> (Exchange<MemStore>, Nanos) {
    let mut worker = worker(store, 1, START);
    let now = START + Nanos::from_secs(5);
    worker.tick(now, Gauges::default());
    (worker, now)
}

fn key(exchange: &Exchange<MemStore>, rule: &str, subject: u64) -> Key {
    let (seed, epoch) = exchange.seed();
    Family::new(&seed, epoch, "requests", rule).key(SubjectHash(subject))
}

fn tag(exchange: &Exchange<MemStore>, rule: &str) -> u16 {
    key(exchange, rule, 0).tag()
}

fn admitted(exchange: &mut Exchange<MemStore>, key: Key, quota: &Quota, events: u32, now: Nanos) -> u32 {
    (0..events).map(|_| u32::from(exchange.charge(key, quota, now) == Verdict::Admit)).sum()
}

#[test]
fn a_lone_worker_admits_exactly_the_burst_and_says_when_the_next_token_is_there() {
    let (mut worker, now) = lone(&MemStore::new());
    let key = key(&worker, "r", 1);
    assert_eq!(admitted(&mut worker, key, &TEN, 10, now), 10);
    let wait = Nanos::from_millis(100);
    assert_eq!(worker.charge(key, &TEN, now), Verdict::Refuse { wait });
    assert_eq!(worker.charge(key, &TEN, now + wait - Nanos(1)), Verdict::Refuse { wait: Nanos(1) });
    assert_eq!(worker.charge(key, &TEN, now + wait), Verdict::Admit);
}

#[test]
fn a_client_below_its_limit_costs_no_shared_call_once_its_shard_is_known() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    let key = key(&worker, "r", 1);
    admitted(&mut worker, key, &TEN, 1, now);
    let before = store.calls();
    assert_eq!(admitted(&mut worker, key, &TEN, 4, now), 4);
    assert_eq!(store.calls(), before);
}

#[test]
fn two_workers_share_one_burst() {
    let store = MemStore::new();
    let (mut a, mut b) = (worker(&store, 1, START), worker(&store, 2, START));
    b.tick(START, Gauges::default());
    let key = key(&a, "r", 1);
    assert_eq!(key, self::key(&b, "r", 1));
    let together = admitted(&mut a, key, &TEN, 50, START) + admitted(&mut b, key, &TEN, 50, START);
    assert!((10..=15).contains(&together), "{together}");
}

#[test]
fn refused_events_put_the_client_in_debt_where_every_event_is_charged() {
    let (mut worker, now) = lone(&MemStore::new());
    let key = key(&worker, "r", 1);
    assert_eq!(admitted(&mut worker, key, &EVERY, 30, now), 10);
    assert_eq!(worker.charge(key, &EVERY, now), Verdict::Refuse { wait: Nanos::from_millis(2200) });
    let quiet = now + Nanos::from_millis(2200);
    assert_eq!(admitted(&mut worker, key, &EVERY, 1, quiet - Nanos(1)), 0);
    assert_eq!(admitted(&mut worker, key, &EVERY, 1, quiet + TEN.interval), 1);
}

#[test]
fn debt_reaches_the_other_workers_and_is_capped() {
    let store = MemStore::new();
    let (mut a, mut b) = (worker(&store, 1, START), worker(&store, 2, START));
    let key = key(&a, "r", 1);
    admitted(&mut a, key, &EVERY, 10_000, START);
    a.tick(START, Gauges::default());
    let Verdict::Refuse { wait } = b.charge(key, &EVERY, START) else { panic!("b does not know the debt") };
    assert_eq!(wait, MAX_DEBT + TEN.interval);
}

#[test]
fn a_reloaded_worker_knows_the_debt_at_its_first_request() {
    let store = MemStore::new();
    let (mut before, now) = lone(&store);
    let key = key(&before, "r", 1);
    assert_eq!(admitted(&mut before, key, &EVERY, 500, now), 10);
    let now = now + Nanos::from_secs(1);
    before.tick(now, Gauges::default());
    drop(before);
    let mut after = worker(&store, 9, now);
    let later = now + Nanos::from_secs(6);
    after.tick(later, Gauges::default());
    assert_ne!(after.live(later), 1, "the dead worker's lease has ended, but not for five seconds");
    let much_later = now + Nanos::from_secs(12);
    after.tick(much_later, Gauges::default());
    assert_eq!(after.live(much_later), 1);
    assert_eq!(admitted(&mut after, key, &EVERY, 20, much_later), 0);
}

#[test]
fn a_removed_rule_is_forgotten_and_its_neighbours_are_not() {
    let store = MemStore::new();
    let (mut a, mut b) = (worker(&store, 1, START), worker(&store, 2, START));
    let (gone, kept) = (key(&a, "gone", 1), key(&a, "kept", 1));
    for key in [gone, kept] {
        admitted(&mut a, key, &EVERY, 100, START);
    }
    a.tick(START, Gauges::default());
    let removed = tag(&a, "gone");
    a.forget(&[removed]);
    assert_eq!(admitted(&mut b, kept, &EVERY, 1, START), 0);
    assert_eq!(admitted(&mut b, gone, &EVERY, 1, START), 1);
    assert_eq!(admitted(&mut a, kept, &EVERY, 1, START), 0);
    assert_eq!(admitted(&mut a, gone, &EVERY, 1, START), 1);
}

#[test]
fn clear_forgets_everything_on_every_worker() {
    let store = MemStore::new();
    let (mut a, mut b) = (worker(&store, 1, START), worker(&store, 2, START));
    let old = key(&a, "r", 1);
    admitted(&mut a, old, &EVERY, 100, START);
    admitted(&mut b, old, &EVERY, 100, START);
    a.clear();
    let new = key(&a, "r", 1);
    assert_ne!(old, new);
    assert_eq!(admitted(&mut a, new, &EVERY, 1, START), 1);
    let tick = b.tick(START, Gauges::default());
    assert!(tick.reseeded);
    assert_eq!(b.seed(), a.seed());
    assert_eq!(admitted(&mut b, new, &EVERY, 1, START), 1);
    assert!(!b.tick(START, Gauges::default()).reseeded);
}

#[test]
fn a_lost_seed_comes_back_from_any_worker() {
    let store = MemStore::new();
    let (mut a, b) = (worker(&store, 1, START), worker(&store, 2, START + Nanos(1)));
    assert_eq!(a.seed(), b.seed());
    store.wipe(crate::shared::names::META);
    let mut stranger = worker(&store, 3, START + Nanos(2));
    assert_ne!(stranger.seed(), a.seed());
    assert!(!a.tick(START + Nanos(3), Gauges::default()).reseeded);
    assert!(stranger.tick(START + Nanos(4), Gauges::default()).reseeded);
    assert_eq!(stranger.seed(), a.seed());
    assert_eq!(stranger.stats().reseeded, 1);
}

#[test]
fn a_ledger_that_lost_its_values_is_healed_by_the_workers() {
    let store = MemStore::new();
    let (mut a, mut b) = (worker(&store, 1, START), worker(&store, 2, START));
    let key = key(&a, "r", 1);
    admitted(&mut a, key, &EVERY, 50, START);
    admitted(&mut b, key, &EVERY, 50, START);
    let shard = ShardName::new(Sharded::Ledger, Sharded::Ledger.of(key));
    store.wipe(shard.as_str());
    a.tick(START, Gauges::default());
    b.tick(START, Gauges::default());
    let mut c = worker(&store, 3, START);
    let Verdict::Refuse { wait } = c.charge(key, &EVERY, START) else { panic!("the debt is lost") };
    assert!(wait >= Nanos::from_secs(4), "{wait:?}");
}

#[test]
fn foreign_and_truncated_values_are_counted_and_replaced() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    let key = key(&worker, "r", 1);
    let shard = ShardName::new(Sharded::Ledger, Sharded::Ledger.of(key));
    for foreign in [&b"x"[..], &[0xff; 25], &vec![0; 1 << 20]] {
        store.overwrite(shard.as_str(), foreign);
        let before = worker.stats().corrupt;
        worker.doubt.fill(Nanos::MAX);
        worker.table.clear();
        worker.charge(key, &TEN, now);
        assert_eq!(worker.stats().corrupt, before + 1);
        assert_eq!(store.peek(shard.as_str()).unwrap().len() % ledger::ENTRY_BYTES, 0);
    }
    worker.tick(now, Gauges::default());
    assert_eq!(worker.blob.capacity(), MAX_VALUE, "the buffer is as it was");
}

#[test]
fn a_balance_from_the_far_future_is_clamped_to_the_deepest_debt() {
    for (quota, debt) in [(TEN, TEN.capacity()), (EVERY, MAX_DEBT)] {
        let store = MemStore::new();
        let (mut worker, now) = lone(&store);
        let key = key(&worker, "r", 1);
        let mut blob = Vec::new();
        let mut shard = Shard::open(&mut blob, 128);
        let seat = shard.seat(key, now);
        shard.put(
            seat,
            key,
            ledger::Entry { tat: Nanos::MAX, who: who::Who(u64::MAX), pace: Pace::default() },
            now,
        );
        store.overwrite(ShardName::new(Sharded::Ledger, Sharded::Ledger.of(key)).as_str(), &blob);
        assert_eq!(worker.charge(key, &quota, now), Verdict::Refuse { wait: debt + quota.interval });
        let repaid = now + debt + quota.interval;
        assert_eq!(worker.charge(key, &quota, repaid), Verdict::Admit);
    }
}

#[test]
fn without_the_store_each_worker_keeps_the_limit_by_itself() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    let key = key(&worker, "r", 1);
    store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
    assert_eq!(admitted(&mut worker, key, &TEN, 50, now), 10);
    assert!(worker.stats().unsynced >= 40 && worker.stats().given_up >= 40);
    store.inject(Faults::NONE);
    worker.tick(now, Gauges::default());
    let mut other = self::worker(&store, 2, now);
    assert_eq!(admitted(&mut other, key, &TEN, 1, now), 0, "what was pending is published later");
}

#[test]
fn with_the_budget_spent_the_own_view_decides() {
    let store = MemStore::new();
    let (mut worker, now) = (worker(&store, 1, START), START);
    let one = Quota { burst: 1, ..TEN };
    for n in 0..2_500 {
        let key = key(&worker, "r", n);
        assert_eq!(admitted(&mut worker, key, &one, 2, now), 1);
    }
    assert_eq!(worker.stats().syncs, 1_000, "the other half is for keys that were refused");
    assert!(worker.stats().unsynced >= 1_500);
}

#[test]
fn a_changed_limit_counts_at_once_and_keeps_the_balance() {
    let (mut worker, now) = lone(&MemStore::new());
    let key = key(&worker, "r", 1);
    assert_eq!(admitted(&mut worker, key, &TEN, 20, now), 10);
    // Ten tokens of 100 ms owed: of a second's worth at 100 per second, none is left; of two seconds' worth, half.
    let faster = Quota { interval: Nanos::from_millis(10), burst: 200, charge: Charge::Admitted };
    assert_eq!(admitted(&mut worker, key, &faster, 200, now), 100);
}

#[test]
fn another_size_starts_an_empty_table_and_forgets_no_balance() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    let key = key(&worker, "r", 1);
    assert_eq!(admitted(&mut worker, key, &TEN, 10, now), 10);
    worker.reconfigure(Settings { slots: 100_000, ..SETTINGS }, now);
    assert_eq!(worker.stats().slots, 512 * 200);
    assert_eq!(admitted(&mut worker, key, &TEN, 10, now), 0);
    worker.reconfigure(Settings { slots: 100_000, interval: Nanos::from_secs(1), ..SETTINGS }, now);
    assert_eq!(worker.stats().table.used, 1, "another interval keeps the table");
    store.inject(Faults { refuse_writes: u32::MAX, ..Faults::NONE });
    worker.reconfigure(SETTINGS, now);
    assert_eq!((worker.stats().table.used, worker.stats().arrears.used), (0, 1));
    assert_eq!(admitted(&mut worker, key, &TEN, 10, now), 0, "with the ledger out of reach, too");
    store.inject(Faults::NONE);
    worker.reconfigure(Settings { sketch_buckets: 4096, slots: 100_000, ..SETTINGS }, now);
    worker.reconfigure(Settings { sketch_buckets: 1024, ..SETTINGS }, now);
    assert_eq!((worker.stats().arrears.used, worker.settings.lines()), (0, 1024));
    assert_eq!(admitted(&mut worker, key, &TEN, 10, now), 0, "without arrears the ledger knows");
}

#[test]
fn memory_is_what_was_announced() {
    let settings = Settings { slots: 50_000, ..SETTINGS };
    let worker = Exchange::new(MemStore::new(), settings, Own { seed: [0; 16], nonce: 0 }, START);
    let held = Table::<Account>::memory_bytes(SHARDS, 50_000)
        + Marks::memory_bytes(worker.table.slots() as u64)
        + Arrears::memory_bytes(512)
        + size_of_val(&*worker.doubt) as u64
        + worker.blob.capacity() as u64
        + (worker.joined.capacity() * size_of::<Joined>()) as u64;
    assert_eq!(settings.memory_bytes(), held);
}

#[test]
fn an_absurd_size_has_an_absurd_price_and_no_overflow() {
    let price = Settings { slots: u32::MAX, ..SETTINGS }.memory_bytes();
    assert!(price > 200 << 30, "{price}");
}

#[test]
fn the_set_of_shared_keys_is_fixed() {
    let store = MemStore::new();
    let mut worker = worker(&store, 1, START);
    for n in 0..20_000 {
        let key = key(&worker, "r", n);
        worker.charge(key, &TEN, START);
    }
    worker.tick(START, Gauges::default());
    assert!(store.keys().len() <= 512 + 2);
    assert!(store.keys().iter().all(|key| key.len() < 16 && key.starts_with("weir/2/")));
    for n in 0..100_000 {
        let (key, now) = (key(&worker, "daily", n), START + Nanos(n * 10_000));
        worker.charge(key, &DAILY, now);
        if n % 500 == 0 {
            worker.tick(now, Gauges::default());
        }
    }
    let held: usize = store.keys().iter().filter_map(|key| store.peek(key)).map(|value| value.len()).sum();
    let most = SETTINGS.shared_bytes() as usize;
    assert!(held <= most && held > most * 9 / 10, "{held} of {most}");
}
