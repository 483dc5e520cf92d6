use super::*;

const HEARD: Heard =
    Heard { elapsed: 0.5, place: Some(3), count: 0, surge: 0, lasts: false, threshold: 100.0, mean: 30.0 };

/// In bucket 5, after hearing that so many events came so far.
fn heard(count: u32) -> Tally {
    let mut tally = Tally::newcomer(5);
    tally.hear(&Heard { count, ..HEARD });
    tally
}

fn counted(mut tally: Tally, events: u32) -> Tally {
    (0..events).for_each(|_| tally.count(1));
    tally
}

#[test]
fn a_tally_fits_its_share_of_memory() {
    assert_eq!(size_of::<Tally>(), 32);
}

#[test]
fn who_stays_below_the_floor_never_asks_and_who_reaches_it_asks_once() {
    let mut tally = counted(Tally::newcomer(5), 49);
    assert!(!tally.must_ask(50.0));
    tally.count(1);
    assert!(tally.must_ask(50.0));
    tally.hear(&Heard { count: 50, ..HEARD });
    assert!(!counted(tally, 50).must_ask(50.0));
    let crossing = counted(tally, 51);
    assert!(crossing.must_ask(50.0), "is it really so?");
    let mut confirmed = crossing;
    confirmed.hear(&Heard { count: 101, ..HEARD });
    assert!(!counted(confirmed, 1_000).must_ask(50.0));
    confirmed.roll(6);
    assert!(counted(confirmed, 1).must_ask(50.0), "it surged: what is usual now?");
}

#[test]
fn a_store_that_does_not_answer_is_asked_once_a_bucket() {
    let mut tally = counted(Tally::newcomer(5), 60);
    tally.hear_nothing();
    assert!(!counted(tally, 500).must_ask(50.0));
    assert!(tally.view().threshold.is_infinite());
}

#[test]
fn the_next_bucket_knows_a_surge_and_what_the_others_have_not_heard() {
    let mut tally = counted(heard(90), 20);
    assert_eq!(tally.roll(6), 0);
    assert_eq!((tally.untold(), tally.view().count, tally.view().surge), (20, 0, 110));
    let mut calm = counted(heard(10), 20);
    calm.roll(6);
    assert_eq!(calm.view().surge, 0);
}

#[test]
fn what_was_not_told_in_time_is_lost_and_counted() {
    let mut tally = counted(heard(10), 20);
    assert_eq!(tally.roll(7), 20);
    assert_eq!((tally.untold(), tally.view().surge), (0, 0));
    let mut back = counted(heard(10), 20);
    assert_eq!(back.roll(4), 20, "the clock is another");
    let mut many = counted(heard(0), 70_000);
    assert_eq!((many.roll(6), many.untold()), (70_000 - 65_535, 65_535));
}

#[test]
fn without_a_place_in_its_shard_a_key_is_not_judged() {
    let mut tally = counted(heard(90), 20);
    tally.hear(&Heard { place: None, count: 110, ..HEARD });
    assert!(!tally.is_surging() && !tally.is_urgent() && !counted(tally, 10_000).must_ask(50.0));
    assert_eq!(tally.view().count, 110);
}

#[test]
fn who_has_most_in_a_bucket_goes_last_and_silence_halves_it() {
    let stake = |tally: Tally, now| tally.stake(Nanos(now)).unwrap();
    let order = [counted(Tally::newcomer(5), 1), counted(Tally::newcomer(5), 20), heard(0), heard(50)];
    assert!(order.is_sorted_by(|a, b| stake(*a, 5) < stake(*b, 5)));
    assert_eq!((stake(heard(0), 5), stake(heard(0), 6), stake(heard(0), 10)), (30, 15, 1));
    assert_eq!(stake(heard(0), 11), 0, "idle, and the baseline is elsewhere");
    assert_eq!(stake(counted(heard(0), 1), 11), 1, "nobody has heard of that");
    assert_eq!(stake(heard(50), 4), 0, "of another clock");
}
