//! A worker's own view of one key's bucket: what it knows, what it still has to tell the ledger, what it may admit
//! without asking.
//!
//! 48 bytes. The quota is kept as last seen, so that the tick can publish without a request at hand.

use crate::counters::bucket::{Charge, Quota};
use crate::counters::price::{Pace, Price};
use crate::counters::table::Cell;
use crate::time::Nanos;

/// One slot of the worker's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// The bucket as this worker sees it, its own unpublished charges included.
    pub tat: Nanos,
    /// Refuse until then: the ledger said that the bucket is empty.
    pub hold: Nanos,
    /// The allowance is valid until then.
    pub fresh: Nanos,
    /// Events charged and not yet in the ledger.
    pub pend: u32,
    /// Events that may still be admitted without asking.
    pub allow: u32,
    /// The ledger had no place for this key: nobody else knows what it owes.
    pub unrecorded: bool,
    charge: Charge,
    burst: u32,
    interval: Nanos,
}

impl Default for Account {
    fn default() -> Account {
        Account {
            tat: Nanos::ZERO,
            hold: Nanos::ZERO,
            fresh: Nanos::ZERO,
            pend: 0,
            allow: 0,
            unrecorded: false,
            charge: Charge::Admitted,
            burst: 1,
            interval: Nanos(1),
        }
    }
}

impl Account {
    /// A key that gets its slot: its bucket is full at `tat`, as far as is known.
    pub fn newcomer(quota: &Quota, tat: Nanos) -> Account {
        let Quota { interval, burst, charge } = *quota;
        Account { tat, interval, burst, charge, ..Account::default() }
    }

    /// What the key is held against.
    pub fn quota(&self) -> Quota {
        Quota { interval: self.interval, burst: self.burst, charge: self.charge }
    }

    /// How slow the quota is.
    pub fn pace(&self) -> Pace {
        Pace::of(&self.quota())
    }

    fn price(&self, now: Nanos) -> Price {
        Price::of(self.tat - now, self.pace())
    }

    /// Takes on a quota. A changed one keeps the balance (a time debt); what the old one allowed or held is void.
    pub fn adopt(&mut self, quota: &Quota) {
        if self.quota() == *quota {
            return;
        }
        let Quota { interval, burst, charge } = *quota;
        *self = Account { interval, burst, charge, hold: Nanos::ZERO, fresh: Nanos::ZERO, allow: 0, ..*self };
    }

    /// Charges one event, to be published later.
    pub fn charge(&mut self, now: Nanos) {
        self.tat = self.quota().charged(self.tat, now);
        self.pend = self.pend.saturating_add(1);
    }

    /// Charges one event that was refused, if the rule has it so.
    pub fn charge_refused(&mut self, now: Nanos) {
        if self.charge == Charge::Every {
            self.charge(now);
        }
    }

    /// What both sides know, as one bucket: the ledger's with what this worker has yet to add, or the own view if
    /// that is later (charges into a full bucket; a ledger that lost its value). Never earlier than either, but
    /// for the cap on debt.
    pub fn joined(&self, ledger: Nanos, now: Nanos) -> Nanos {
        let quota = self.quota();
        (ledger + quota.interval.times(u64::from(self.pend))).max(self.tat).min(quota.ceiling(now))
    }
}

impl Cell for Account {
    /// Idle ones are free; then by the octave of their price; of one octave, what the ledger remembers before what
    /// only this worker knows. All may go: what they owe goes to the arrears.
    fn stake(&self, now: Nanos) -> Option<u64> {
        if self.tat <= now && self.fresh <= now && self.pend == 0 {
            return Some(0);
        }
        let price = self.price(now);
        let only_here = u64::from(self.pend > 0 || self.unrecorded);
        Some(1 + (u64::from(price.octave()) << 24 | only_here << 23 | u64::from(price.within_octave())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUOTA: Quota = Quota { interval: Nanos(1000), burst: 10, charge: Charge::Admitted };
    const NOW: Nanos = Nanos(1_000_000);

    fn account(tat: u64, pend: u32) -> Account {
        let mut account = Account { tat: Nanos(tat), pend, ..Account::default() };
        account.adopt(&QUOTA);
        account
    }

    #[test]
    fn an_account_fits_its_share_of_memory() {
        assert_eq!(size_of::<Account>(), 48);
    }

    #[test]
    fn who_owes_more_events_is_forgotten_later_and_of_equals_what_only_this_worker_knows() {
        let [five, nine, fifty] = [5_000, 9_000, 50_000].map(|owed| NOW.0 + owed);
        let order = [
            account(NOW.0, 0),
            account(NOW.0, 1),
            account(five, 0),
            account(five, 1),
            account(nine, 0),
            Account { unrecorded: true, ..account(nine, 0) },
            account(fifty, 0),
        ];
        assert_eq!(order[0].stake(NOW), Some(0));
        assert!(order.is_sorted_by(|a, b| a.stake(NOW) < b.stake(NOW)));
    }

    #[test]
    fn a_slow_rule_makes_no_key_dearer() {
        let daily = Quota { interval: Nanos::from_secs(86_400), burst: 1, charge: Charge::Every };
        let one_a_day = Account::newcomer(&daily, NOW + daily.interval);
        assert!(one_a_day.stake(NOW) < account(NOW.0 + 2_000, 0).stake(NOW));
    }

    #[test]
    fn a_changed_quota_keeps_the_balance_and_drops_what_was_promised() {
        let mut before = account(NOW.0 + 5_000, 2);
        (before.allow, before.hold, before.fresh) = (9, Nanos(7), Nanos(8));
        let mut after = before;
        after.adopt(&Quota { burst: 5, ..QUOTA });
        assert_eq!((after.tat, after.pend), (before.tat, before.pend));
        assert_eq!((after.allow, after.hold, after.fresh), (0, Nanos::ZERO, Nanos::ZERO));
    }

    proptest! {
        #[test]
        fn joining_is_never_earlier_than_either_side_unless_capped(ledger in any::<u64>(), own in any::<u64>(), pend in any::<u32>()) {
            let joined = account(own, pend).joined(Nanos(ledger), NOW);
            let cap = QUOTA.ceiling(NOW);
            prop_assert!(joined <= cap);
            prop_assert!(joined >= Nanos(ledger).min(cap) && joined >= Nanos(own).min(cap));
        }

        #[test]
        fn joining_again_changes_nothing(ledger in any::<u64>(), own in any::<u64>(), pend in any::<u32>()) {
            let joined = account(own, pend).joined(Nanos(ledger), NOW);
            prop_assert_eq!(account(joined.0, 0).joined(joined, NOW), joined);
        }

        #[test]
        fn workers_join_to_the_same_ledger_in_either_order(a in 0u64..1 << 40, b in 0u64..1 << 40, ledger in 0u64..1 << 40) {
            let (a, b) = (account(a, 0), account(b, 0));
            let through = |first: &Account, second: &Account| second.joined(first.joined(Nanos(ledger), NOW), NOW);
            prop_assert_eq!(through(&a, &b), through(&b, &a));
        }
    }
}
