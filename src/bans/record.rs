//! What is known of one subject's ban, and how two workers' knowledge becomes one.
//!
//! ```text
//! order   (generation, until, reason): the larger wins          join = max: commutative, associative, idempotent
//! ban     (g, until)        with the g that is known             a longer one wins, a shorter one changes nothing
//! unban   (g + 1, 0)        a tombstone                          beats every ban from before it was seen
//! keep    the largest of all untils and keeps joined             until then an older ban may be alive somewhere
//! ```
//!
//! In the last generation the tombstone is the largest: so also what carries it, which is no ban of ours, can be lifted.
//! That subject can't be banned again until the record goes.

use crate::time::Nanos;
use core::cmp::Ordering;

/// No ban ends later than 31 days from now.
pub const MAX_BAN: Nanos = Nanos::from_secs(31 * 86_400);

/// Who banned a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// A rule with the action `block`.
    #[default]
    Rule = 0,
    /// A tier with the action `block`.
    Tier = 1,
    /// The ledger of charges, which was full.
    Ledger = 2,
    /// The operator, or something that this version does not know.
    Operator = 3,
}

impl Reason {
    /// As events, metrics and answers call it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Rule => "rule",
            Reason::Tier => "tier",
            Reason::Ledger => "ledger",
            Reason::Operator => "operator",
        }
    }

    /// Reads the byte that `self as u8` writes.
    pub fn from_byte(byte: u8) -> Reason {
        match byte {
            0 => Reason::Rule,
            1 => Reason::Tier,
            2 => Reason::Ledger,
            _ => Reason::Operator,
        }
    }
}

/// What is known of one subject. The default is nothing: not banned, never heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Banned until then; 0 in a tombstone.
    pub until: Nanos,
    /// From then on nothing older can be alive, and the record goes. Never before `until`.
    pub keep: Nanos,
    /// How often the subject was unbanned since it was last forgotten.
    pub generation: u32,
    /// Who banned it.
    pub reason: Reason,
}

impl Record {
    /// What both know.
    pub fn join(self, other: Record) -> Record {
        let winner = if self.order(&other) == Ordering::Less { other } else { self };
        Record { keep: self.keep.max(other.keep), ..winner }
    }

    /// A ban is added to what is known, and changes nothing where that is as long.
    pub fn banned(self, until: Nanos, reason: Reason) -> Record {
        if until <= self.until {
            return self;
        }
        self.join(Record { until, keep: until, generation: self.generation, reason })
    }

    /// The ban that is known is lifted.
    pub fn lifted(self) -> Record {
        self.join(Record { until: Nanos::ZERO, generation: self.generation.saturating_add(1), ..self })
    }

    /// Whether it bans at `now`.
    pub fn bans(&self, now: Nanos) -> bool {
        now < self.until
    }

    /// Whether it says something at `now` that must not be forgotten.
    pub fn counts(&self, now: Nanos) -> bool {
        now < self.keep
    }

    fn order(&self, other: &Record) -> Ordering {
        let rank = |record: &Record| (record.generation, record.is_last(), record.until, record.reason);
        rank(self).cmp(&rank(other))
    }

    fn is_last(&self) -> bool {
        self.generation == u32::MAX && self.until == Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few values, so that they meet; among them the last generation.
    pub fn record() -> impl Strategy<Value = Record> {
        let generation = prop_oneof![0u32..3, Just(u32::MAX - 1), Just(u32::MAX)];
        (0u64..4, 0u64..4, generation, 0u8..4).prop_map(|(until, more, generation, reason)| Record {
            until: Nanos(until),
            keep: Nanos(until + more),
            generation,
            reason: Reason::from_byte(reason),
        })
    }

    const RULE: Reason = Reason::Rule;

    #[test]
    fn reasons_survive_their_byte_and_unknown_ones_are_the_operators() {
        for reason in [Reason::Rule, Reason::Tier, Reason::Ledger, Reason::Operator] {
            assert_eq!(Reason::from_byte(reason as u8), reason);
        }
        assert_eq!(Reason::from_byte(77).name(), "operator");
    }

    #[test]
    fn an_unban_lifts_the_ban_it_knows_and_a_ban_after_it_counts() {
        let ban = Record::default().banned(Nanos(9), RULE);
        let unban = ban.lifted();
        assert!(ban.bans(Nanos(8)) && !ban.bans(Nanos(9)) && !ban.join(unban).bans(Nanos(0)));
        let again = unban.banned(Nanos(5), RULE);
        assert!(again.join(ban).join(unban).bans(Nanos(4)));
        assert!(again.counts(Nanos(8)), "the first ban may still be alive somewhere");
    }

    #[test]
    fn a_last_generation_can_be_lifted_but_not_followed() {
        let foreign = Record { until: Nanos(9), keep: Nanos(9), generation: u32::MAX, reason: RULE };
        let lifted = foreign.lifted();
        assert!(!lifted.join(foreign).bans(Nanos(0)));
        assert!(!lifted.banned(Nanos(99), RULE).bans(Nanos(0)));
    }

    proptest! {
        #[test]
        fn joining_is_commutative_associative_and_idempotent(a in record(), b in record(), c in record()) {
            prop_assert_eq!(a.join(b), b.join(a));
            prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            prop_assert_eq!(a.join(a), a);
            prop_assert!(a.join(b).keep >= a.until.max(b.until));
        }

        #[test]
        fn a_ban_never_shortens_another_and_an_unban_always_ends_it(known in record(), until in 1u64..6) {
            let banned = known.banned(Nanos(until), RULE);
            prop_assert!(banned.until >= known.until);
            prop_assert!(banned.until >= Nanos(until) || known.is_last());
            prop_assert_eq!(banned.lifted().until, Nanos::ZERO);
            prop_assert_eq!(banned.lifted().join(banned).until, Nanos::ZERO);
        }
    }
}
