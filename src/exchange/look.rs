//! Is a key over its limit? Asked without charging anything: by rules that also count something else.
//!
//! The own view says so as long as an allowance would be valid, then the ledger is read once. So what other workers
//! charged is known here one and a half exchanges later at the latest, at one read per key in that time.

use super::Exchange;
use super::account::Account;
use super::allowance::Team;
use super::ledger;
use crate::counters::bucket::{Quota, Verdict};
use crate::hash::Key;
use crate::shared::Store;
use crate::time::Nanos;

impl<S: Store> Exchange<S> {
    pub(super) fn peek(&mut self, key: Key, quota: &Quota, now: Nanos) -> Verdict {
        let team = self.team(now);
        let is_new = self.table.find(key).is_none();
        let Some(slot) = self.slot(key, quota, &team, now) else { return Verdict::Untracked };
        let mut account = self.table.cell(slot);
        account.adopt(quota, now);
        if team.live > 1 && account.pend == 0 && (is_new || now >= account.fresh) {
            self.hear_of(key, &mut account, &team, now);
        }
        self.table.put(slot, account);
        match quota.wait(account.tat, now) {
            Nanos::ZERO => Verdict::Admit,
            wait => Verdict::Refuse { wait },
        }
    }

    /// Takes over what the ledger knows of a key, and lends nothing. With the budget spent the own view stays.
    fn hear_of(&mut self, key: Key, account: &mut Account, team: &Team, now: Nanos) {
        if !self.budget.take(self.room, false, now) {
            return;
        }
        self.stats.syncs += 1;
        let shard = self.table.range(key);
        let mut known = None;
        let Exchange { store, room, blob, stats, .. } = self;
        let outcome = ledger::change(store, shard, *room, blob, stats, |shard| {
            known = Some(shard.entry(shard.seat(key, now)).tat);
        });
        let Some(tat) = known.filter(|_| outcome.done) else { return };
        self.heard(shard, now);
        account.tat = account.joined(tat, now);
        (account.allow, account.fresh) = (0, now + team.valid);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exchange, Gauges, Own, Settings};
    use crate::counters::bucket::{Charge, Meter, Quota, Verdict};
    use crate::hash::{Family, SubjectHash};
    use crate::shared::mem::MemStore;
    use crate::time::Nanos;

    const QUOTA: Quota = Quota { interval: Nanos::from_secs(1), burst: 2, charge: Charge::Every };
    const SETTINGS: Settings =
        Settings { slots: 4096, sketch_buckets: 512, interval: Nanos::from_millis(200) };

    fn workers(count: u64) -> (MemStore, Vec<Exchange<MemStore>>) {
        let store = MemStore::new();
        let own = |nonce| Own { seed: [1; 16], nonce };
        let join = |nonce| Exchange::new(store.clone(), SETTINGS, own(nonce), Nanos::from_secs(10));
        let mut workers: Vec<_> = (1..=count).map(join).collect();
        for worker in &mut workers {
            worker.tick(Nanos::from_secs(10), Gauges::default());
        }
        (store, workers)
    }

    fn key(worker: &Exchange<MemStore>) -> crate::hash::Key {
        let (seed, epoch) = worker.seed();
        Family::new(&seed, epoch, "h2_errors", "r").key(SubjectHash(7))
    }

    #[test]
    fn to_look_charges_nothing() {
        let (_, mut workers) = workers(2);
        let key = key(&workers[0]);
        let now = Nanos::from_secs(20);
        for _ in 0..100 {
            assert_eq!(workers[0].look(key, &QUOTA, now), Verdict::Admit);
        }
        let charged = |_| workers[0].charge(key, &QUOTA, now);
        assert_eq!((0..3).map(charged).filter(|verdict| *verdict == Verdict::Admit).count(), 2);
    }

    #[test]
    fn what_another_worker_charged_is_seen_within_an_exchange_and_a_half_and_over_when_it_is_repaid() {
        let (_, mut workers) = workers(2);
        let key = key(&workers[0]);
        let mut now = Nanos::from_secs(20);
        assert_eq!(workers[1].look(key, &QUOTA, now), Verdict::Admit);
        for _ in 0..3 {
            workers[0].charge(key, &QUOTA, now);
        }
        workers[0].tick(now, Gauges::default());
        now = now + Nanos::from_millis(300);
        let Verdict::Refuse { wait } = workers[1].look(key, &QUOTA, now) else { panic!("not seen") };
        assert_eq!(workers[1].look(key, &QUOTA, now + wait), Verdict::Admit);
    }

    #[test]
    fn a_key_costs_one_read_in_that_time() {
        let (store, mut workers) = workers(2);
        let key = key(&workers[0]);
        let before = store.calls().gets;
        for ms in 0..300 {
            workers[0].look(key, &QUOTA, Nanos::from_secs(20) + Nanos::from_millis(ms));
        }
        assert_eq!(store.calls().gets - before, 1);
    }
}
