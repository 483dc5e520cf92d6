use super::*;
use crate::hash::{Seed, mix};
use crate::shared::mem::{Faults, MemStore};
use crate::shared::names::{BAN_VERSIONS, ShardName};

const NOW: Nanos = Nanos::from_secs(1000);
const SETTINGS: Settings = Settings { bans: 1_000 };
const RULE: Reason = Reason::Rule;

fn era(epoch: u32) -> Era {
    Era::of(&Seed([1; 16]), epoch)
}

fn worker(store: &MemStore) -> Bans<MemStore> {
    Bans::new(store.clone(), SETTINGS, era(0), NOW)
}

fn key(n: u64) -> Key {
    Key(mix(n + 1))
}

fn until(seconds: u64) -> Nanos {
    NOW + Nanos::from_secs(seconds)
}

fn banned(bans: &mut Bans<MemStore>, n: u64, now: Nanos) -> bool {
    matches!(bans.check(key(n), now), Standing::Banned(_))
}

fn shard_name(n: u64) -> String {
    ShardName::new(Sharded::Bans, Sharded::Bans.of(key(n))).as_str().to_owned()
}

#[test]
fn a_ban_holds_at_once_and_others_know_it_at_their_next_tick() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    assert!(one.is_empty() && one.check(key(1), NOW) == Standing::Free);
    assert_eq!(one.ban(key(1), until(9), Reason::Ledger, NOW), Outcome::New);
    let ban = Ban { until: until(9), reason: Reason::Ledger };
    assert_eq!(one.check(key(1), NOW), Standing::Banned(ban));
    assert!(other.is_empty());
    other.tick(NOW);
    assert_eq!(other.check(key(1), NOW), Standing::Banned(ban));
    assert_eq!(other.check(key(1), until(9)), Standing::Lapsed(ban));
    assert_eq!(other.check(key(1), until(9)), Standing::Free);
    assert_eq!(one.check(key(1), until(10)), Standing::Lapsed(ban), "each worker tells of it");
}

#[test]
fn who_is_told_reads_at_once_and_only_what_it_is_told_of() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    one.ban(key(1), until(9), RULE, NOW);
    let news = one.take_news();
    assert_eq!((news, one.take_news()), (1 << Sharded::Bans.of(key(1)), 0));
    other.hear(!news, NOW);
    assert!(!banned(&mut other, 1, NOW));
    let gets = store.calls().gets;
    other.hear(news, NOW);
    assert!(banned(&mut other, 1, NOW));
    assert_eq!(store.calls().gets, gets + 2, "the versions and one shard");
}

#[test]
fn a_flood_of_notices_is_left_to_the_tick() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    let gets = store.calls().gets;
    (0..1_000).for_each(|_| other.hear(1 << 7, NOW));
    assert_eq!(store.calls().gets, gets + 2 * 128);
    one.ban(key(1), until(9), RULE, NOW);
    other.hear(one.take_news(), NOW);
    assert!(!banned(&mut other, 1, NOW));
    store.wipe(BAN_VERSIONS);
    other.tick(NOW);
    assert!(banned(&mut other, 1, NOW), "the tick reads it whatever the versions say");
}

#[test]
fn a_later_ban_extends_and_a_shorter_one_changes_nothing() {
    let store = MemStore::new();
    let mut bans = worker(&store);
    bans.ban(key(1), until(9), RULE, NOW);
    let sets = store.calls().sets;
    assert_eq!(bans.ban(key(1), until(9), Reason::Tier, NOW), Outcome::Standing);
    assert_eq!(bans.ban(key(1), until(5), Reason::Tier, NOW), Outcome::Standing);
    assert_eq!(bans.ban(key(2), NOW, RULE, NOW), Outcome::Standing, "it would be over");
    assert_eq!(store.calls().sets, sets);
    assert_eq!(bans.ban(key(1), until(10), Reason::Tier, NOW), Outcome::Standing, "as long, within a second");
    assert_eq!(bans.check(key(1), NOW), Standing::Banned(Ban { until: until(10), reason: Reason::Tier }));
    assert_eq!(bans.ban(key(1), until(12), Reason::Tier, NOW), Outcome::Extended);
    assert_eq!(bans.ban(key(1), until(20), RULE, until(13)), Outcome::New);
}

#[test]
fn a_shorter_ban_by_one_who_does_not_know_the_longer_one_stands_behind_it() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    one.ban(key(1), until(90), RULE, NOW);
    assert_eq!(other.ban(key(1), until(9), Reason::Tier, NOW), Outcome::Standing);
    assert!(banned(&mut other, 1, until(89)));
    assert_eq!(other.ban(key(1), until(99), Reason::Tier, NOW), Outcome::Extended);
}

#[test]
fn no_ban_lasts_longer_than_the_longest() {
    let mut bans = worker(&MemStore::new());
    bans.ban(key(1), Nanos::MAX, RULE, NOW);
    assert!(banned(&mut bans, 1, NOW + MAX_BAN - Nanos(1)));
    assert!(!banned(&mut bans, 1, NOW + MAX_BAN));
}

#[test]
fn an_unban_reaches_a_ban_that_this_worker_has_not_heard_of() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    one.ban(key(1), until(9), RULE, NOW);
    assert!(other.unban(key(1), NOW));
    assert!(!other.unban(key(1), NOW) && !other.unban(key(2), NOW));
    one.tick(NOW);
    assert!(!banned(&mut one, 1, NOW) && one.is_empty());
    assert_eq!(one.ban(key(1), until(5), RULE, NOW), Outcome::New);
    other.tick(NOW);
    assert!(banned(&mut other, 1, NOW));
}

#[test]
fn one_who_bans_before_it_hears_of_the_unban_bans_all_the_same() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    one.ban(key(1), until(9), RULE, NOW);
    other.tick(NOW);
    one.unban(key(1), NOW);
    assert_eq!(other.ban(key(1), until(20), RULE, NOW), Outcome::New);
    one.tick(NOW);
    assert!(banned(&mut one, 1, until(19)));
}

#[test]
fn a_foreign_ban_of_the_last_generation_can_be_lifted() {
    let store = MemStore::new();
    let mut bytes = Vec::new();
    let foreign = Record { until: until(900), keep: until(900), generation: u32::MAX, reason: RULE };
    shard::Shard::open(&mut bytes, Sharded::Bans.of(key(1)), era(0), NOW).put(key(1), foreign);
    store.overwrite(&shard_name(1), &bytes);
    let (mut one, mut other) = (worker(&store), worker(&store));
    assert!(banned(&mut one, 1, NOW) && one.unban(key(1), NOW));
    other.tick(NOW);
    assert!(!banned(&mut one, 1, NOW) && !banned(&mut other, 1, NOW));
    assert_eq!((one.ban(key(1), until(9_000), RULE, NOW), one.stats().full), (Outcome::Full, 1));
}

#[test]
fn a_lost_write_is_found_out_and_made_again_until_it_is_there() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    store.inject(Faults { lose_writes: 1_000_000, ..Faults::NONE });
    one.ban(key(1), until(9), RULE, NOW);
    (0..2).for_each(|_| one.tick(NOW));
    store.inject(Faults::NONE);
    assert!(one.take_news() != 0 && store.peek(&shard_name(1)).is_none());
    one.tick(NOW);
    other.tick(NOW);
    assert!(banned(&mut other, 1, NOW));
    assert!(one.take_news() != 0, "who heard of nothing is told once more");
}

#[test]
fn a_ban_made_with_the_store_out_of_reach_is_published_when_it_is_back() {
    let store = MemStore::new();
    let (mut one, mut other) = (worker(&store), worker(&store));
    store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
    assert_eq!(one.ban(key(1), until(9), RULE, NOW), Outcome::New);
    one.tick(NOW);
    assert!(one.stats().given_up > 0 && banned(&mut one, 1, NOW));
    store.inject(Faults::NONE);
    one.tick(NOW);
    other.tick(NOW);
    assert!(banned(&mut other, 1, NOW));
}

#[test]
fn ticks_of_workers_that_agree_write_nothing() {
    let store = MemStore::new();
    let mut workers = [0; 4].map(|_| worker(&store));
    for n in 0..200 {
        workers[n as usize % 4].ban(key(n), until(900), RULE, NOW);
    }
    for _ in 0..3 {
        workers.iter_mut().for_each(|worker| worker.tick(NOW));
    }
    let before = store.calls();
    for _ in 0..32 {
        workers.iter_mut().for_each(|worker| worker.tick(until(1)));
    }
    let after = store.calls();
    assert_eq!(after.sets, before.sets);
    assert_eq!(after.gets - before.gets, 4 * 32 * 5, "the versions and four shards");
}

#[test]
fn ended_bans_leave_the_counts_and_shared_data_within_sixteen_ticks() {
    let store = MemStore::new();
    let mut bans = worker(&store);
    (0..300).for_each(|n| _ = bans.ban(key(n), until(9), RULE, NOW));
    assert_eq!((bans.stats().active, bans.iter(NOW).count()), (300, 300));
    (0..16).for_each(|_| bans.tick(until(9)));
    assert_eq!((bans.stats().active, bans.iter(until(9)).count()), (0, 0));
    assert!((0..300).all(|n| store.peek(&shard_name(n)) == Some(Vec::new())));
    assert!(!bans.is_empty(), "there are lapses to tell of");
    (0..16).for_each(|_| bans.tick(until(9 + 3600)));
    assert!(bans.is_empty() && bans.stats().table.used == 0);
}

#[test]
fn a_full_table_refuses_a_ban_and_never_forgets_one() {
    let store = MemStore::new();
    let mut bans = Bans::new(store.clone(), Settings { bans: 0 }, era(0), NOW);
    let outcomes: Vec<Outcome> = (0..2_000).map(|n| bans.ban(key(n), until(9), RULE, NOW)).collect();
    let full = outcomes.iter().filter(|outcome| **outcome == Outcome::Full).count();
    assert!(full > 500 && bans.stats().full == full as u64);
    assert_eq!(bans.stats().active, 2_000 - full as u64);
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(banned(&mut bans, n as u64, NOW), *outcome == Outcome::New);
    }
    let places: usize = store
        .keys()
        .iter()
        .filter(|key| *key != BAN_VERSIONS)
        .map(|key| store.peek(key).unwrap().len() / 32)
        .sum();
    assert_eq!(places, 2_000 - full, "what is in force nowhere is not published");
}

#[test]
fn a_ban_that_finds_its_shard_full_holds_on_this_worker_alone() {
    let store = MemStore::new();
    let one_shard = |n: u64| Key(mix(n) >> 6);
    let many = Settings { bans: 400_000 };
    let mut one = Bans::new(store.clone(), many, era(0), NOW);
    (0..shard::MAX_ENTRIES as u64).for_each(|n| _ = one.ban(one_shard(n), until(9), RULE, NOW));
    assert_eq!((one.stats().full, one.stats().active), (0, shard::MAX_ENTRIES as u64));
    assert_eq!(one.ban(one_shard(9_999), until(9), RULE, NOW), Outcome::New);
    assert_eq!((one.stats().full, one.stats().active), (1, shard::MAX_ENTRIES as u64 + 1));
    one.tick(NOW);
    assert!(matches!(one.check(one_shard(9_999), NOW), Standing::Banned(_)));
    let mut other = Bans::new(store, many, era(0), NOW);
    assert_eq!(other.check(one_shard(9_999), NOW), Standing::Free);
}

#[test]
fn another_era_forgets_everything_and_nothing_old_comes_back() {
    let store = MemStore::new();
    let (mut one, mut late) = (worker(&store), worker(&store));
    one.ban(key(1), until(900), RULE, NOW);
    late.tick(NOW);
    one.clear(era(1));
    assert!(one.is_empty() && one.take_news() == 0);
    one.ban(key(2), until(900), RULE, NOW);
    for _ in 0..20 {
        late.tick(NOW);
        one.tick(NOW);
    }
    assert!(one.stats().active == 1 && banned(&mut one, 2, NOW) && !banned(&mut one, 1, NOW));
    late.clear(era(1));
    late.tick(NOW);
    assert!(late.stats().active == 1 && banned(&mut late, 2, NOW));
}

#[test]
fn another_size_keeps_all_bans_also_with_the_store_out_of_reach() {
    let store = MemStore::new();
    let mut bans = worker(&store);
    (0..300).for_each(|n| _ = bans.ban(key(n), until(9), RULE, NOW));
    store.keys().iter().for_each(|key| store.wipe(key));
    for settings in [Settings { bans: 9_000 }, Settings { bans: 300 }, SETTINGS] {
        bans.reconfigure(settings, NOW);
        assert!((0..300).all(|n| banned(&mut bans, n, NOW)) && bans.stats().active == 300);
        let slots = Book::slots_for(settings.bans);
        assert_eq!(settings.memory_bytes(), slots * 33 + slots.div_ceil(64) * 8 + MAX_VALUE as u64);
    }
    let mut fresh = worker(&store);
    (0..16).for_each(|_| bans.tick(NOW));
    fresh.tick(NOW);
    assert!((0..300).all(|n| banned(&mut fresh, n, NOW)), "and heals shared data");
}

#[test]
fn foreign_values_are_counted_and_replaced() {
    let store = MemStore::new();
    store.overwrite(&shard_name(1), &[0xff; 33]);
    store.overwrite(BAN_VERSIONS, &[0xff; 9]);
    let mut bans = worker(&store);
    assert_eq!((bans.stats().corrupt, bans.is_empty()), (1, true));
    assert_eq!(bans.ban(key(1), until(9), RULE, NOW), Outcome::New);
    assert!(banned(&mut worker(&store), 1, NOW));
}
