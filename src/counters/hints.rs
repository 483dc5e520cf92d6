//! One byte of each of eight keys in one word, compared all at once: which of a set's slots are worth a look.
//!
//! ```text
//! x = word xor (byte in every place)             a place is zero where the byte is equal
//! ((x & 7f…) + 7f…) | x | 7f…                    its top bit is clear exactly there (no carry crosses a place)
//! ```
//!
//! Exact, without branches, a dozen operations on any machine: the trick is an old one (Mycroft, 1987; here in the
//! form that has no false positives).

use super::table::WAYS;

const EVERY: u64 = u64::from_ne_bytes([1; WAYS]);
const LOW: u64 = EVERY * 0x7f;

/// Eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints(u64);

impl Hints {
    /// No way is free: none holds 0.
    pub const TAKEN: Hints = Hints(u64::MAX);

    /// Where the byte is this one.
    #[inline]
    pub fn equal_to(self, byte: u8) -> Ways {
        let x = self.0 ^ (EVERY * u64::from(byte));
        Ways(!(((x & LOW) + LOW) | x | LOW))
    }

    /// The byte of a way below [`WAYS`].
    pub fn at(self, way: usize) -> u8 {
        (self.0 >> (way % WAYS * 8)) as u8
    }

    /// Replaces the byte of a way below [`WAYS`].
    pub fn set(&mut self, way: usize, byte: u8) {
        let shift = way % WAYS * 8;
        self.0 = self.0 & !(0xff << shift) | u64::from(byte) << shift;
    }
}

/// Some of the ways of a set, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways(u64);

impl Ways {
    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Iterator for Ways {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let way = (self.0 != 0).then_some(self.0.trailing_zeros() as usize / 8);
        self.0 &= self.0.wrapping_sub(1);
        way
    }

    fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_ways_found_are_those_that_hold_the_byte(bytes in any::<[u8; WAYS]>(), byte in any::<u8>(), few in any::<bool>()) {
            // Few different bytes, so that some are equal.
            let bytes = if few { bytes.map(|byte| byte & 0x81) } else { bytes };
            let byte = if few { byte & 0x81 } else { byte };
            let mut hints = Hints::default();
            bytes.iter().enumerate().for_each(|(way, &byte)| hints.set(way, byte));
            let expected: Vec<usize> = (0..WAYS).filter(|&way| bytes[way] == byte).collect();
            prop_assert_eq!(hints.equal_to(byte).count(), expected.len());
            prop_assert_eq!(hints.equal_to(byte).collect::<Vec<_>>(), expected);
            prop_assert!((0..WAYS).all(|way| hints.at(way) == bytes[way]));
        }
    }
}
