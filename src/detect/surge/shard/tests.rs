use super::*;
use crate::time::Nanos;

const SPAN: fn() -> Span = || Span::new(60);

fn at(bucket: u64) -> Moment {
    Moment::of(Nanos::from_secs(10 * bucket), Nanos::from_secs(10))
}

fn entry(bucket: u32, count: u32) -> Entry {
    Entry { count, ..Entry::new(bucket) }
}

/// Puts a key in wherever there is place, and says where.
fn put(shard: &mut Shard, key: u64, entry: &Entry, at: &Moment) -> Option<usize> {
    let seat = shard.seat(Key(key), 0, at);
    shard.put(seat, Key(key), entry, at)
}

fn count(shard: &Shard, key: u64, at: &Moment) -> Option<u32> {
    shard.entry(shard.seat(Key(key), 0, at), &SPAN(), at).map(|entry| entry.count)
}

#[test]
fn a_key_is_found_at_its_place_and_without_it() {
    let (mut bytes, at) = (Vec::new(), at(500));
    let mut shard = Shard::open(&mut bytes, 10);
    let places: Vec<_> =
        (0..5).map(|key| put(&mut shard, key, &entry(500, key as u32), &at).unwrap()).collect();
    for (key, place) in places.into_iter().enumerate() {
        for hint in [place, 0, 4, 999, usize::MAX / ENTRY_BYTES - 1] {
            let seat = shard.seat(Key(key as u64), hint, &at);
            assert_eq!(seat.own, Some(place), "{key} {hint}");
        }
    }
    assert_eq!(count(&shard, 7, &at), None);
}

#[test]
fn only_what_differs_is_a_change() {
    let (mut bytes, at) = (Vec::new(), at(500));
    put(&mut Shard::open(&mut bytes, 10), 1, &entry(500, 3), &at);
    let mut shard = Shard::open(&mut bytes, 10);
    put(&mut shard, 1, &entry(500, 3), &at);
    assert!(!shard.changed());
    put(&mut shard, 1, &entry(500, 4), &at);
    assert!(shard.changed());
}

#[test]
fn what_was_idle_for_an_hour_or_claims_the_future_gives_its_place_away() {
    for (bucket, free) in
        [(140, true), (141, false), (500, false), (501, false), (502, true), (u32::MAX, true)]
    {
        let (mut bytes, at) = (Vec::new(), at(500));
        let mut shard = Shard::open(&mut bytes, 1);
        assert_eq!(put(&mut shard, 1, &entry(bucket, 1_000), &at), Some(0));
        assert_eq!(count(&shard, 1, &at).is_none(), free, "{bucket}");
        assert_eq!(put(&mut shard, 2, &entry(500, 1), &at).is_some(), free, "{bucket}");
    }
}

#[test]
fn in_a_full_shard_the_least_seen_goes_and_equals_stay() {
    let (mut bytes, at) = (Vec::new(), at(500));
    let mut shard = Shard::open(&mut bytes, 3);
    for (key, seen) in [(1, 5), (2, 2), (3, 9)] {
        put(&mut shard, key, &entry(500, seen), &at);
    }
    assert_eq!(put(&mut shard, 4, &entry(500, 2), &at), None, "as much as the least");
    assert_eq!(put(&mut shard, 5, &entry(500, 3), &at), Some(1));
    assert_eq!(put(&mut shard, 6, &entry(500, 3), &at), None);
    assert_eq!(put(&mut shard, 7, &entry(500, 4), &at), Some(1));
    let known: Vec<u64> = (1..8).filter(|&key| count(&shard, key, &at).is_some()).collect();
    assert_eq!(known, [1, 3, 7]);
}

#[test]
fn a_shard_never_outgrows_the_longest_value() {
    assert_eq!((room(200_000), room(1), room(u32::MAX)), (782, 1, MAX_ENTRIES));
    const { assert!(MAX_ENTRIES * ENTRY_BYTES <= MAX_VALUE) };
}

#[test]
fn a_value_that_is_no_shard_is_emptied() {
    for foreign in [vec![1; ENTRY_BYTES - 1], vec![0; (MAX_ENTRIES + 1) * ENTRY_BYTES]] {
        let mut bytes = foreign;
        let shard = Shard::open(&mut bytes, 10);
        assert!(shard.corrupt() && shard.changed());
        assert!(bytes.is_empty());
    }
}
