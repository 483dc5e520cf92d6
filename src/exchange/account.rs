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
            charge: Charge::Admitted,
            burst: 1,
            interval: Nanos(1),
        }
    }
}

impl Account {
    /// A key that gets its slot: its bucket is full at `tat`, as far as is known and as one may owe.
    pub fn newcomer(quota: &Quota, tat: Nanos, now: Nanos) -> Account {
        let Quota { interval, burst, charge } = *quota;
        Account { tat: tat.min(quota.ceiling(now)), interval, burst, charge, ..Account::default() }
    }

    /// What the key is held against.
    pub fn quota(&self) -> Quota {
        Quota { interval: self.interval, burst: self.burst, charge: self.charge }
    }

    /// How slow the quota is.
    pub fn pace(&self) -> Pace {
        Pace::of(&self.quota())
    }

    /// Takes on a quota. A changed one keeps the balance (a time debt), as far as one may owe under it; what the old one
    /// allowed or held is void.
    pub fn adopt(&mut self, quota: &Quota, now: Nanos) {
        if self.quota() == *quota {
            return;
        }
        let owed = Account::newcomer(quota, self.tat, now);
        *self = Account { pend: self.pend, ..owed };
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
    /// Idle ones are free; then the one goes that was not used for longest, so that whoever comes now has a slot for as
    /// long as it goes on coming; last what the ledger has yet to hear of, by its price, as the others would never
    /// hear of it. All may go: what they owe goes to the arrears.
    fn stake(&self, now: Nanos) -> Option<u64> {
        const UNHEARD: u64 = 1 << 63;
        if self.tat <= now && self.fresh <= now && self.pend == 0 {
            Some(0)
        } else if self.pend <= 1 {
            Some(self.fresh.0.clamp(1, UNHEARD - 1))
        } else {
            Some(UNHEARD | u64::from(Price::of(self.tat - now, self.pace()).rank()))
        }
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
        account.adopt(&QUOTA, NOW);
        account
    }

    #[test]
    fn an_account_fits_its_share_of_memory() {
        assert_eq!(size_of::<Account>(), 48);
    }

    #[test]
    fn who_came_lately_keeps_its_slot_and_what_nobody_else_knows_is_kept_longest() {
        let used = |until: u64, owed: u64, pend: u32| Account {
            fresh: Nanos(NOW.0 + until),
            ..account(NOW.0 + owed, pend)
        };
        let order = [
            used(0, 0, 0),
            used(10, 90_000, 0),
            used(20, 0, 1),
            used(30, 1_000, 0),
            used(9, 2_000, 2),
            used(9, 8_000, 7),
        ];
        assert_eq!(order[0].stake(NOW), Some(0));
        assert!(order.is_sorted_by(|a, b| a.stake(NOW) < b.stake(NOW)));
    }

    #[test]
    fn a_changed_quota_keeps_the_balance_and_drops_what_was_promised() {
        let mut before = account(NOW.0 + 5_000, 2);
        (before.allow, before.hold, before.fresh) = (9, Nanos(7), Nanos(8));
        let mut after = before;
        after.adopt(&Quota { burst: 5, ..QUOTA }, NOW);
        assert_eq!((after.tat, after.pend), (before.tat, before.pend));
        assert_eq!((after.allow, after.hold, after.fresh), (0, Nanos::ZERO, Nanos::ZERO));
    }

    #[test]
    fn nobody_owes_more_under_a_new_quota_than_it_lets_anybody_owe() {
        let daily = Quota { interval: Nanos::from_secs(86_400), burst: 10, charge: Charge::Admitted };
        let mut account = Account::newcomer(&daily, NOW + daily.capacity(), NOW);
        account.adopt(&QUOTA, NOW);
        assert!(QUOTA.wait(account.tat, NOW) <= QUOTA.capacity() + QUOTA.interval);
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
