//! What becomes of keys that lose their slot, and of those that come in a flood.

use super::*;

/// Takes the slot of a debtor for keys that owe more events than it does, one after the other.
fn evict(worker: &mut Exchange<MemStore>, debtor: Key, now: Nanos) {
    let gone = (1..20_000).find(|&n| {
        let key = key(worker, "dearer", n);
        admitted(worker, key, &EVERY, 60, now);
        if n % 100 == 0 {
            worker.tick(now, Gauges::default());
        }
        worker.table.find(debtor).is_none()
    });
    assert!(gone.is_some(), "the debtor is evicted");
}

/// A worker, a key that is 15 in debt and has lost its slot, and the time.
fn evicted_debtor(store: &MemStore) -> (Exchange<MemStore>, Key, Nanos) {
    let (mut worker, now) = lone(store);
    let debtor = key(&worker, "r", 0);
    assert_eq!(admitted(&mut worker, debtor, &EVERY, 25, now), 10);
    worker.tick(now, Gauges::default());
    evict(&mut worker, debtor, now);
    (worker, debtor, now)
}

#[test]
fn an_evicted_key_does_not_come_back_with_a_full_bucket() {
    let (mut worker, debtor, now) = evicted_debtor(&MemStore::new());
    assert_eq!(admitted(&mut worker, debtor, &EVERY, 20, now + Nanos::from_secs(1)), 0);
}

#[test]
fn an_evicted_debtor_is_known_with_the_ledger_out_of_reach_and_with_the_budget_spent() {
    for budget in [true, false] {
        let store = MemStore::new();
        let (mut worker, debtor, now) = evicted_debtor(&store);
        let now = now + Nanos::from_secs(1);
        match budget {
            true => while worker.budget.take(128, true, now) {},
            false => store.inject(Faults { refuse_writes: u32::MAX, ..Faults::NONE }),
        }
        assert_eq!(admitted(&mut worker, debtor, &EVERY, 20, now), 0);
        let Verdict::Refuse { wait } = worker.charge(debtor, &EVERY, now) else { panic!("the debt is lost") };
        // 15 in debt, 21 more, one to come; less the second that has passed.
        assert!(wait.as_millis().abs_diff(2_700) <= 1, "{wait:?}");
    }
}

#[test]
fn keys_of_one_event_push_out_nobody_who_owes_more_however_slow_their_rule_is() {
    let store = MemStore::new();
    let (mut a, now) = lone(&store);
    let mut b = worker(&store, 2, now);
    let debtors: Vec<Key> = (0..50).map(|n| key(&a, "r", n)).collect();
    for &debtor in &debtors {
        assert_eq!(admitted(&mut a, debtor, &EVERY, 25, now), 10);
    }
    for n in 0..100_000 {
        let (later, key) = (now + Nanos(n * 10_000), key(&a, "daily", n));
        a.charge(key, &DAILY, later);
        b.charge(key, &DAILY, later);
        if n % 1_000 == 0 {
            a.tick(later, Gauges::default());
            b.tick(later, Gauges::default());
        }
    }
    let later = now + Nanos::from_secs(1);
    assert!(a.stats().full > 10_000 && a.stats().arrears.contest_lost > 10_000, "{:?}", a.stats());
    for &debtor in &debtors {
        assert_eq!(
            admitted(&mut a, debtor, &EVERY, 5, later) + admitted(&mut b, debtor, &EVERY, 5, later),
            0
        );
    }
    // And whoever is new has a slot and a limit.
    for n in 0..500 {
        let key = key(&a, "new", n);
        assert_eq!(admitted(&mut a, key, &TEN, 50, later), 10);
    }
    assert_eq!(a.stats().table.scan_exhausted + a.stats().table.contest_lost, 0);
}

#[test]
fn what_the_ledger_holds_is_known_after_one_question_in_each_shard() {
    let store = MemStore::new();
    let (mut before, now) = lone(&store);
    for n in 0..20_000 {
        let (key, now) = (key(&before, "daily", n), now + Nanos(n * 10_000));
        before.charge(key, &DAILY, now);
        if n % 500 == 0 {
            before.tick(now, Gauges::default());
        }
    }
    before.tick(now, Gauges::default());
    drop(before);
    let mut after = worker(&store, 9, now);
    after.reconfigure(Settings { sketch_buckets: 65_536, ..SETTINGS }, now);
    // Alone again, as far as it knows.
    let later = now + Nanos::from_secs(12);
    after.tick(now + Nanos::from_secs(6), Gauges::default());
    after.tick(later, Gauges::default());
    for n in 0..20_000 {
        let key = key(&after, "new", n);
        assert_eq!(after.charge(key, &TEN, later), Verdict::Admit);
    }
    assert!(after.stats().syncs <= u64::from(SHARDS), "{}", after.stats().syncs);
    let known = (0..20_000).filter(|&n| {
        let key = key(&after, "daily", n);
        after.charge(key, &DAILY, later) != Verdict::Admit
    });
    // Some were evicted before they had been published.
    assert!(known.count() > 19_900);
}

#[test]
fn passers_by_ask_nobody_once_the_shards_are_known() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    worker.reconfigure(Settings { sketch_buckets: 65_536, ..SETTINGS }, now);
    let mut pass = |visitors: core::ops::Range<u64>| {
        for n in visitors {
            let key = key(&worker, "r", n);
            assert_eq!(worker.charge(key, &TEN, now + Nanos(n * 20_000)), Verdict::Admit);
            if n % 10_000 == 0 {
                worker.tick(now + Nanos(n * 20_000), Gauges::default());
            }
        }
        worker.stats()
    };
    let known = pass(0..20_000);
    let after = pass(20_000..100_000);
    assert!(after.table.evictions > known.table.evictions + 10_000);
    assert_eq!((after.syncs, after.unsynced), (known.syncs, known.unsynced));
}

#[test]
fn an_evicted_slot_takes_its_pending_charges_along_and_they_are_counted() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    let slow = Quota { interval: Nanos::from_secs(3600), burst: 10, charge: Charge::Admitted };
    for n in 0..30_000 {
        let key = key(&worker, "slow", n);
        worker.charge(key, &slow, now);
        assert!(worker.table.stats().used as usize <= worker.table.slots());
    }
    let stats = worker.stats();
    assert!(stats.pending_lost > 0 && stats.pending_lost <= stats.table.evictions, "{stats:?}");
    worker.tick(now, Gauges::default());
    assert!(worker.dirty.next(0).is_none(), "everything that is left could be published");
}

#[test]
fn a_debt_outlasts_a_flood_within_one_tick() {
    let store = MemStore::new();
    let (mut worker, now) = lone(&store);
    let debtor = key(&worker, "r", 0);
    admitted(&mut worker, debtor, &EVERY, 100, now);
    for n in 1..20_000 {
        let key = key(&worker, "r", n);
        worker.charge(key, &TEN, now);
    }
    assert_eq!(admitted(&mut worker, debtor, &EVERY, 1, now + Nanos::from_secs(1)), 0);
}
