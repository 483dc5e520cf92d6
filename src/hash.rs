//! Keyed hashing. Clients choose what is hashed, so the hash is SipHash-1-3 under a seed that is random per
//! process: nobody outside can aim two subjects at one slot. The function is fixed by its specification, so a
//! new version of the module finds the entries that the old one left in shared data.

use core::hash::Hasher;
use siphasher::sip::SipHasher13;

/// The process's hash seed. Its workers share it through shared data, so one subject has one key everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub [u8; 16]);

impl Seed {
    /// A hasher for one subject or one name.
    pub fn hasher(&self) -> Typed {
        Typed(SipHasher13::new_with_key(&self.0))
    }
}

/// Hashes typed, length-prefixed parts: the sequence of parts can be read back from what is hashed, so no two
/// different sequences (`"ab","c"` and `"a","bc"`, a client and a consumer of equal bytes) ever alias.
///
/// All of it is whole words, since SipHash takes eight bytes at once: an IPv4 address costs two of them.
pub struct Typed(SipHasher13);

impl Typed {
    /// Adds one part of the given type: a word that says type and length, then the bytes, filled up with zeros.
    #[inline]
    pub fn part(&mut self, kind: u16, bytes: &[u8]) -> &mut Self {
        self.number(u64::from(kind) << 48 | bytes.len() as u64);
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.number(word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)));
        }
        match words.remainder() {
            [] => self,
            rest => self.number(rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))),
        }
    }

    /// Adds one number.
    #[inline]
    pub fn number(&mut self, value: u64) -> &mut Self {
        self.0.write_u64(value);
        self
    }

    /// The 64-bit hash.
    #[inline]
    pub fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Whom a counter counts, hashed under the seed and not yet bound to what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectHash(pub u64);

/// What is counted: one rate of one rule, the log claims, a later detector's table … Made once per
/// configuration from seed, epoch and name; never from the rate's numbers, so that a changed rate keeps its balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    salt: u64,
}

impl Family {
    /// Names a family. `epoch` is the process's: raising it forgets everything at once.
    pub fn new(seed: &Seed, epoch: u32, kind: &str, name: &str) -> Family {
        let mut h = seed.hasher();
        h.number(u64::from(epoch)).part(0, kind.as_bytes()).part(1, name.as_bytes());
        Family { salt: h.finish() }
    }

    /// The low bits of each key of this family: by them a removed rule's entries are found.
    pub fn tag(&self) -> u16 {
        (self.salt & Key::TAG_MASK) as u16
    }

    /// The key of one subject in this family.
    pub fn key(&self, subject: SubjectHash) -> Key {
        Key((mix(subject.0 ^ self.salt) & !Key::TAG_MASK) | (self.salt & Key::TAG_MASK))
    }
}

/// A counter's key: 52 bits of subject and family, 12 bits of family tag. The top bits are uniform (they choose
/// the shard and the table set). Two subjects of 200,000 share a key with probability below 5e-6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The bits that hold the family's tag.
    pub const TAG_MASK: u64 = 0xfff;

    /// The tag of the family that this key belongs to.
    pub fn tag(self) -> u16 {
        (self.0 & Self::TAG_MASK) as u16
    }
}

/// A bijection on 64 bits that spreads every input bit over the whole word (the finalizer of SplitMix64:
/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed([7; 16]);

    fn parts(parts: &[(u16, &[u8])]) -> u64 {
        let mut h = SEED.hasher();
        for (kind, bytes) in parts {
            h.part(*kind, bytes);
        }
        h.finish()
    }

    #[test]
    fn composites_do_not_alias() {
        assert_ne!(parts(&[(1, b"ab"), (1, b"c")]), parts(&[(1, b"a"), (1, b"bc")]));
        assert_ne!(parts(&[(1, b"x")]), parts(&[(2, b"x")]));
        assert_ne!(parts(&[(1, b"")]), parts(&[(1, b""), (1, b"")]));
        assert_ne!(parts(&[(1, b"a")]), parts(&[(1, b"a\0")]));
        assert_ne!(parts(&[(1, b"12345678")]), parts(&[(1, b"12345678\0")]));
    }

    #[test]
    fn families_keep_their_keys_apart_and_carry_their_tag() {
        let a = Family::new(&SEED, 0, "requests", "a");
        let b = Family::new(&SEED, 0, "requests", "b");
        let later = Family::new(&SEED, 1, "requests", "a");
        let subject = SubjectHash(42);
        assert_ne!(a.key(subject), b.key(subject));
        assert_ne!(a.key(subject), later.key(subject));
        assert_eq!(a.key(subject).tag(), a.tag());
    }
}
