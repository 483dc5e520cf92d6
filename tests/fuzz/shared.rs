//! What stands in shared data: other workers wrote it, an older version, another extension, or nobody.

use proptest::collection::vec;
use proptest::prelude::*;
use weir::bans::record::Record;
use weir::bans::shard as ban;
use weir::bans::versions::{self, Versions};
use weir::bans::{self, Bans, Era, MAX_BAN, Reason, Standing};
use weir::counters::bucket::{Charge, MAX_DEBT, Meter, Quota, Verdict};
use weir::counters::ewma::Span;
use weir::counters::price::Pace;
use weir::detect::surge::entry::{self, ENTRY_BYTES as BASELINE_BYTES};
use weir::detect::surge::moment::Moment;
use weir::detect::surge::shard::{self, Shard as Baselines};
use weir::detect::surge::{Judge, Settings as Traffic, Sizes, Subjects, Surge};
use weir::exchange::ledger::{ENTRY_BYTES, Entry, MAX_ENTRIES, Shard};
use weir::exchange::meta::Meta;

use weir::exchange::roster::Roster;
use weir::exchange::sums::{self, MAX_WINDOW, Sum, Sums};
use weir::exchange::who::Who;
use weir::exchange::{Exchange, Gauges, Own, Settings};
use weir::hash::{Key, Seed, SubjectHash};
use weir::request::Request;
use weir::shared::mem::MemStore;
use weir::shared::names::{BAN_VERSIONS, META, ROSTER, ShardName, Sharded};
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

/// Entries of bans: any, and more often ones that count, of a few keys and in every generation.
fn bans_value() -> impl Strategy<Value = Vec<u8>> {
    let plausible = (0u64..8, 900u64..1_100, any::<u64>(), prop_oneof![0u32..3, Just(u32::MAX)], any::<u8>());
    let entry = plausible.prop_map(|(key, until, keep, generation, reason)| {
        let [keep, until] =
            [keep % 3_000_000, until].map(|seconds| Nanos::from_secs(seconds).0.to_le_bytes());
        let mut bytes = [key.to_le_bytes(), until, keep].concat();
        bytes.extend_from_slice(&generation.to_le_bytes());
        bytes.push(reason);
        let mut foreign = Vec::new();
        ban::Shard::open(&mut foreign, 0, Era::of(&Seed([1; 16]), 0), Nanos::ZERO).write(
            0,
            Key(0),
            Record::default(),
        );
        bytes.extend_from_slice(&foreign[29..]);
        bytes
    });
    prop_oneof![value(ban::ENTRY_BYTES), vec(entry, 0..40).prop_map(|entries| entries.concat())]
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
        for (letter, number) in ['l', 'v', 'w', 'f'].into_iter().flat_map(|letter| (0..512).map(move |number| (letter, number))) {
            store.set(&format!("weir/2/{letter}/{number:03x}"), shard, Cas(0)).unwrap();
        }
        let mut engine = engine(&store, 2);
        let id = engine.configure("weir", support::plan(EVERYTHING), Nanos::ZERO);
        for i in 0..50u64 {
            let now = Nanos::from_millis(1000 + i * 70);
            let request = Request { source: Some(b"203.0.113.7:1"), ..Request::default() };
            let (_, ticket) = engine.on_request(id, &request, now);
            engine.on_complete(ticket, &support::FAILED);
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
    fn baselines_of_any_bytes_stay_baselines(mut bytes in value(BASELINE_BYTES), room in 0..shard::MAX_ENTRIES, acts in vec((any::<u8>(), any::<u32>(), any::<u16>()), 0..20), now in any::<u64>()) {
        let before = bytes.len() / BASELINE_BYTES;
        let at = Moment::of(Nanos(now), Nanos::from_secs(10));
        for (n, count, place) in acts {
            let key = Key(u64::from(n) << 56 | u64::from(n));
            let mut shard = Baselines::open(&mut bytes, room);
            let seat = shard.seat(key, place.into(), &at);
            let entry = entry::Entry { count, ..entry::Entry::new(at.bucket) };
            let placed = shard.put(seat, key, &entry, &at).is_some();
            let found = shard.entry(shard.seat(key, place.into(), &at), &Span::new(60), &at);
            prop_assert_eq!(found, placed.then_some(entry));
            prop_assert!(bytes.len().is_multiple_of(BASELINE_BYTES) && bytes.len() / BASELINE_BYTES <= before.max(room));
        }
    }

    /// Whatever shared data says, nothing traps, and whoever keeps below its floor never surges for longer than it takes
    /// to hear that the bucket is another.
    #[test]
    fn no_bytes_make_a_client_below_its_floor_surge_for_long(mut bytes in value(BASELINE_BYTES), at in any::<prop::sample::Index>(), step in 0u64..40) {
        let judge = Judge { factor: 3.0, deviations: 5.0, floor: 50.0, weight: 40, relearn_after: None };
        let settings = Traffic { bucket: Nanos::from_secs(10), learning: Span::new(60), warmup: 6, dimensions: [Some(judge); 4], routes: Box::default() };
        let (store, sizes) = (MemStore::new(), Sizes { keys: 4096, interval: Nanos::from_millis(200) });
        let mut worker = Surge::new(store.clone(), sizes, settings.clone(), &Seed([7; 16]), 0);
        let subjects = Subjects { of: [None, Some(SubjectHash(5)), None, None], route: None };
        let mut now = Nanos::from_secs(10_000);
        let observe = |worker: &mut Surge<MemStore>, now| worker.observe(&settings, &subjects, true, now).is_empty();
        // Its own record, with any other bytes behind the key.
        observe(&mut worker, now);
        worker.tick(now + sizes.interval.times(2));
        let name = store.keys().pop().unwrap_or_default();
        let own = store.peek(&name).unwrap_or_default();
        if let (Some(key), false) = (own.get(..8), bytes.len() < BASELINE_BYTES) {
            let record = at.index(bytes.len() / BASELINE_BYTES) * BASELINE_BYTES;
            bytes[record..record + 8].copy_from_slice(key);
        }
        store.overwrite(&name, &bytes);
        for round in 0..20 {
            now = now + Nanos::from_secs(step + 1);
            let calm = observe(&mut worker, now);
            worker.tick(now);
            prop_assert!(calm || round < 25 / (step + 1) + 1, "{}", round);
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
        let gauges = Gauges { held: u32::MAX, in_flight: 1, newcomers: u32::MAX };
        for _ in 0..3 {
            roster.renew(&mut store, &mut Vec::new(), gauges, Nanos(lease), Nanos(now));
            prop_assert!(roster.live(Nanos(now)) >= 1);
            prop_assert!(roster.queues().count() <= 63 && roster.queues().all(|token| token != 0));
            prop_assert!(!roster.leads() || roster.seat().is_some());
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
        store.set(ShardName::new(Sharded::Ledger, Sharded::Ledger.of(key)).as_str(), &bytes, Cas(0)).ok();
        let settings = Settings { slots: 4096, sketch_buckets: 512, interval: Nanos::from_millis(200) };
        let mut worker = Exchange::new(store, settings, Own { seed: [1; 16], nonce: 1 }, now);
        if let Verdict::Refuse { wait } = worker.charge(key, &quota, now) {
            prop_assert!(wait <= MAX_DEBT + quota.interval.times(2));
            let later = now + wait + quota.interval;
            worker.tick(later, Gauges::default());
            prop_assert_eq!(worker.charge(key, &quota, later), Verdict::Admit);
        }
    }

    #[test]
    fn a_shard_of_bans_of_any_bytes_stays_a_shard(bytes in bans_value(), acts in vec(act(), 0..20), now in any::<u64>(), number in 0usize..64) {
        let (mut bytes, now, era) = (bytes, Nanos(now), Era::of(&Seed([1; 16]), 0));
        let before = bytes.len() / ban::ENTRY_BYTES;
        for (act, n, word) in acts {
            let key = Key((number as u64) << 58 | n);
            let mut shard = ban::Shard::open(&mut bytes, number, era, now);
            let known = shard.get(key);
            let record = known.banned(Nanos(word).min(now + MAX_BAN), Reason::from_byte(word as u8));
            match act {
                0 => prop_assert!(!shard.put(key, record) || !record.counts(now) || shard.get(key) == record),
                1 => _ = shard.put(key, known.lifted()),
                _ => shard.tidy(),
            }
            let places = shard.places();
            prop_assert!(bytes.len().is_multiple_of(ban::ENTRY_BYTES) && places <= before.max(ban::MAX_ENTRIES));
        }
    }

    /// Whatever stands in shared data: nobody is banned for longer than a ban can last, everybody can be banned and unbanned,
    /// and a worker that ticks long enough has it as the other one.
    #[test]
    fn no_bytes_ban_anybody_for_ever(bytes in bans_value(), versions in vec(any::<u8>(), 0..300), n in 0u64..8) {
        let (store, key, now) = (MemStore::new(), Key(n), Nanos::from_secs(1000));
        store.overwrite(ShardName::new(Sharded::Bans, 0).as_str(), &bytes);
        store.overwrite(BAN_VERSIONS, &versions);
        let worker = || Bans::new(store.clone(), bans::Settings { bans: 100 }, Era::of(&Seed([1; 16]), 0), now);
        let (mut one, mut other) = (worker(), worker());
        let banned = |worker: &mut Bans<MemStore>, now| matches!(worker.check(key, now), Standing::Banned(_));
        prop_assert!(!banned(&mut one, now + MAX_BAN + Nanos::from_secs(60)));
        one.ban(key, now + Nanos::from_secs(5), Reason::Rule, now);
        one.unban(key, now);
        prop_assert!(!banned(&mut one, now));
        other.hear(one.take_news(), now);
        prop_assert!(!banned(&mut other, now));
        (0..20).for_each(|_| { one.tick(now); other.tick(now); });
        prop_assert!(one.iter(now).eq(other.iter(now)) || one.iter(now).count() == other.iter(now).count());
        prop_assert!(store.peek(BAN_VERSIONS).is_none_or(|value| value.len() <= versions.len().max(versions::BYTES)));
    }

    #[test]
    fn versions_of_any_bytes_name_shards_and_are_raised(bytes in prop_oneof![vec(any::<u8>(), 0..300), vec(any::<u8>(), 256..257)], of in any::<u64>()) {
        let mut store = MemStore::new();
        store.overwrite(BAN_VERSIONS, &bytes);
        let (mut seen, mut other, blob) = (Versions::default(), Versions::default(), &mut Vec::new());
        prop_assert_eq!(seen.changed(&mut store, blob, of) & !of, 0);
        prop_assert_eq!(seen.changed(&mut store, blob, of), 0);
        other.raise(&mut store, blob, of);
        prop_assert_eq!(seen.changed(&mut store, blob, u64::MAX) & of, of);
    }

    #[test]
    fn records_of_bans_join_alike_whatever_they_say(words in any::<[(u64, u64, u32, u8); 3]>()) {
        let [a, b, c] = words.map(|(until, keep, generation, reason)| {
            Record { until: Nanos(until), keep: Nanos(keep.max(until)), generation, reason: Reason::from_byte(reason) }
        });
        prop_assert_eq!(a.join(b).join(c), c.join(a).join(b));
        prop_assert_eq!(a.join(b).join(a), a.join(b));
    }

    #[test]
    fn sums_of_any_bytes_stay_sums_and_are_over_within_a_day(bytes in value(sums::ENTRY_BYTES), acts in vec(act(), 0..20), now in any::<u64>()) {
        let (mut bytes, now) = (bytes, Nanos(now));
        for (act, n, word) in acts {
            let key = Key(n);
            let mut shard = sums::Shard::open(&mut bytes, now);
            let (before, most) = (shard.get(key), (word >> 32) as u32);
            prop_assert!(before.is_none_or(|sum| sum.end <= now + MAX_WINDOW + Nanos::from_secs(60)));
            if act == 0 {
                shard.remove(key);
            } else {
                let more = Sum { sum: word as u32, end: (now + Nanos(word)).min(now + MAX_WINDOW) };
                let charged = shard.charge(key, more, most).unwrap();
                prop_assert_eq!(charged.before, before.map_or(0, |sum| sum.sum));
                let runs = charged.end > now && charged.before < most;
                let after = shard.get(key).map_or(0, |sum| sum.sum);
                prop_assert!(!runs || after == charged.before.saturating_add(more.sum));
            }
            prop_assert!(bytes.len().is_multiple_of(sums::ENTRY_BYTES) && bytes.len() <= sums::MAX_BYTES);
        }
    }

    #[test]
    fn a_charge_meets_any_bytes_at_any_time(bytes in value(sums::ENTRY_BYTES), charges in vec((0u64..4, any::<[u32; 2]>(), any::<[u64; 2]>()), 0..20)) {
        let store = MemStore::new();
        store.overwrite(ShardName::new(Sharded::Sums, 0).as_str(), &bytes);
        let mut worker = Sums::new(store);
        for (n, [amount, most], [end, now]) in charges {
            let charged = worker.charge(Key(n), amount, most, Nanos(end), Nanos(now));
            prop_assert!(charged.is_none_or(|charged| charged.end <= Nanos(now) + MAX_WINDOW + Nanos::from_secs(60)));
        }
    }
}
