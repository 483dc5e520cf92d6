//! What a caller in a throttling tier may still do: so many requests in each window of the clock, per subject and over
//! all workers. The window begins at multiples of its length, so it is the same for all and needs no memory between two.
//!
//! One addition in shared data per request that passes; who has spent its window is refused from memory. Where the sum of
//! the process can't be had (a crowd of callers spends the budget, or the store is out of reach), the worker's own count
//! decides: a [`Sketch`] of 256 KiB, whose counts halve with each window, so that a caller has between half its quota and
//! all of it.

use super::action::Mode;
use super::ruling::Limit;
use crate::counters::sketch::Sketch;
use crate::exchange::sums::Sums;
use crate::hash::{Family, Seed, SubjectHash};
use crate::shared::Store;
use crate::time::Nanos;

/// The quota of all tiers that throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Requests that pass in each window.
    pub quota: u32,
    /// The window.
    pub window: Nanos,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { quota: 20, window: Nanos::from_secs(10) }
    }
}

/// Lines of the sketch: 32,768 callers.
const LINES: u32 = 4_096;

/// One worker's part in the quotas.
pub struct Quotas {
    /// What they are known by: those that observe count apart.
    observed: Family,
    enforced: Family,
    /// What is counted where the process's sum can't be had.
    alone: Sketch,
    window: Nanos,
}

impl Quotas {
    /// Bytes that [`Quotas::new`] allocates.
    pub fn memory_bytes() -> u64 {
        Sketch::memory_bytes(LINES)
    }

    /// Named under the process's seed and epoch. Where filters differ in their windows, `window` is the own count's.
    pub fn new(seed: &Seed, epoch: u32, window: Nanos) -> Quotas {
        let family = |mode: Mode| Family::new(seed, epoch, "quota", mode.name());
        Quotas {
            observed: family(Mode::Observe),
            enforced: family(Mode::Enforce),
            alone: Sketch::new(LINES, window),
            window,
        }
    }

    /// Takes one request of the window's, or says by which limit there is none left.
    pub fn take<S: Store>(
        &mut self,
        settings: &Settings,
        mode: Mode,
        subject: SubjectHash,
        sums: &mut Sums<S>,
        now: Nanos,
    ) -> Result<(), Limit> {
        let family = if mode == Mode::Enforce { self.enforced } else { self.observed };
        let end = window_end(settings.window, now);
        let key = family.key(subject);
        let left = match sums.charge(key, 1, settings.quota, end, now) {
            Some(charged) => charged.before < settings.quota,
            None => self.alone.observe(key, now).estimate <= settings.quota,
        };
        let limit = Limit { requests: settings.quota, window: settings.window, wait: end - now };
        if left { Ok(()) } else { Err(limit) }
    }

    /// The window of the own count.
    pub fn window(&self) -> Nanos {
        self.window
    }
}

/// When the window that `now` is in ends.
fn window_end(window: Nanos, now: Nanos) -> Nanos {
    let length = window.0.max(1);
    Nanos(now.0 / length * length) + Nanos(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::mem::{Faults, MemStore};

    const SECOND: Nanos = Nanos::from_secs(1);

    fn take(sums: &mut Sums<MemStore>, mode: Mode, who: u64, now: Nanos) -> Result<(), Limit> {
        let settings = Settings { quota: 3, window: Nanos::from_secs(10) };
        let mut quotas = Quotas::new(&Seed([1; 16]), 0, settings.window);
        quotas.take(&settings, mode, SubjectHash(who), sums, now)
    }

    #[test]
    fn a_window_has_its_quota_wherever_in_it_the_requests_are_and_the_next_has_it_again() {
        let store = MemStore::new();
        let mut workers = [Sums::new(store.clone()), Sums::new(store)];
        let mut passed = |second: u64| {
            let now = SECOND.times(second);
            (0..6).filter(|i| take(&mut workers[i % 2], Mode::Enforce, 7, now).is_ok()).count()
        };
        assert_eq!([passed(1_009), passed(1_010), passed(1_019), passed(1_020)], [3, 3, 0, 3]);
    }

    #[test]
    fn who_is_refused_hears_when_the_window_ends() {
        let mut sums = Sums::new(MemStore::new());
        let now = SECOND.times(1_004);
        (0..3).for_each(|_| assert!(take(&mut sums, Mode::Enforce, 7, now).is_ok()));
        let limit = take(&mut sums, Mode::Enforce, 7, now).unwrap_err();
        assert_eq!((limit.requests, limit.window, limit.wait), (3, SECOND.times(10), SECOND.times(6)));
        assert!(take(&mut sums, Mode::Enforce, 8, now).is_ok(), "another subject");
        assert!(take(&mut sums, Mode::Observe, 7, now).is_ok(), "what observes counts apart");
    }

    #[test]
    fn where_the_sum_cannot_be_had_the_own_count_decides_for_each_caller() {
        let store = MemStore::new();
        store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
        let settings = Settings { quota: 20, window: Nanos::from_secs(10) };
        let (mut sums, mut quotas) = (Sums::new(store), Quotas::new(&Seed([1; 16]), 0, settings.window));
        let mut passed = [0; 2];
        for request in 0..500 {
            let (who, now) = (usize::from(request % 100 == 0), SECOND.times(1_000) + Nanos(request));
            let taken = quotas.take(&settings, Mode::Enforce, SubjectHash(who as u64), &mut sums, now);
            passed[who] += u32::from(taken.is_ok());
        }
        assert_eq!(passed, [20, 5], "the busy one, and the quiet one");
    }

    #[test]
    fn a_window_at_the_end_of_all_time_still_ends() {
        assert_eq!(window_end(SECOND, Nanos::MAX), Nanos::MAX);
        assert_eq!(window_end(Nanos::ZERO, SECOND), SECOND + Nanos(1));
    }
}
