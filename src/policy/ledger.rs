//! What callers were charged lately: each enforced refusal by `deny` or `block` adds its score to the subject that was
//! noticed. Who has been charged the limit within a window is banned, and starts anew.
//!
//! The window begins with the first charge. The sums are the process's: one addition in shared data per charge, and
//! there are few, since who is full is banned, and who is banned is not charged. Where a sum can't be had, this charge
//! is lost, and the next one is not.

use crate::exchange::sums::Sums;
use crate::hash::{Family, Seed, SubjectHash};
use crate::score::Score;
use crate::shared::Store;
use crate::time::Nanos;

/// How much is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Scores that add up to a ban …
    pub limit: u32,
    /// … within this time.
    pub window: Nanos,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { limit: 100, window: Nanos::from_secs(3_600) }
    }
}

/// What charges are known by.
#[derive(Clone, Copy, Debug)]
pub struct Ledger(Family);

impl Ledger {
    /// Named under the process's seed and epoch.
    pub fn new(seed: &Seed, epoch: u32) -> Ledger {
        Ledger(Family::new(seed, epoch, "ledger", ""))
    }

    /// Charges a subject. `Some` with all that it was charged when it is full, from where on it starts anew.
    pub fn charge<S: Store>(
        &self,
        settings: &Settings,
        subject: SubjectHash,
        score: Score,
        sums: &mut Sums<S>,
        now: Nanos,
    ) -> Option<u32> {
        let key = self.0.key(subject);
        let charged = sums.charge(key, score.0.into(), settings.limit, now + settings.window, now)?;
        let sum = charged.before.saturating_add(score.0.into());
        if sum < settings.limit {
            return None;
        }
        sums.settle(key, now);
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::mem::MemStore;

    const MINUTE: Nanos = Nanos::from_secs(60);

    fn charge(sums: &mut Sums<MemStore>, who: u64, score: u8, now: Nanos) -> Option<u32> {
        let ledger = Ledger::new(&Seed([1; 16]), 0);
        ledger.charge(&Settings::default(), SubjectHash(who), Score(score), sums, now)
    }

    #[test]
    fn who_reaches_the_limit_within_the_window_is_full_once_and_starts_anew() {
        let mut sums = Sums::new(MemStore::new());
        assert_eq!(charge(&mut sums, 7, 50, MINUTE), None);
        assert_eq!(charge(&mut sums, 8, 99, MINUTE), None, "another subject");
        assert_eq!(charge(&mut sums, 7, 50, MINUTE.times(30)), Some(100));
        assert_eq!(charge(&mut sums, 7, 50, MINUTE.times(31)), None);
    }

    #[test]
    fn charges_are_forgotten_when_their_window_ends() {
        let mut sums = Sums::new(MemStore::new());
        assert_eq!(charge(&mut sums, 7, 90, MINUTE), None);
        assert_eq!(charge(&mut sums, 7, 90, MINUTE.times(62)), None);
        assert_eq!(charge(&mut sums, 7, 90, MINUTE.times(63)), Some(180));
    }

    #[test]
    fn all_workers_charge_one_sum() {
        let store = MemStore::new();
        let mut workers = [Sums::new(store.clone()), Sums::new(store)];
        assert_eq!(charge(&mut workers[0], 7, 60, MINUTE), None);
        assert_eq!(charge(&mut workers[1], 7, 60, MINUTE), Some(120));
    }

    #[test]
    fn a_score_of_nothing_charges_nothing() {
        let mut sums = Sums::new(MemStore::new());
        assert!((0..1_000).all(|_| charge(&mut sums, 7, 0, MINUTE).is_none()));
    }
}
