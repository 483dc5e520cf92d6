//! The fixed set of shared-data keys. `2` is the version of the layout: another layout has other keys. All stay
//! under 16 characters, so that the host looks them up without allocating.

use core::str::from_utf8;

/// Holds seed and epoch.
pub const META: &str = "weir/2/meta";

/// Holds the leases of the workers.
pub const ROSTER: &str = "weir/2/roster";

/// Shards of the ledger: `weir/2/l/000` to `weir/2/l/1ff`.
pub const SHARDS: u32 = 512;

/// The key of one shard of the ledger, on the stack.
pub struct ShardName([u8; 12]);

impl ShardName {
    /// Names a shard below [`SHARDS`].
    pub fn new(shard: usize) -> ShardName {
        let digit =
            |shift: u32| char::from_digit((shard >> shift) as u32 & 0xf, 16).map_or(b'0', |c| c as u8);
        let [w, e, i, r, s, v, t, l, u] = *b"weir/2/l/";
        ShardName([w, e, i, r, s, v, t, l, u, digit(8), digit(4), digit(0)])
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
    fn shards_are_named_in_three_hex_digits() {
        assert_eq!(ShardName::new(0).as_str(), "weir/2/l/000");
        assert_eq!(ShardName::new(0x1af).as_str(), "weir/2/l/1af");
    }
}
