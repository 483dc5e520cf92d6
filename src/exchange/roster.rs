//! Which workers live, and what they hold: one lease per VM that has served a stream.
//!
//! 64 records of 32 bytes: nonce u64 (random per VM; 0 is a free record), heartbeat u64 in ms, held u32, in flight
//! u32, 8 bytes of 0. A worker renews its record at every tick; after the lease without a heartbeat the record is
//! anybody's and its gauges count no more. No balance belongs to a place, so taking one over can't misattribute
//! anything. One read and one write per tick.

use crate::shared::bytes::{emptied_if_foreign, u32_at, u64_at, write};
use crate::shared::names::ROSTER;
use crate::shared::{Store, Update, update};
use crate::time::Nanos;

const RECORD_BYTES: usize = 32;
const MAX_RECORDS: usize = 64;

/// Bytes of a full roster.
pub const MAX_BYTES: usize = RECORD_BYTES * MAX_RECORDS;

/// How long the roster must have shown the same number of workers before they divide by it: others join only with
/// their first stream, and a wiped roster takes them a tick to come back to.
const SETTLED_AFTER: Nanos = Nanos::from_secs(5);

/// Workers to reckon with until then. With the number seen so far instead, 200 requests on as many connections to
/// sixteen workers that had just started admitted 124 to 141 of a burst of 100.
const CROWD: u32 = 16;

/// What a worker has in hand that others must know of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Requests held by the tarpit or by shaping.
    pub held: u32,
    /// Requests passed on and not yet answered.
    pub in_flight: u32,
}

/// How a renewal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The write.
    pub update: Update,
    /// A roster was there and made no sense.
    pub corrupt: bool,
}

/// One worker's view of the roster.
pub struct Roster {
    nonce: u64,
    seen: Seen,
    /// Since when the roster has shown as many workers as now.
    since: Option<Nanos>,
}

/// What the last renewal that reached the store saw.
#[derive(Clone, Copy, Default)]
struct Seen {
    place: Option<usize>,
    live: u32,
    others: Gauges,
}

impl Roster {
    /// A worker that has not joined yet.
    pub fn new(nonce: u64) -> Roster {
        Roster { nonce: nonce.max(1), seen: Seen::default(), since: None }
    }

    /// Joins, or renews the own lease, and counts the others.
    pub fn renew(
        &mut self,
        store: &mut impl Store,
        blob: &mut Vec<u8>,
        gauges: Gauges,
        lease: Nanos,
        now: Nanos,
    ) -> Renewal {
        let (mut seen, mut corrupt) = (self.seen, false);
        let update = update(store, ROSTER, blob, |bytes| {
            corrupt = emptied_if_foreign(bytes, RECORD_BYTES, MAX_RECORDS);
            seen = enter(bytes, self.nonce, gauges, lease, now);
            seen.place.is_some()
        });
        if update.done {
            let same = self.since.filter(|_| seen.live == self.seen.live);
            self.since = Some(same.unwrap_or(now));
            self.seen = seen;
        }
        Renewal { update, corrupt }
    }

    /// Workers to divide by, at least 1. While their number has changed lately, more may be about to come (all join at
    /// their first stream, so under a flood at once): then there are as many as an Envoy commonly has.
    pub fn live(&self, now: Nanos) -> u32 {
        let settled = self.since.is_some_and(|since| now - since >= SETTLED_AFTER);
        self.seen.live.max(if settled { 1 } else { CROWD })
    }

    /// The own place, by which [`Who`](super::who::Who) knows this worker; some place, while there is none.
    pub fn place(&self) -> u32 {
        self.seen.place.map_or((self.nonce % MAX_RECORDS as u64) as u32, |place| place as u32)
    }

    /// What all other workers hold together.
    pub fn others(&self) -> Gauges {
        self.seen.others
    }
}

/// Writes the own record where it was, else where none lives, else at the end; and reads all others.
fn enter(bytes: &mut Vec<u8>, nonce: u64, gauges: Gauges, lease: Nanos, now: Nanos) -> Seen {
    let place = place(bytes, nonce, lease, now);
    if let Some(place) = place {
        bytes.resize(bytes.len().max((place + 1) * RECORD_BYTES), 0);
        if let Some(record) = bytes.chunks_exact_mut(RECORD_BYTES).nth(place) {
            fill(record, nonce, gauges, now);
        }
    }
    let others = bytes.chunks_exact(RECORD_BYTES).filter(|r| u64_at(r, 0) != nonce && lives(r, lease, now));
    let alone = Seen { place, live: 1, others: Gauges::default() };
    others.fold(alone, |seen, record| Seen {
        live: seen.live + 1,
        others: Gauges {
            held: seen.others.held.saturating_add(u32_at(record, 16)),
            in_flight: seen.others.in_flight.saturating_add(u32_at(record, 20)),
        },
        ..seen
    })
}

fn place(bytes: &[u8], nonce: u64, lease: Nanos, now: Nanos) -> Option<usize> {
    let mut records = bytes.chunks_exact(RECORD_BYTES);
    let count = records.len();
    let own = records.clone().position(|record| u64_at(record, 0) == nonce);
    let vacant = records.position(|record| !lives(record, lease, now));
    own.or(vacant).or((count < MAX_RECORDS).then_some(count))
}

/// A heartbeat from the future is as dead as an old one: it is no worker of this process.
fn lives(record: &[u8], lease: Nanos, now: Nanos) -> bool {
    u64_at(record, 0) != 0 && u64_at(record, 8).abs_diff(now.as_millis()) <= lease.as_millis()
}

fn fill(record: &mut [u8], nonce: u64, gauges: Gauges, now: Nanos) {
    record.fill(0);
    write(record, 0, &nonce.to_le_bytes());
    write(record, 8, &now.as_millis().to_le_bytes());
    write(record, 16, &gauges.held.to_le_bytes());
    write(record, 20, &gauges.in_flight.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::mem::MemStore;
    use proptest::prelude::*;

    const LEASE: Nanos = Nanos::from_secs(2);

    fn renew(roster: &mut Roster, store: &mut MemStore, held: u32, now: Nanos) -> u32 {
        roster.renew(store, &mut Vec::new(), Gauges { held, in_flight: 2 * held }, LEASE, now);
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
            assert_eq!(worker.others(), Gauges { held: 15, in_flight: 30 });
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

    proptest! {
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
}
