use super::*;
use crate::shared::mem::MemStore;
use proptest::prelude::*;

const LEASE: Nanos = Nanos::from_secs(2);

fn renew(roster: &mut Roster, store: &mut MemStore, held: u32, now: Nanos) -> u32 {
    roster.renew(
        store,
        &mut Vec::new(),
        Gauges { held, in_flight: 2 * held, newcomers: 3 * held },
        LEASE,
        now,
    );
    roster.live(now)
}

#[test]
fn workers_count_each_other_and_add_up_what_the_others_hold() {
    let mut store = MemStore::new();
    let mut workers: Vec<Roster> = (1..=4).map(Roster::new).collect();
    for second in 0..7 {
        for worker in &mut workers {
            renew(worker, &mut store, 5, Nanos::from_secs(second));
        }
    }
    for (at, worker) in workers.iter().enumerate() {
        assert_eq!((worker.live(Nanos::from_secs(6)), worker.place()), (4, at as u32));
        assert_eq!(worker.others(), Gauges { held: 15, in_flight: 30, newcomers: 45 });
    }
}

#[test]
fn a_dead_worker_leaves_its_place_and_takes_its_gauges_along() {
    let mut store = MemStore::new();
    let (mut dead, mut alive, mut fresh) = (Roster::new(1), Roster::new(2), Roster::new(3));
    renew(&mut dead, &mut store, 7, Nanos::ZERO);
    renew(&mut alive, &mut store, 1, Nanos::ZERO);
    assert_eq!(alive.others().held, 7);
    let later = Nanos::from_secs(3);
    renew(&mut alive, &mut store, 1, later);
    assert_eq!(alive.others(), Gauges::default());
    renew(&mut fresh, &mut store, 0, later);
    assert_eq!(fresh.place(), 0);
    renew(&mut dead, &mut store, 7, later);
    assert_eq!(dead.place(), 2, "a late worker joins anew");
}

#[test]
fn a_worker_believes_the_number_that_it_sees_only_after_a_while() {
    let mut store = MemStore::new();
    let mut worker = Roster::new(1);
    let mut seen = |second, store: &mut MemStore| renew(&mut worker, store, 0, Nanos::from_secs(second));
    assert_eq!([seen(0, &mut store), seen(4, &mut store), seen(5, &mut store)], [CROWD, CROWD, 1]);
    let mut other = Roster::new(2);
    for second in 6..11 {
        renew(&mut other, &mut store, 0, Nanos::from_secs(second));
        assert_eq!(seen(second, &mut store), CROWD, "another has joined, and more may");
    }
    renew(&mut other, &mut store, 0, Nanos::from_secs(11));
    assert_eq!(seen(11, &mut store), 2);
}

#[test]
fn a_full_roster_leaves_the_newcomer_without_a_place_but_counted_by_itself() {
    let mut store = MemStore::new();
    for nonce in 1..=64 {
        renew(&mut Roster::new(nonce), &mut store, 0, Nanos::ZERO);
    }
    let mut last = Roster::new(65);
    assert_eq!(renew(&mut last, &mut store, 0, Nanos::ZERO), 65);
    assert_eq!(last.place(), 1);
}

fn queues(roster: &Roster) -> Vec<u32> {
    roster.queues().collect()
}

#[test]
fn workers_know_each_others_queues_but_not_their_own_and_each_once() {
    let mut store = MemStore::new();
    let mut workers: Vec<Roster> = (1..=5).map(Roster::new).collect();
    for (worker, token) in workers.iter_mut().zip([7, 8, 8, 0, 9]) {
        worker.set_queue(token);
    }
    for _ in 0..2 {
        workers.iter_mut().for_each(|worker| _ = renew(worker, &mut store, 0, Nanos::ZERO));
    }
    assert_eq!(queues(&workers[0]), [8, 9]);
    assert_eq!(queues(&workers[1]), [7, 9], "a token that another one has too is the own");
    assert_eq!(queues(&workers[3]), [7, 8, 9]);
}

#[test]
fn nobody_writes_to_the_queue_of_the_dead() {
    let mut store = MemStore::new();
    let (mut dead, mut alive) = (Roster::new(1), Roster::new(2));
    dead.set_queue(7);
    renew(&mut dead, &mut store, 0, Nanos::ZERO);
    renew(&mut alive, &mut store, 0, LEASE);
    assert_eq!(queues(&alive), [7]);
    renew(&mut alive, &mut store, 0, LEASE + Nanos::from_millis(1));
    assert_eq!(queues(&alive), [0; 0]);
}

#[test]
fn one_worker_leads_and_the_next_when_it_is_gone() {
    let mut store = MemStore::new();
    let mut workers: Vec<Roster> = (1..=3).map(Roster::new).collect();
    let mut leading = |alive: core::ops::Range<usize>, now| {
        workers[alive.clone()].iter_mut().for_each(|worker| _ = renew(worker, &mut store, 0, now));
        workers[alive].iter().map(Roster::leads).collect::<Vec<bool>>()
    };
    assert_eq!(leading(0..3, Nanos::ZERO), [true, false, false]);
    assert_eq!(leading(1..3, LEASE), [false, false]);
    assert_eq!(leading(1..3, LEASE + Nanos::from_millis(1)), [true, false]);
}

#[test]
fn who_has_no_place_has_no_seat_and_leads_nobody() {
    let mut store = MemStore::new();
    let mut lost = Roster::new(1);
    assert!(!lost.leads() && lost.seat().is_none());
    (2..=65).for_each(|nonce| _ = renew(&mut Roster::new(nonce), &mut store, 0, Nanos::ZERO));
    renew(&mut lost, &mut store, 0, Nanos::ZERO);
    assert!(!lost.leads() && lost.seat().is_none());
}

proptest! {
    #[test]
    fn whatever_stands_in_the_roster_tokens_are_foreign_nonzero_and_unlike(
        records in proptest::collection::vec((any::<u64>(), 0u64..4_000, 0u32..8), 0..=64),
        own in 0u32..8,
    ) {
        let mut store = MemStore::new();
        let mut bytes = vec![0; records.len() * RECORD_BYTES];
        for (place, (nonce, heartbeat, token)) in bytes.chunks_exact_mut(RECORD_BYTES).zip(&records) {
            write(place, 0, &nonce.to_le_bytes());
            write(place, 8, &heartbeat.to_le_bytes());
            write(place, 24, &token.to_le_bytes());
        }
        store.overwrite(ROSTER, &bytes);
        let mut worker = Roster::new(1);
        worker.set_queue(own);
        renew(&mut worker, &mut store, 0, Nanos::from_secs(1));
        let mut tokens = queues(&worker);
        prop_assert!(tokens.len() <= 63 && !tokens.contains(&0) && !tokens.contains(&own));
        let count = tokens.len();
        tokens.sort_unstable();
        tokens.dedup();
        prop_assert_eq!(tokens.len(), count);
    }

    #[test]
    fn any_roster_is_survived_and_left_with_the_own_record(bytes in proptest::collection::vec(any::<u8>(), 0..2200)) {
        let mut store = MemStore::new();
        store.overwrite(ROSTER, &bytes);
        let mut worker = Roster::new(1);
        renew(&mut worker, &mut store, 1, Nanos::from_secs(1));
        prop_assert!(worker.live(Nanos::ZERO) <= 65);
        let left = store.peek(ROSTER).unwrap();
        prop_assert!(left.len().is_multiple_of(RECORD_BYTES));
        prop_assert!(left.chunks_exact(RECORD_BYTES).any(|r| u64_at(r, 0) == 1));
    }
}
