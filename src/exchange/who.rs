//! Which workers use a key, kept in the key's own ledger entry: a set of 16 bits for the current epoch and one for
//! the epoch before.
//!
//! An epoch is 2³¹ ns, 2.1 s: long enough that a client which bursts once a second stays known, short enough that a
//! key which moved to another worker has that worker to itself within two epochs. Workers whose places differ by
//! 16 share a bit: with more than 16 workers the number is an underestimate.
//! Layout: bits 0–15 seen in this epoch, 16–31 in the previous one, 32–47 the epoch's number.

use crate::time::Nanos;

/// The workers seen with one key. Any 48 bits are a valid value: what makes no sense ages out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who(pub u64);

impl Who {
    /// Bits that it has.
    pub const BITS: u32 = 48;

    /// Adds the worker at `place` in the epoch of `now`.
    pub fn touched(self, place: u32, now: Nanos) -> Who {
        let epoch = (now.0 >> 31) & 0xffff;
        let (current, previous) = match self.epochs_since(now) {
            0 => (self.0 & 0xffff, self.0 >> 16 & 0xffff),
            1 => (0, self.0 & 0xffff),
            _ => (0, 0),
        };
        Who(epoch << 32 | previous << 16 | current | bit(place))
    }

    /// Whether no worker has used the key in this epoch and the one before.
    pub fn idle(self, now: Nanos) -> bool {
        self.epochs_since(now) > 1
    }

    fn epochs_since(self, now: Nanos) -> u64 {
        (now.0 >> 31).wrapping_sub(self.0 >> 32) & 0xffff
    }

    /// How many workers were seen in this epoch and the one before.
    pub fn workers(self) -> u32 {
        ((self.0 | self.0 >> 16) & 0xffff).count_ones()
    }

    /// Whether the worker at `place` was there in the previous epoch: it is established, not a newcomer.
    pub fn established(self, place: u32) -> bool {
        self.0 >> 16 & bit(place) != 0
    }
}

fn bit(place: u32) -> u64 {
    1 << (place % 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: u64 = 1 << 31;

    fn at(epoch: u64) -> Nanos {
        Nanos(epoch * EPOCH + 5)
    }

    #[test]
    fn a_worker_is_a_newcomer_until_the_epoch_turns() {
        let who = Who::default().touched(3, at(7));
        assert!(!who.established(3));
        let who = who.touched(3, at(8));
        assert!(who.established(3));
        assert_eq!(who.workers(), 1);
    }

    #[test]
    fn workers_of_two_epochs_count_and_older_ones_do_not() {
        let who = Who::default().touched(0, at(1)).touched(1, at(1)).touched(2, at(2));
        assert_eq!(who.workers(), 3);
        assert_eq!(who.touched(2, at(3)).workers(), 1);
        assert_eq!(who.touched(4, at(9)).workers(), 1);
        assert_eq!([who.idle(at(2)), who.idle(at(3)), who.idle(at(4))], [false, false, true]);
    }

    #[test]
    fn epochs_follow_each_other_across_the_wrap_of_their_number() {
        let who = Who::default().touched(1, at(0xffff)).touched(1, at(0x1_0000));
        assert!(who.established(1));
    }

    #[test]
    fn nonsense_ages_out() {
        assert_eq!(Who(u64::MAX).touched(0, at(9)), Who(9 << 32 | 1));
    }
}
