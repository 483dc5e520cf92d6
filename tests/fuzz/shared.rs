//! What stands in shared data: other workers wrote it, an older version, another extension, or nobody.

use proptest::collection::vec;
use proptest::prelude::*;
use weir::counters::bucket::{Charge, MAX_DEBT, Meter, Quota, Verdict};
use weir::counters::price::Pace;
use weir::exchange::ledger::{ENTRY_BYTES, Entry, MAX_ENTRIES, Shard};
use weir::exchange::meta::Meta;

use weir::exchange::roster::Roster;
use weir::exchange::who::Who;
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::Key;
use weir::request::Request;
use weir::shared::mem::MemStore;
use weir::shared::names::{META, ROSTER, ShardName, Sharded};
use weir::shared::once::{KEPT, first_to_say};
use weir::shared::{Cas, Store};
use weir::time::Nanos;

use super::{EVERYTHING, engine, support};

/// Any bytes, more often a whole number of records.
fn value(record: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..3100).prop_flat_map(move |bytes| {
        let whole = bytes[..bytes.len() / record * record].to_vec();
        prop_oneof![1 => Just(bytes), 3 => Just(whole)]
    })
}

/// What is done to an open shard: to which of a few keys, with which balance.
fn act() -> impl Strategy<Value = (u8, u64, u64)> {
    (0u8..3, 0u64..8, any::<u64>())
}

proptest! {
    #[test]
    fn an_engine_survives_any_bytes(
        values in vec((prop::sample::select(vec!["weir/2/meta", "weir/2/roster"]), vec(any::<u8>(), 0..3100)), 0..4),
        shard in vec(any::<u8>(), 0..3100),
        whole in any::<bool>(),
    ) {
        let mut store = MemStore::default();
        for (key, value) in &values {
            store.set(key, value, Cas(0)).unwrap();
        }
        let shard = if whole { &shard[..shard.len() / 24 * 24] } else { &shard[..] };
        for number in 0..512 {
            store.set(&format!("weir/2/l/{number:03x}"), shard, Cas(0)).unwrap();
        }
        let mut engine = engine(&store, 2);
        let id = engine.configure("weir", support::plan(EVERYTHING), Nanos::ZERO);
        for i in 0..50u64 {
            let now = Nanos::from_millis(1000 + i * 70);
            let request = Request { source: Some(b"203.0.113.7:1"), ..Request::default() };
            let (_, ticket) = engine.on_request(id, &request, now);
            engine.on_complete(ticket);
            engine.on_tick(now);
        }
    }

    #[test]
    fn a_shard_of_any_bytes_stays_a_shard(mut bytes in value(ENTRY_BYTES), room in 0..MAX_ENTRIES, acts in vec(act(), 0..20), now in any::<u64>()) {
        let before = bytes.len() / ENTRY_BYTES;
        for (act, n, tat) in acts {
            let key = Key(n << 55 | n);
            let mut shard = Shard::open(&mut bytes, room);
            let seat = shard.seat(key, Nanos(now));
            let entry = Entry { tat: Nanos(tat.max(1)), who: Who(tat >> 16), pace: Pace::from_bits(tat) };
            match act {
                0 => prop_assert_eq!(shard.put(seat, key, entry, Nanos(now)), shard.entry(shard.seat(key, Nanos(now))) == entry),
                1 => shard.remove_tags(&[key.tag()]),
                _ => prop_assert_eq!(shard.entries().find(|(other, _)| *other == key).is_some(), shard.entry(seat) != Entry::default()),
            }
            prop_assert!(bytes.len().is_multiple_of(ENTRY_BYTES) && bytes.len() / ENTRY_BYTES <= before.max(room));
        }
    }

    #[test]
    fn workers_agree_on_a_seed_whatever_they_find(bytes in value(48), seeds in any::<[u8; 2]>(), created in any::<[u64; 2]>()) {
        let mut store = MemStore::new();
        store.overwrite(META, &bytes);
        let blob = &mut Vec::new();
        let own = |n: usize| Meta { seed: [seeds[n]; 16], created: Nanos(created[n]), epoch: 0 };
        let first = own(0).agree(&mut store, blob).meta;
        let second = own(1).agree(&mut store, blob).meta;
        prop_assert_eq!(first.agree(&mut store, blob).meta, second.agree(&mut store, blob).meta);
        prop_assert_eq!(second.next_epoch(&mut store, blob).meta.seed, second.agree(&mut store, blob).meta.seed);
    }

    #[test]
    fn a_roster_of_any_bytes_has_room_or_none_and_a_bounded_length(bytes in value(32), nonce in any::<u64>(), lease in any::<u64>(), now in any::<u64>()) {
        let mut store = MemStore::new();
        store.overwrite(ROSTER, &bytes);
        let mut roster = Roster::new(nonce);
        let gauges = Gauges { held: u32::MAX, in_flight: 1 };
        for _ in 0..3 {
            roster.renew(&mut store, &mut Vec::new(), gauges, Nanos(lease), Nanos(now));
            prop_assert!(roster.live(Nanos(now)) >= 1);
            let left = store.peek(ROSTER).unwrap_or_default();
            prop_assert!(left.len().is_multiple_of(32) && left.len() <= bytes.len().max(64 * 32));
        }
    }

    #[test]
    fn any_word_of_users_becomes_one_that_knows_the_worker(word in any::<u64>(), place in any::<u32>(), now in any::<u64>()) {
        let who = Who(word).touched(place, Nanos(now));
        prop_assert!(who.workers() >= 1);
        prop_assert_eq!(who.touched(place, Nanos(now)), who);
    }

    #[test]
    fn what_was_said_is_remembered_among_any_bytes(bytes in vec(any::<u8>(), 0..400), thing in ".{0,9}") {
        let mut store = MemStore::new();
        store.overwrite("weir/2/once", &bytes);
        prop_assert!(first_to_say(&mut store, &thing));
        prop_assert!(!first_to_say(&mut store, &thing));
        prop_assert!(store.peek("weir/2/once").is_some_and(|said| said.len() <= KEPT * 8));
    }

    /// Whatever a shard says, nobody is kept waiting for longer than a bucket can owe, and time repays it.
    #[test]
    fn no_bytes_refuse_a_caller_for_longer_than_the_deepest_debt(bytes in value(ENTRY_BYTES), own in any::<u64>(), every in any::<bool>()) {
        let charge = if every { Charge::Every } else { Charge::Admitted };
        let quota = Quota { interval: Nanos::from_millis(100), burst: 10, charge };
        let (mut store, key, now) = (MemStore::new(), Key(0x5a5a_5a5a_5a5a_5a5a), Nanos::from_secs(1000));
        let mut bytes = bytes;
        let mut shard = Shard::open(&mut bytes, MAX_ENTRIES);
        let seat = shard.seat(key, now);
        shard.put(seat, key, Entry { tat: Nanos(own), who: Who(own >> 16), pace: Pace::from_bits(own) }, now);
        store.set(ShardName::new(Sharded::Ledger, (key.0 >> 55) as usize).as_str(), &bytes, Cas(0)).ok();
        let settings = Settings { slots: 4096, sketch_buckets: 512, interval: Nanos::from_millis(200) };
        let mut worker = Exchange::new(store, settings, Own { seed: [1; 16], nonce: 1 }, now);
        if let Verdict::Refuse { wait } = worker.charge(key, &quota, now) {
            prop_assert!(wait <= MAX_DEBT + quota.interval.times(2));
            let later = now + wait + quota.interval;
            worker.tick(later, Gauges::default());
            prop_assert_eq!(worker.charge(key, &quota, later), Verdict::Admit);
        }
    }
}
