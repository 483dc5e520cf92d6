//! Which workers live, what they hold and where they listen: one lease per VM that has served a stream.
//!
//! 64 records of 32 bytes, little-endian:
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 8 | nonce, random per VM; 0 is a free record |
//! | 8 | 8 | heartbeat in ms |
//! | 16 | 4 | requests held |
//! | 20 | 4 | requests in flight |
//! | 24 | 4 | token of the queue on which the worker hears the others; 0 for none |
//! | 28 | 4 | clients per second that it saw for the first time |
//!
//! A worker renews its record at every tick; after the lease without a heartbeat the record is anybody's: its gauges
//! count no more and nobody writes to its queue. No balance belongs to a place, so taking one over can't misattribute
//! anything. One read and one write per tick.
//!
//! Who has the lowest place of all that live *leads*: it speaks for the process where one must. When a leader dies, none
//! leads until its lease is over; when somebody takes a lower place, two do until the other's next tick.

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
    /// Places of the tarpit that are taken or spoken for.
    pub held: u32,
    /// Requests passed on and not yet answered.
    pub in_flight: u32,
    /// Clients per second that were not seen before.
    pub newcomers: u32,
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
    queue: u32,
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
    leads: bool,
    queues: Queues,
}

/// Tokens of queues, each once.
#[derive(Clone, Copy)]
struct Queues {
    tokens: [u32; MAX_RECORDS],
    count: usize,
}

impl Default for Queues {
    fn default() -> Queues {
        Queues { tokens: [0; MAX_RECORDS], count: 0 }
    }
}

impl Queues {
    fn add(&mut self, token: u32) {
        let known = token == 0 || self.iter().any(|other| other == token);
        if let Some(place) = self.tokens.get_mut(self.count).filter(|_| !known) {
            *place = token;
            self.count += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.tokens.iter().copied().take(self.count)
    }
}

impl Roster {
    /// A worker that has not joined yet.
    pub fn new(nonce: u64) -> Roster {
        Roster { nonce: nonce.max(1), queue: 0, seen: Seen::default(), since: None }
    }

    /// Where this worker hears the others: the token of a queue, published from the next renewal on. 0 for nowhere.
    pub fn set_queue(&mut self, token: u32) {
        self.queue = token;
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
            seen = enter(bytes, &Own { nonce: self.nonce, queue: self.queue, gauges }, lease, now);
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
        self.seen.live.max(if self.settled(now) { 1 } else { CROWD })
    }

    /// Has the number of workers been the same for a while?
    pub fn settled(&self, now: Nanos) -> bool {
        self.since.is_some_and(|since| now - since >= SETTLED_AFTER)
    }

    /// The own place, by which [`Who`](super::who::Who) knows this worker; some place, while there is none.
    pub fn place(&self) -> u32 {
        self.seen.place.map_or((self.nonce % MAX_RECORDS as u64) as u32, |place| place as u32)
    }

    /// The own place below 64, if this worker has one.
    pub fn seat(&self) -> Option<usize> {
        self.seen.place
    }

    /// What all other workers hold together.
    pub fn others(&self) -> Gauges {
        self.seen.others
    }

    /// The queues of all other workers: at most 63 tokens, each once, never 0 and never the own.
    pub fn queues(&self) -> impl Iterator<Item = u32> {
        self.seen.queues.iter().filter(|token| *token != self.queue)
    }

    /// No other worker that lives has a lower place.
    pub fn leads(&self) -> bool {
        self.seen.leads
    }
}

/// What a worker writes into its record.
struct Own {
    nonce: u64,
    queue: u32,
    gauges: Gauges,
}

/// Writes the own record where it was, else where none lives, else at the end; and reads all others.
fn enter(bytes: &mut Vec<u8>, own: &Own, lease: Nanos, now: Nanos) -> Seen {
    let place = place(bytes, own.nonce, lease, now);
    if let Some(place) = place {
        bytes.resize(bytes.len().max((place + 1) * RECORD_BYTES), 0);
        if let Some(record) = bytes.chunks_exact_mut(RECORD_BYTES).nth(place) {
            fill(record, own, now);
        }
    }
    let records = bytes.chunks_exact(RECORD_BYTES).enumerate();
    let others = records.filter(|(_, r)| u64_at(r, 0) != own.nonce && lives(r, lease, now));
    let mut seen = Seen { place, live: 1, leads: place.is_some(), ..Seen::default() };
    others.for_each(|(at, record)| seen.meet(at, record));
    seen
}

impl Seen {
    /// Another worker that lives.
    fn meet(&mut self, at: usize, record: &[u8]) {
        self.live += 1;
        self.others.held = self.others.held.saturating_add(u32_at(record, 16));
        self.others.in_flight = self.others.in_flight.saturating_add(u32_at(record, 20));
        self.others.newcomers = self.others.newcomers.saturating_add(u32_at(record, 28));
        self.queues.add(u32_at(record, 24));
        self.leads &= self.place < Some(at);
    }
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

fn fill(record: &mut [u8], own: &Own, now: Nanos) {
    record.fill(0);
    write(record, 0, &own.nonce.to_le_bytes());
    write(record, 8, &now.as_millis().to_le_bytes());
    write(record, 16, &own.gauges.held.to_le_bytes());
    write(record, 20, &own.gauges.in_flight.to_le_bytes());
    write(record, 24, &own.queue.to_le_bytes());
    write(record, 28, &own.gauges.newcomers.to_le_bytes());
}

#[cfg(test)]
mod tests;
