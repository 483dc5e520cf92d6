//! How much a worker may admit before it asks again, and how long it believes that a bucket is empty.
//!
//! ```text
//! after an exchange    allow = max(level / (4·k), min(level, 2 % of B / k))    k = workers of this key, or all
//! on first sight       allow = B / (4·live), if the own view is at least half full and was not empty when last heard of
//! nothing there        hold  = until a token is there in the own view, and at least 5 ms × workers of this key
//! ```
//!
//! Established workers of a key hold at most a quarter of its level together, newcomers (who divide by all that
//! live) another quarter of B: so what is admitted beyond `B + R·t` is at most `B/2 + 2 %`, for at most one and a
//! half exchanges, and is repaid. A hold lasts at most a quarter of the time in which the bucket fills: no token is
//! lost to it. A worker that is alone is exact, and lends itself half the level.

use super::account::Account;
use super::who::Who;
use crate::hash::{Key, mix};
use crate::time::Nanos;

/// Spacing of a key's polls while it is empty, per worker that uses it: at most 200 exchanges a second for one key,
/// whatever the number of workers. 10 ms made the worst second 2 % wider, 2.5 ms cost a third more exchanges.
const POLL: Nanos = Nanos::from_millis(5);

/// Workers lend out at most one part in so many of the level (and newcomers of the burst). With 2 the flood
/// on a busy key exceeded its burst by 56 % instead of 23 %.
const SHARES: u32 = 4;

/// The workers of the process as one of them sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Team {
    /// Workers that live, at least 1.
    pub live: u32,
    /// Their number has been the same for a while: no more are expected.
    pub settled: bool,
    /// The own place among them.
    pub place: u32,
    /// How long an allowance is valid: one exchange and a half.
    pub valid: Nanos,
}

impl Account {
    /// Grants a first allowance to a key of which nothing was heard lately. Not where the last that was heard is
    /// that the bucket was empty: the own view has refilled since, but a client that went on to hammer at other
    /// workers would get its first requests here for nothing, again and again.
    pub fn open(&mut self, team: &Team, now: Nanos) {
        if now < self.fresh || self.pend > 0 {
            return;
        }
        let (level, burst) = (self.level(now), self.quota().burst);
        self.allow = match team.live {
            _ if self.hold > Nanos::ZERO => 0,
            1 => lone(level),
            live if level >= burst.div_ceil(2) => burst / SHARES.saturating_mul(live),
            _ => 0,
        };
        self.fresh = now + team.valid;
    }

    /// Makes the next request ask the ledger: something that was forgotten here might be owed.
    pub fn doubt(&mut self, team: &Team, now: Nanos) {
        self.fresh = now + team.valid;
    }

    /// Admits one event from the allowance, if there is one.
    pub fn spend(&mut self, now: Nanos) -> bool {
        let within = self.allow > 0 && now < self.fresh && self.quota().admits(self.tat, now);
        if within {
            self.allow -= 1;
            self.charge(now);
        }
        within
    }

    /// Takes over what an exchange brought: nothing is pending, and what is left says what may be spent.
    pub fn settle(&mut self, tat: Nanos, who: Who, team: &Team, key: Key, now: Nanos) {
        (self.tat, self.pend, self.fresh) = (tat, 0, now + team.valid);
        let level = self.level(now);
        self.allow = if level > 0 { self.share(level, who, team) } else { 0 };
        self.hold = if level > 0 { Nanos::ZERO } else { self.hold_until(who, team, key, now) };
    }

    fn level(&self, now: Nanos) -> u32 {
        self.quota().level(self.tat, now)
    }

    fn share(&self, level: u32, who: Who, team: &Team) -> u32 {
        if team.live == 1 {
            return lone(level);
        }
        // While others may join any moment, those that a key was seen at say nothing of where it will be.
        let established = team.settled && who.established(team.place);
        let sharing = if established { workers(who, team) } else { team.live };
        let floor = self.quota().burst / sharing.saturating_mul(50);
        (level / sharing.saturating_mul(SHARES)).max(level.min(floor))
    }

    /// Jitter of ±50 % keeps workers from polling in step.
    fn hold_until(&self, who: Who, team: &Team, key: Key, now: Nanos) -> Nanos {
        let quota = self.quota();
        let token = now + quota.wait(self.tat, now);
        if team.live == 1 {
            return token;
        }
        let jitter = 512 + mix(key.0 ^ now.0) % 1024;
        let poll = Nanos(POLL.times(u64::from(workers(who, team))).0 * jitter / 1024);
        token.max(now + poll.min(Nanos(quota.capacity().0 / 4)))
    }
}

/// What a worker that is alone lends itself. Not all of it: the next worker may join in the middle of a flood, and
/// finds nothing in the ledger of what was not published yet.
fn lone(level: u32) -> u32 {
    level.div_ceil(2)
}

/// Workers of one key, at least 1.
fn workers(who: Who, team: &Team) -> u32 {
    who.workers().clamp(1, team.live.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::bucket::{Charge, Quota};

    const QUOTA: Quota = Quota { interval: Nanos::from_millis(10), burst: 100, charge: Charge::Admitted };
    const NOW: Nanos = Nanos::from_secs(100);

    fn team(live: u32) -> Team {
        Team { live, settled: true, place: 0, valid: Nanos::from_millis(300) }
    }

    fn account(level: u32) -> Account {
        let mut account = Account::default();
        account.adopt(&QUOTA, NOW);
        account.tat = NOW + QUOTA.interval.times(u64::from(100 - level));
        account
    }

    fn settled(level: u32, who: Who, team: &Team) -> Account {
        let mut account = account(level);
        account.settle(account.tat, who, team, Key(1), NOW);
        account
    }

    /// A key used by workers 0 to `count - 1` in the previous epoch and by worker 0 in this.
    fn used_by(count: u32) -> Who {
        let before = NOW - Nanos::from_secs(2);
        (0..count).fold(Who::default(), |who, place| who.touched(place, before)).touched(0, NOW)
    }

    #[test]
    fn established_workers_together_hold_a_quarter_of_the_level() {
        assert_eq!(settled(100, used_by(1), &team(16)).allow, 25);
        assert_eq!(settled(100, used_by(4), &team(16)).allow, 6);
        assert_eq!(settled(40, used_by(4), &team(16)).allow, 2);
    }

    #[test]
    fn newcomers_divide_by_all_that_live() {
        let who = Who::default().touched(0, NOW);
        assert_eq!(settled(100, who, &team(16)).allow, 1);
        let mut first_sight = account(100);
        first_sight.open(&team(4), NOW);
        assert_eq!(first_sight.allow, 6);
        let mut half_empty = account(49);
        half_empty.open(&team(4), NOW);
        assert_eq!(half_empty.allow, 0);
    }

    #[test]
    fn nobody_is_established_among_workers_that_may_become_more() {
        let starting = Team { settled: false, ..team(16) };
        assert_eq!(settled(100, used_by(1), &starting).allow, 1);
    }

    #[test]
    fn who_was_last_heard_of_as_empty_asks_before_anything_is_lent() {
        let mut account = settled(0, used_by(1), &team(4));
        let refilled = NOW + Nanos::from_secs(60);
        account.open(&team(4), refilled);
        assert_eq!(account.allow, 0);
        account.settle(account.tat, used_by(1), &team(4), Key(1), refilled);
        account.open(&team(4), refilled + Nanos::from_secs(1));
        assert_eq!(account.allow, 6);
    }

    #[test]
    fn a_lone_worker_lends_itself_half() {
        assert_eq!(settled(37, used_by(1), &team(1)).allow, 19);
        assert_eq!(settled(1, used_by(1), &team(1)).allow, 1);
        let mut account = account(100);
        account.open(&team(1), NOW);
        assert_eq!(account.allow, 50);
    }

    #[test]
    fn a_lone_worker_holds_until_the_next_token_exactly() {
        let account = settled(0, used_by(1), &team(1));
        assert_eq!(account.hold, NOW + Nanos::from_millis(10));
    }

    #[test]
    fn a_hold_never_outlasts_a_quarter_of_the_bucket() {
        for live in [2, 16, 64] {
            let account = settled(0, used_by(16), &team(live));
            assert!(account.hold >= NOW + Nanos::from_millis(10));
            assert!(account.hold <= NOW + Nanos::from_millis(250));
        }
    }

    #[test]
    fn an_allowance_ends_with_its_time_and_with_the_level() {
        let mut timed = settled(100, used_by(1), &team(4));
        assert!(!timed.spend(NOW + Nanos::from_millis(300)));
        let mut spent = settled(3, used_by(1), &team(1));
        assert_eq!([spent.spend(NOW), spent.spend(NOW), spent.spend(NOW)], [true, true, false]);
        assert_eq!(spent.pend, 2);
    }
}
