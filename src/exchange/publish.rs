//! The tick: everything that was admitted from allowances goes into the ledger, and what the others added comes
//! back, in the same read-modify-write.
//!
//! One read and one write per shard that has something pending, in shard order: at most 512 of each, and for each key
//! a look through its shard: some 50 to 150 ns with 128 entries, 1 µs with 1,792 (700,000 slots), and up to four times
//! as much where the shard is full. Not more than 8,192 keys wait for it. A late tick costs no accuracy near a limit: hot
//! keys ask by themselves.

use super::Exchange;
use super::account::Account;
use super::allowance::Team;
use super::ledger::{self, Entry, Shard};
use super::who::Who;
use crate::counters::marks::Marks;
use crate::counters::table::{Slot, Table};
use crate::hash::Key;
use crate::shared::Store;
use crate::time::Nanos;
use core::ops::Range;

/// One slot's share in a publication, to be settled when the write has succeeded.
#[derive(Clone, Copy)]
pub struct Joined {
    slot: Slot,
    tat: Nanos,
    who: Who,
    recorded: bool,
}

impl<S: Store> Exchange<S> {
    /// Keys with something pending, after which it is published before the next tick: so that no tick takes long, and that
    /// nothing is evicted that the ledger has not heard of. Slots go by use, so a key keeps its own while fewer others
    /// come than there are slots, and a quarter of that is heard of before.
    pub(super) fn most_unheard(&self) -> u32 {
        (self.table.slots() / 4).min(8_192) as u32
    }

    /// Publishes what is pending in every shard. What fails stays pending.
    pub(super) fn publish(&mut self, now: Nanos) {
        self.unheard = 0;
        let team = self.team(now);
        let mut from = 0;
        while let Some(slot) = self.dirty.next(from) {
            let shard = slot.index() / self.table.slots_per_range();
            let end = (shard + 1) * self.table.slots_per_range();
            self.publish_shard(shard, slot.index()..end, &team, now);
            from = end;
        }
    }

    fn publish_shard(&mut self, shard: usize, slots: Range<usize>, team: &Team, now: Nanos) {
        let Exchange { store, room, blob, stats, table, dirty, joined, .. } = self;
        let outcome = ledger::change(store, shard, *room, blob, stats, |shard| {
            joined.clear();
            for (slot, key) in pending(table, dirty, slots.clone()) {
                joined.push(join(shard, slot, key, &table.cell(slot), team, now));
            }
        });
        if outcome.done {
            self.heard(shard, now);
            self.settle_all(team, now);
        }
    }

    fn settle_all(&mut self, team: &Team, now: Nanos) {
        for joined in self.joined.drain(..) {
            let Some(key) = self.table.key(joined.slot) else { continue };
            let mut account = self.table.cell(joined.slot);
            account.settle(joined.tat, joined.who, team, key, now);
            self.stats.full += u64::from(!joined.recorded);
            self.table.put(joined.slot, account);
            self.dirty.set(joined.slot, false);
        }
    }
}

/// The slots of a range that have something pending.
fn pending<'a>(
    table: &'a Table<Account>,
    dirty: &'a Marks,
    slots: Range<usize>,
) -> impl Iterator<Item = (Slot, Key)> + 'a {
    let first = dirty.next(slots.start);
    let marked = core::iter::successors(first, |slot| dirty.next(slot.index() + 1));
    marked.take_while(move |slot| slot.index() < slots.end).filter_map(|slot| Some((slot, table.key(slot)?)))
}

/// Adds to the shard what one slot has pending. A bucket that is full again says nothing and needn't be written.
fn join(shard: &mut Shard, slot: Slot, key: Key, account: &Account, team: &Team, now: Nanos) -> Joined {
    let seat = shard.seat(key, now);
    let entry = shard.entry(seat);
    let tat = account.joined(entry.tat, now);
    let who = entry.who.touched(team.place, now);
    let recorded = tat <= now || shard.put(seat, key, Entry { tat, who, pace: account.pace() }, now);
    Joined { slot, tat, who, recorded }
}
