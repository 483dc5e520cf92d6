//! The fixed set of shared-data keys, and of queues. `2` is the version of the layout: another layout has other keys. All stay
//! under 16 characters, so that the host looks them up without allocating.

use crate::hash::Key;
use core::str::from_utf8;

/// Holds seed and epoch.
pub const META: &str = "weir/2/meta";

/// Holds the leases of the workers.
pub const ROSTER: &str = "weir/2/roster";

/// Holds the versions of the shards of bans.
pub const BAN_VERSIONS: &str = "weir/2/bv";

/// Begins the names of the queues through which workers hear each other: one per place in the roster, `weir/2/q/00` to
/// `weir/2/q/3f`.
pub const QUEUE: &str = "weir/2/q/";

/// What is spread over shards, each a value of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharded {
    /// The ledger of buckets: `weir/2/l/000` to `weir/2/l/1ff`.
    Ledger,
    /// Bans: `weir/2/b/000` to `weir/2/b/03f`.
    Bans,
    /// Sums over windows of time: `weir/2/s/000` to `weir/2/s/03f`.
    Sums,
    /// Baselines of traffic: `weir/2/t/000` to `weir/2/t/0ff`.
    Traffic,
    /// Counts of callers on paths: `weir/2/v/000` to `weir/2/v/0ff`.
    Volume,
    /// Counts of credentials: `weir/2/w/000` to `weir/2/w/0ff`.
    Wallet,
    /// Counts of failures: `weir/2/f/000` to `weir/2/f/0ff`.
    Loops,
}

impl Sharded {
    /// How many shards there are.
    pub const fn shards(self) -> u32 {
        match self {
            Sharded::Ledger => 512,
            Sharded::Bans | Sharded::Sums => 64,
            Sharded::Traffic | Sharded::Volume | Sharded::Wallet | Sharded::Loops => 256,
        }
    }

    /// The shard of a key, by its top bits: the range that a table of as many ranges has for it.
    pub fn of(self, key: Key) -> usize {
        (((key.0 >> 32) * u64::from(self.shards())) >> 32) as usize
    }

    const fn letter(self) -> u8 {
        match self {
            Sharded::Ledger => b'l',
            Sharded::Bans => b'b',
            Sharded::Sums => b's',
            Sharded::Traffic => b't',
            Sharded::Volume => b'v',
            Sharded::Wallet => b'w',
            Sharded::Loops => b'f',
        }
    }
}

/// The key of one shard, on the stack.
pub struct ShardName([u8; 12]);

impl ShardName {
    /// Names a shard below [`Sharded::shards`].
    pub fn new(of: Sharded, shard: usize) -> ShardName {
        let digit =
            |shift: u32| char::from_digit((shard >> shift) as u32 & 0xf, 16).map_or(b'0', |c| c as u8);
        let [w, e, i, r, s, v, t] = *b"weir/2/";
        ShardName([w, e, i, r, s, v, t, of.letter(), b'/', digit(8), digit(4), digit(0)])
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_shard_of_each_kind() {
        for of in [Sharded::Ledger, Sharded::Bans, Sharded::Sums, Sharded::Traffic, Sharded::Volume] {
            let last = of.shards() as usize - 1;
            assert_eq!([0, u64::MAX / 2 + 1, u64::MAX].map(|key| of.of(Key(key))), [0, last / 2 + 1, last]);
        }
    }

    #[test]
    fn shards_are_named_in_three_hex_digits() {
        assert_eq!(ShardName::new(Sharded::Ledger, 0).as_str(), "weir/2/l/000");
        assert_eq!(ShardName::new(Sharded::Ledger, 0x1af).as_str(), "weir/2/l/1af");
        assert_eq!(ShardName::new(Sharded::Bans, 0x3f).as_str(), "weir/2/b/03f");
    }
}
