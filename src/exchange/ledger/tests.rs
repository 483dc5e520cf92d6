use super::*;
use proptest::prelude::*;

const NOW: Nanos = Nanos(1_000);

/// Of a quota of 8 ns.
fn entry(tat: u64) -> Entry {
    Entry { tat: Nanos(tat), who: Who(tat & WHO), pace: Pace::from_bits(3) }
}

fn put(bytes: &mut Vec<u8>, key: u64, tat: u64) -> bool {
    let mut shard = Shard::open(bytes, 4);
    let seat = shard.seat(Key(key), NOW);
    shard.put(seat, Key(key), entry(tat), NOW)
}

fn get(bytes: &mut Vec<u8>, key: u64) -> Entry {
    let shard = Shard::open(bytes, 4);
    shard.entry(shard.seat(Key(key), NOW))
}

fn filled() -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in 1..=4 {
        assert!(put(&mut bytes, key, 2_000 + key));
    }
    bytes
}

#[test]
fn what_is_put_is_found_again() {
    let mut bytes = filled();
    assert_eq!(bytes.len(), 4 * ENTRY_BYTES);
    assert_eq!(get(&mut bytes, 3), entry(2_003));
    assert!(put(&mut bytes, 3, 5_000));
    assert_eq!(get(&mut bytes, 3), entry(5_000));
    assert_eq!(get(&mut bytes, 99), Entry::default());
}

#[test]
fn an_expired_entry_gives_its_place_away_before_the_shard_grows() {
    let mut bytes = Vec::new();
    put(&mut bytes, 1, NOW.0);
    put(&mut bytes, 2, 2_000);
    assert_eq!(bytes.len(), ENTRY_BYTES);
    assert_eq!(get(&mut bytes, 2), entry(2_000));
}

#[test]
fn in_a_full_shard_the_cheapest_gives_way_to_who_owes_twice_as_much_and_to_nobody_else() {
    let mut bytes = filled();
    assert!(!put(&mut bytes, 9, 2_020));
    assert_eq!(get(&mut bytes, 9), Entry::default());
    assert!(put(&mut bytes, 9, 3_100));
    assert_eq!((get(&mut bytes, 1), get(&mut bytes, 9)), (Entry::default(), entry(3_100)));
}

#[test]
fn whoever_is_active_takes_the_place_of_an_idle_key_that_owes_not_much_more() {
    let now = Nanos::from_secs(100);
    let owing = |events: u64, who| Entry { tat: now + Nanos(8 * events), who, pace: Pace::from_bits(3) };
    let (idle, active) =
        (Who::default().touched(0, now - Nanos::from_secs(7)), Who::default().touched(1, now));
    for (events, gives_way) in [(9, true), (60, false)] {
        let mut bytes = Vec::new();
        let mut shard = Shard::open(&mut bytes, 1);
        let seat = shard.seat(Key(1), now);
        assert!(shard.put(seat, Key(1), owing(events, idle), now));
        let seat = shard.seat(Key(2), now);
        assert_eq!(shard.put(seat, Key(2), owing(3, active), now), gives_way);
    }
}

#[test]
fn one_event_per_day_does_not_push_out_who_owes_two_of_a_fast_rate() {
    let mut bytes = filled();
    let daily = Entry { tat: NOW + Nanos::from_secs(86_400), pace: Pace::from_bits(46), ..Entry::default() };
    let mut shard = Shard::open(&mut bytes, 4);
    let seat = shard.seat(Key(9), NOW);
    assert!(!shard.put(seat, Key(9), daily, NOW));
}

#[test]
fn the_same_entry_again_is_no_change() {
    let mut bytes = filled();
    let mut shard = Shard::open(&mut bytes, 4);
    let seat = shard.seat(Key(2), NOW);
    assert!(shard.put(seat, Key(2), entry(2_002), NOW));
    assert!(!shard.changed());
}

#[test]
fn a_family_is_removed_by_its_tag() {
    let mut bytes = filled();
    Shard::open(&mut bytes, 4).remove_tags(&[1, 3, 4]);
    assert_eq!(bytes.len(), ENTRY_BYTES);
    assert_eq!(get(&mut bytes, 2), entry(2_002));
    Shard::open(&mut bytes, 4).remove_tags(&[2]);
    assert!(bytes.is_empty());
}

#[test]
fn truncated_and_oversized_blobs_are_empty() {
    let mut truncated = filled();
    truncated.pop();
    assert!(Shard::open(&mut truncated, 4).corrupt());
    assert!(truncated.is_empty());
    let mut oversized = vec![1; (MAX_ENTRIES + 1) * ENTRY_BYTES];
    assert!(Shard::open(&mut oversized, 4).changed());
    assert!(oversized.is_empty());
}

#[test]
fn the_ledger_has_room_for_the_table_of_every_size() {
    assert_eq!([room(1), room(50_000), room(50_001), room(200_000)], [128, 128, 256, 512]);
    assert_eq!(room(u32::MAX), MAX_ENTRIES);
}

proptest! {
    #[test]
    fn any_bytes_are_survived_and_take_an_entry(bytes in proptest::collection::vec(any::<u8>(), 0..4_000), key: u64, tat in 1_001u64..) {
        let mut bytes = bytes;
        let mut shard = Shard::open(&mut bytes, 128);
        let seat = shard.seat(Key(key), NOW);
        let recorded = shard.put(seat, Key(key), entry(tat), NOW);
        let seat = shard.seat(Key(key), NOW);
        prop_assert_eq!(shard.entry(seat) == entry(tat), recorded);
        shard.remove_tags(&[Key(key).tag()]);
        prop_assert!(shard.entries().all(|(other, _)| other.tag() != Key(key).tag()));
        prop_assert!(bytes.len().is_multiple_of(ENTRY_BYTES));
    }

    #[test]
    fn a_shard_never_outgrows_its_room(puts in proptest::collection::vec((0u64..50, 0u64..10_000), 0..200)) {
        let mut bytes = Vec::new();
        for (key, tat) in puts {
            put(&mut bytes, key, tat);
            prop_assert!(bytes.len() <= 4 * ENTRY_BYTES);
        }
    }
}
