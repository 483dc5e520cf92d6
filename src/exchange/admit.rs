//! One request: from the allowance, by the hold, or on the ledger's word.
//!
//! The common case (a client below its limit) finds its slot and spends from its allowance: no shared call. A
//! refusal needs the ledger to have said "empty" at most a hold ago. Only with the exchange budget spent, or the
//! store out of reach, the own view decides.

use super::Exchange;
use super::account::Account;
use super::allowance::Team;
use super::ledger::{self, Entry, Shard};
use super::who::Who;
use crate::counters::bucket::{Meter, Quota, Verdict};
use crate::counters::table::Slot;
use crate::hash::Key;
use crate::shared::Store;
use crate::time::Nanos;

/// What the ledger answered to one request.
struct Answer {
    admitted: bool,
    tat: Nanos,
    who: Who,
    recorded: bool,
}

impl<S: Store> Meter for Exchange<S> {
    fn charge(&mut self, key: Key, quota: &Quota, now: Nanos) -> Verdict {
        let team = self.team(now);
        let Some(slot) = self.slot(key, quota, &team, now) else { return Verdict::Untracked };
        let mut account = self.table.cell(slot);
        account.adopt(quota, now);
        let heard = account.pend == 0;
        let verdict = self.decide(key, &mut account, &team, now);
        self.table.put(slot, account);
        self.dirty.set(slot, account.pend > 0);
        self.unheard += u32::from(heard && account.pend > 0);
        if self.unheard >= self.most_unheard() {
            self.publish(now);
        }
        verdict
    }

    fn look(&mut self, key: Key, quota: &Quota, now: Nanos) -> Verdict {
        self.peek(key, quota, now)
    }
}

impl<S: Store> Exchange<S> {
    fn decide(&mut self, key: Key, account: &mut Account, team: &Team, now: Nanos) -> Verdict {
        if now < account.hold {
            return held(account, now);
        }
        account.open(team, now);
        if account.spend(now) {
            return Verdict::Admit;
        }
        match self.ask(key, account, team, now) {
            Some(true) => Verdict::Admit,
            Some(false) => refusal(account, now),
            None => self.alone(account, now),
        }
    }

    /// The key's slot. One that lost it comes back with what it owed. It must ask the ledger first if there are
    /// others whom it may owe more by now, and so must a newcomer where something was forgotten that it might owe.
    pub(super) fn slot(&mut self, key: Key, quota: &Quota, team: &Team, now: Nanos) -> Option<Slot> {
        if let Some(slot) = self.table.find(key) {
            return Some(slot);
        }
        let placed = self.table.insert(key, u64::MAX, now).ok()?;
        let owed = self.arrears.take(key, now);
        if let Some((other, evicted)) = placed.evicted {
            self.stats.pending_lost += u64::from(evicted.pend);
            self.remember(other, &evicted, now);
        }
        let mut account = Account::newcomer(quota, owed.unwrap_or_default(), now);
        let doubt = self.doubt.get(self.table.range(key)).is_some_and(|until| now < *until);
        if doubt || (owed.is_some() && team.live > 1) {
            account.doubt(team, now);
        }
        self.table.put(placed.slot, account);
        Some(placed.slot)
    }

    /// Adds to the ledger what is pending and this event, and hears what is left: one read and one write. `None`
    /// if the budget is spent or the ledger out of reach.
    fn ask(&mut self, key: Key, account: &mut Account, team: &Team, now: Nanos) -> Option<bool> {
        let refused_lately = account.hold > Nanos::ZERO;
        if !self.budget.take(self.room, refused_lately, now) {
            return None;
        }
        self.stats.syncs += 1;
        let shard = self.table.range(key);
        let mut answer = None;
        let Exchange { store, room, blob, stats, .. } = self;
        let outcome = ledger::change(store, shard, *room, blob, stats, |shard| {
            answer = Some(add(shard, key, account, team, now));
        });
        let answer = answer.filter(|_| outcome.done)?;
        self.heard(shard, now);
        self.stats.full += u64::from(!answer.recorded);
        account.settle(answer.tat, answer.who, team, key, now);
        Some(answer.admitted)
    }

    /// The own view decides, and is published at the next tick.
    fn alone(&mut self, account: &mut Account, now: Nanos) -> Verdict {
        self.stats.unsynced += 1;
        if account.quota().admits(account.tat, now) {
            account.charge(now);
            return Verdict::Admit;
        }
        account.charge_refused(now);
        refusal(account, now)
    }
}

/// Charges one event to the shard's entry of `key`, joined with what the worker knows.
fn add(shard: &mut Shard, key: Key, account: &Account, team: &Team, now: Nanos) -> Answer {
    let seat = shard.seat(key, now);
    let entry = shard.entry(seat);
    let before = account.joined(entry.tat, now);
    let admitted = account.quota().admits(before, now);
    let tat = account.quota().after(before, admitted, now);
    let who = entry.who.touched(team.place, now);
    let recorded = shard.put(seat, key, Entry { tat, who, pace: account.pace() }, now);
    Answer { admitted, tat, who, recorded }
}

/// Refused from memory. Where refused events are charged too, each moves the next token further away.
fn held(account: &mut Account, now: Nanos) -> Verdict {
    account.charge_refused(now);
    account.hold = account.hold.max(now + account.quota().wait(account.tat, now));
    refusal(account, now)
}

/// The wait is that of the own view, whatever the hold: zero where a token is expected already and the ledger was
/// asked less than a hold ago.
fn refusal(account: &Account, now: Nanos) -> Verdict {
    Verdict::Refuse { wait: account.quota().wait(account.tat, now) }
}
