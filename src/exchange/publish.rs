//! The tick: everything that was admitted from allowances goes into the ledger, and what the others added comes
//! back, in the same read-modify-write.
//!
//! One read and one write per shard that has something pending, in shard order: at most 512 of each, 25–70 ns per
//! key (3 MiB each way at the very most). A late tick costs no accuracy near a limit: hot keys ask by themselves.

use super::Exchange;
use super::allowance::Team;
use super::ledger::{Entry, Shard};
use super::names::ShardName;
use super::who::Who;
use crate::counters::table::Slot;
use crate::shared::{Store, update};
use crate::time::Nanos;

/// One slot's share in a publication, to be settled when the write has succeeded.
#[derive(Clone, Copy)]
pub struct Joined {
    slot: Slot,
    tat: Nanos,
    who: Who,
    recorded: bool,
}

impl<S: Store> Exchange<S> {
    /// Publishes what is pending in every shard. What fails stays pending.
    pub(super) fn publish(&mut self, now: Nanos) {
        let team = self.team(now);
        let mut from = 0;
        while let Some(slot) = self.dirty.next(from) {
            let shard = slot.index() / self.table.slots_per_range();
            let end = (shard + 1) * self.table.slots_per_range();
            self.publish_shard(shard, slot.index()..end, &team, now);
            from = end;
        }
    }

    fn publish_shard(&mut self, shard: usize, slots: core::ops::Range<usize>, team: &Team, now: Nanos) {
        let outcome = update(&mut self.store, ShardName::new(shard).as_str(), &mut self.blob, |bytes| {
            let mut open = Shard::open(bytes, self.room);
            self.stats.opened(&open);
            self.joined.clear();
            let mut from = slots.start;
            while let Some(slot) = self.dirty.next(from).filter(|slot| slot.index() < slots.end) {
                from = slot.index() + 1;
                let Some(key) = self.table.key(slot) else { continue };
                let account = self.table.cell(slot);
                let seat = open.seat(key);
                let entry = open.entry(seat);
                let tat = account.joined(entry.tat, now);
                let who = entry.who.touched(team.place, now);
                // A bucket that is full again says nothing and needn't be written.
                let recorded = tat <= now || open.put(seat, key, Entry { tat, who }, now);
                self.joined.push(Joined { slot, tat, who, recorded });
            }
            open.changed()
        });
        self.stats.count(outcome);
        if outcome.done {
            self.heard(shard);
            self.settle_all(team, now);
        }
    }

    fn settle_all(&mut self, team: &Team, now: Nanos) {
        for joined in self.joined.drain(..) {
            let Some(key) = self.table.key(joined.slot) else { continue };
            let mut account = self.table.cell(joined.slot);
            account.unrecorded = !joined.recorded;
            account.settle(joined.tat, joined.who, team, key, now);
            self.stats.full += u64::from(!joined.recorded);
            self.table.put(joined.slot, account);
            self.dirty.set(joined.slot, false);
        }
    }
}
