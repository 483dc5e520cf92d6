use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_secs(1000);
const OURS: Era = Era([1, 2, 3]);
const OTHER: Era = Era([1, 2, 4]);

fn ban(seconds: u64) -> Record {
    Record::default().banned(NOW + Nanos::from_secs(seconds), Reason::Ledger)
}

fn open(bytes: &mut Vec<u8>) -> Shard<'_> {
    Shard::open(bytes, 0, OURS, NOW)
}

fn later(bytes: &mut Vec<u8>, seconds: u64) -> Shard<'_> {
    Shard::open(bytes, 0, OURS, NOW + Nanos::from_secs(seconds))
}

/// A full shard of bans that end after 10 s.
fn full(era: Era) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut shard = Shard::open(&mut bytes, 0, era, NOW);
    (0..MAX_ENTRIES as u64).for_each(|n| assert!(shard.add(Key(n), ban(10))));
    bytes
}

#[test]
fn a_record_comes_back_as_it_was_put() {
    let mut bytes = Vec::new();
    let record = ban(5).lifted().banned(NOW + Nanos(7), Reason::Operator);
    let mut shard = open(&mut bytes);
    assert!(shard.put(Key(7), ban(3)) && shard.put(Key(7), record) && shard.put(Key(8), ban(1)));
    assert_eq!(
        (shard.get(Key(7)), shard.get(Key(8)), shard.get(Key(9))),
        (record, ban(1), Record::default())
    );
    assert_eq!(shard.places(), 2);
    assert!(!open(&mut bytes).changed());
    assert!(open(&mut bytes).put(Key(7), record) && !open(&mut bytes).changed());
}

#[test]
fn the_place_of_what_is_over_is_taken_first_and_a_full_shard_refuses() {
    let mut bytes = Vec::new();
    let mut shard = open(&mut bytes);
    (1..4).for_each(|n| _ = shard.put(Key(n), ban(n)));
    let mut shard = later(&mut bytes, 2);
    assert!(shard.put(Key(4), ban(9)) && shard.places() == 3);
    shard.tidy();
    assert_eq!((shard.places(), shard.get(Key(3)), shard.get(Key(4))), (2, ban(3), ban(9)));
    let mut bytes = full(OURS);
    assert!(!open(&mut bytes).put(Key(1 << 20), ban(1_000)));
    assert!(open(&mut bytes).put(Key(5), ban(1_000)));
    assert!(later(&mut bytes, 10).put(Key(1 << 20), ban(1_000)));
}

#[test]
fn what_is_banned_in_another_era_is_no_ban_and_gives_way_only_in_a_full_shard() {
    let mut bytes = Vec::new();
    Shard::open(&mut bytes, 0, OTHER, NOW).put(Key(7), ban(5));
    let mut shard = open(&mut bytes);
    assert_eq!((shard.get(Key(7)), shard.at(0)), (Record::default(), Entry::Alien));
    shard.tidy();
    assert!(shard.put(Key(7), ban(9)) && shard.places() == 2);
    assert_eq!(Shard::open(&mut bytes, 0, OTHER, NOW).get(Key(7)), ban(5));
    let mut bytes = full(OTHER);
    let mut shard = open(&mut bytes);
    assert!(shard.put(Key(7), ban(9)));
    assert_eq!((shard.places(), shard.get(Key(7))), (MAX_ENTRIES, ban(9)));
}

#[test]
fn times_beyond_any_of_ours_and_keys_of_other_shards_are_nothing() {
    let far = NOW + MAX_BAN + SKEW + Nanos(1);
    for (key, until, keep) in
        [(Key(7), far, far), (Key(7), NOW + Nanos(9), far), (Key(1 << 58), NOW + Nanos(9), NOW)]
    {
        let mut bytes = Vec::new();
        let record = Record { until, keep, generation: 0, reason: Reason::Rule };
        open(&mut bytes).write(0, key, record);
        assert_eq!(open(&mut bytes).at(0), Entry::Free, "{key:?} {until:?} {keep:?}");
        open(&mut bytes).tidy();
        assert!(bytes.is_empty());
    }
}

#[test]
fn eras_tell_seeds_and_epochs_apart() {
    let of = |seed, epoch| Era::of(&Seed([seed; 16]), epoch);
    assert_eq!(of(1, 1), of(1, 1));
    assert!(of(1, 1) != of(1, 2) && of(1, 1) != of(2, 1));
}

proptest! {
    #[test]
    fn any_bytes_stay_a_shard_and_ban_for_no_longer_than_ours(mut bytes in vec(any::<u8>(), 0..2_000), whole in any::<bool>(), now in any::<u64>()) {
        if whole {
            bytes.truncate(bytes.len() / ENTRY_BYTES * ENTRY_BYTES);
        }
        let now = Nanos(now);
        let mut shard = Shard::open(&mut bytes, 0, OURS, now);
        for place in 0..shard.places() {
            if let Entry::Of(key, record) = shard.at(place) {
                prop_assert!(record.until <= now + MAX_BAN + SKEW && record.until <= record.keep && Sharded::Bans.of(key) == 0);
            }
        }
        let record = Record::default().banned(now + MAX_BAN, Reason::Rule);
        prop_assert!(shard.put(Key(3), record) && (shard.get(Key(3)) == record || !record.counts(now)));
        shard.tidy();
        prop_assert!(bytes.len().is_multiple_of(ENTRY_BYTES));
    }
}
