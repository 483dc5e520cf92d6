//! How workers tell each other what they counted: at ticks, and at once where a verdict waits for it.
//!
//! A tick serves the shards whose turn it is, so that each is served about once a second, and those where somebody is
//! beyond half its threshold or surging; the first tick of a bucket serves them all, as the bucket before is folded two ticks
//! after its end. One read and one write per shard that has something pending; a key costs a look at its place, a newcomer
//! a look through its shard. At most 256 shards of 48 KiB each way, once a bucket.

use super::Surge;
use super::baseline::Terms;
use super::entry::Folds;
use super::moment::Moment;
use super::settings::{Judge, dimension_of};
use super::shard::{self, Shard};
use super::tally::{Heard, Tally};
use crate::counters::bucket::{Charge, Quota};
use crate::counters::table::Slot;
use crate::hash::Key;
use crate::shared::Store;
use crate::time::Nanos;
use core::ops::Range;

/// Requests that may ask the process: 5,000 a second, 1,000 at once. At 5 µs each that is 2.5 % of a core.
const ASKS: Quota = Quota { interval: Nanos(200_000), burst: 1_000, charge: Charge::Admitted };

/// Each shard is served about so often.
const ROUND: Nanos = Nanos::from_secs(1);

/// After so many ticks every worker has told what it counted in the bucket before.
const GRACE_TICKS: u64 = 2;

/// What an entry said, and what became of what it was told.
#[derive(Clone, Copy)]
struct Answer {
    heard: Heard,
    folds: Folds,
}

/// One slot's share in a publication, to be settled when the write has succeeded. There is no answer where the
/// dimension is off now.
#[derive(Clone, Copy)]
pub struct Told {
    slot: Slot,
    answer: Option<Answer>,
}

impl<S: Store> Surge<S> {
    /// Tells one key's entry what is pending, and hears what the process knows: before a verdict is given, and as far as
    /// the budget goes.
    pub(super) fn ask(&mut self, key: Key, tally: &mut Tally, judge: &Judge, at: &Moment, now: Nanos) {
        if !ASKS.admits(self.asks, now) {
            self.stats.unasked += 1;
            return;
        }
        self.asks = ASKS.after(self.asks, true, now);
        self.stats.asks += 1;
        let (terms, settled) = (self.settings.terms(judge), self.settled(at));
        let (number, mut answer) = (self.table.range(key), None);
        let Surge { store, room, blob, stats, .. } = self;
        let outcome = shard::change(store, number, *room, blob, stats, |shard| {
            answer = Some(tell(shard, key, tally, &terms, at, settled));
        });
        match answer.filter(|_| outcome.done) {
            Some(answer) => self.settle(tally, &answer),
            None => tally.hear_nothing(),
        }
    }

    /// The tick's half. What fails stays pending.
    pub(super) fn publish(&mut self, at: &Moment) {
        let all = self.flushed != at.bucket;
        self.flushed = at.bucket;
        let round = (ROUND.0 / self.sizes.interval.0.max(1)).max(1) as usize;
        self.turn = (self.turn + 1) % round;
        let mut from = 0;
        while let Some(slot) = self.dirty.next(from) {
            let shard = slot.index() / self.table.slots_per_range();
            let slots = shard * self.table.slots_per_range()..(shard + 1) * self.table.slots_per_range();
            from = slots.end;
            if all || shard % round == self.turn || self.urgent.within(slots.clone()).next().is_some() {
                self.publish_shard(shard, slots, at);
            }
        }
    }

    fn publish_shard(&mut self, shard: usize, slots: Range<usize>, at: &Moment) {
        let settled = self.settled(at);
        let Surge { store, room, blob, stats, table, dirty, told, settings, .. } = self;
        let outcome = shard::change(store, shard, *room, blob, stats, |shard| {
            told.clear();
            for slot in dirty.within(slots.clone()) {
                let Some(key) = table.key(slot) else { continue };
                let mut tally = table.cell(slot);
                tally.roll(at.bucket);
                let terms = settings.numbered(tally.judge()).map(|judge| settings.terms(&judge));
                let answer = terms.map(|terms| tell(shard, key, &tally, &terms, at, settled));
                told.push(Told { slot, answer });
            }
        });
        if outcome.done {
            self.settle_all(at);
        }
    }

    fn settle_all(&mut self, at: &Moment) {
        let mut all = core::mem::take(&mut self.told);
        for Told { slot, answer } in all.drain(..) {
            let mut tally = self.table.cell(slot);
            self.stats.lost += u64::from(tally.roll(at.bucket));
            let surging = answer.is_some_and(|answer| {
                self.settle(&mut tally, &answer);
                tally.is_surging()
            });
            self.table.put(slot, tally);
            // While a key surges a worker listens at every tick, whether it has something to tell or not.
            self.dirty.set(slot, surging);
            self.urgent.set(slot, surging);
            if answer.is_none() {
                self.table.remove(slot);
            }
        }
        self.told = all;
    }

    fn settle(&mut self, tally: &mut Tally, answer: &Answer) {
        tally.hear(&answer.heard);
        self.stats.full += u64::from(answer.heard.place.is_none());
        self.stats.late += u64::from(answer.folds.late);
        if let Some(surged) = self.stats.surged.get_mut(dimension_of(tally.judge()) as usize) {
            *surged += u64::from(answer.folds.surges);
        }
    }

    /// Has every worker told by now what it counted in the bucket before?
    fn settled(&self, at: &Moment) -> bool {
        at.into >= self.sizes.interval.times(GRACE_TICKS)
    }
}

fn tell(shard: &mut Shard, key: Key, tally: &Tally, terms: &Terms, at: &Moment, settled: bool) -> Answer {
    let mut folds = Folds::default();
    let seat = shard.seat(key, tally.place(), at);
    let mut entry = tally.tell(shard.entry(seat, &terms.span, at), terms, &mut folds);
    if settled {
        entry.close(terms, &mut folds);
    }
    let place = shard.put(seat, key, &entry, at);
    let heard = Heard {
        place,
        elapsed: at.elapsed(),
        count: entry.count,
        surge: entry.surge(terms),
        lasts: entry.lasts(terms),
        threshold: entry.baseline.threshold(terms),
        mean: entry.baseline.mean(terms),
    };
    Answer { heard, folds }
}
