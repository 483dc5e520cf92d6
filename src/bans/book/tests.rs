use super::*;
use crate::hash::mix;
use proptest::collection::vec;
use proptest::prelude::*;

const NOW: Nanos = Nanos::from_secs(1000);
const KEY: Key = Key(1);

fn until(seconds: u64) -> Nanos {
    NOW + Nanos::from_secs(seconds)
}

fn ban(seconds: u64) -> Record {
    Record::default().banned(until(seconds), Reason::Tier)
}

fn told(seconds: u64) -> Ban {
    Ban { until: until(seconds), reason: Reason::Tier }
}

#[test]
fn a_page_wastes_nothing() {
    assert_eq!(size_of::<Page>(), 24);
}

#[test]
fn next_to_all_bans_find_a_place_in_a_table_of_their_number() {
    for bans in [1, 100, 256, 585, 1_000, 5_000, 50_000u32] {
        let mut lost = 0;
        for seed in 0..if bans < 50_000 { 40 } else { 3 } {
            let mut book = Book::new(bans);
            lost += (0..bans)
                .filter(|n| book.join(Key(mix(u64::from(*n) << 20 | seed)), ban(9), NOW).is_none())
                .count();
        }
        println!("{bans} bans: {lost} without a place");
        assert!(lost <= 5, "{bans}: {lost}");
    }
}

#[test]
fn a_ban_is_in_force_until_it_ends_and_its_lapse_is_told_once() {
    let mut book = Book::new(10);
    assert!(book.quiet());
    book.join(KEY, ban(5), NOW);
    assert_eq!(book.check(KEY, until(5) - Nanos(1)), Standing::Banned(told(5)));
    assert!(!book.quiet());
    assert_eq!(book.check(KEY, until(5)), Standing::Lapsed(told(5)));
    assert_eq!(book.check(KEY, until(5)), Standing::Free);
    assert!(book.quiet() && book.active() == 0);
}

#[test]
fn a_lapse_that_a_sweep_noticed_is_told_when_the_subject_comes() {
    let mut book = Book::new(10);
    book.join(KEY, ban(5), NOW);
    book.sweep(0, until(6));
    assert!(!book.quiet() && book.active() == 0);
    assert_eq!(book.check(KEY, until(7)), Standing::Lapsed(told(5)));
    book.sweep(0, until(8));
    assert_eq!(book.stats().used, 0);
}

#[test]
fn a_lapse_of_which_nobody_asks_is_forgotten_after_an_hour() {
    let mut book = Book::new(10);
    book.join(KEY, ban(5), NOW);
    book.sweep(0, until(3604));
    assert!(!book.quiet());
    book.sweep(0, until(3605));
    assert!(book.quiet() && book.stats().used == 0);
    assert_eq!(book.check(KEY, until(3605)), Standing::Free);
}

#[test]
fn what_was_over_or_lifted_before_it_was_heard_of_is_not_told() {
    let mut book = Book::new(10);
    let lifted = ban(50).lifted();
    book.join(KEY, lifted, NOW);
    assert_eq!(book.check(KEY, NOW), Standing::Free);
    book.join(KEY, lifted.banned(until(5), Reason::Rule), until(6));
    assert_eq!(book.check(KEY, until(7)), Standing::Free);
    assert!(book.quiet() && book.get(KEY).counts(until(7)));
}

#[test]
fn an_unban_after_the_end_takes_the_lapse_along() {
    let mut book = Book::new(10);
    book.join(KEY, ban(5), NOW);
    book.sweep(0, until(6));
    book.join(KEY, ban(5).lifted(), until(6));
    assert_eq!((book.check(KEY, until(6)), book.quiet()), (Standing::Free, true));
}

#[test]
fn what_counts_is_never_evicted_and_what_does_not_makes_place() {
    let mut book = Book::new(0);
    let places = book.slots_of(0).len() as u64;
    // Tombstones must stay as well: the ban that one lifts may be alive elsewhere.
    for n in 0..places {
        let record = if n % 2 == 0 { ban(10) } else { ban(10).lifted() };
        assert!(book.join(Key(n << 12 | n << 52 >> 6), record, NOW).is_some(), "{n}");
    }
    let late = Key(99 << 12);
    assert!(book.join(late, ban(10), NOW).is_none());
    assert_eq!(book.active(), places / 2);
    assert!(book.join(late, ban(20), until(10)).is_some());
    assert_eq!(book.check(late, until(10)), Standing::Banned(told(20)));
    let others = (100..100 + places - 1).map(|n| Key(n << 12 | n << 52 >> 6));
    others.for_each(|key| assert!(book.join(key, ban(20), until(10)).is_some()));
    assert_eq!(book.active(), places, "those whose end nobody noticed are counted no more");
}

#[test]
fn another_book_takes_over_bans_and_lapses() {
    let mut book = Book::new(100);
    book.join(Key(1), ban(5), NOW);
    book.join(Key(2), ban(50), NOW);
    book.join(Key(3), ban(50).lifted(), NOW);
    let mut other = Book::new(10_000);
    assert_eq!(other.take_over(&book, until(6)), 0);
    assert_eq!(other.check(Key(1), until(6)), Standing::Lapsed(told(5)));
    assert_eq!(other.check(Key(2), until(6)), Standing::Banned(told(50)));
    assert_eq!(other.get(Key(3)), ban(50).lifted());
    assert_eq!(other.active(), 1);
}

proptest! {
    /// Whatever happens, the counts are those of a full count.
    #[test]
    fn active_and_quiet_are_what_a_count_would_say(acts in vec((0u8..5, 0u64..40, 1u64..20), 0..200)) {
        let mut book = Book::new(0);
        let mut now = NOW;
        for (act, n, seconds) in acts {
            let key = Key(n << 54 >> 6 | n << 12);
            match act {
                0 | 1 => _ = book.join(key, book.get(key).banned(now + Nanos::from_secs(seconds), Reason::Rule), now),
                2 => _ = book.join(key, book.get(key).lifted(), now),
                3 => _ = book.check(key, now),
                _ => now = now + Nanos::from_secs(seconds),
            }
            (0..64).for_each(|shard| book.sweep(shard, now));
            prop_assert_eq!(book.active(), book.bans(now).count() as u64);
            let phases = book.table.iter().filter(|(_, _, page)| page.phase != Phase::Silent).count();
            prop_assert_eq!(book.quiet(), phases == 0);
        }
        book.clear();
        prop_assert!(book.quiet() && book.bans(NOW).next().is_none());
    }
}
