//! Which shards changed? One value with a u32 per shard, raised after each change of it: a worker reads one value of 256
//! bytes instead of 64 shards.
//!
//! The versions only say where to look: one that is lost, or stood at the same number by chance, costs time until the
//! shard's turn comes. A value of any other length is all zeros.

use crate::shared::bytes::u32_at;
use crate::shared::names::{BAN_VERSIONS, Sharded};
use crate::shared::{Store, Update, update};

const SHARDS: usize = Sharded::Bans.shards() as usize;

/// Bytes of the value.
pub const BYTES: usize = SHARDS * size_of::<u32>();

/// The versions that a worker has seen.
pub struct Versions {
    seen: [u32; SHARDS],
}

impl Default for Versions {
    /// None seen: all are 0, as those of shards that nobody changed.
    fn default() -> Versions {
        Versions { seen: [0; SHARDS] }
    }
}

impl Versions {
    /// Reads the versions and gives the shards, of those in `of`, whose version is not the one seen before.
    pub fn changed(&mut self, store: &mut impl Store, blob: &mut Vec<u8>, of: u64) -> u64 {
        store.get(BAN_VERSIONS, blob);
        normalise(blob);
        let mut changed = 0;
        for shard in shards(of) {
            let version = u32_at(blob, shard * size_of::<u32>());
            if let Some(seen) = self.seen.get_mut(shard).filter(|seen| **seen != version) {
                *seen = version;
                changed |= 1 << shard;
            }
        }
        changed
    }

    /// Raises the versions of shards that this worker has changed. Those that nobody else has raised since count as seen.
    pub fn raise(&mut self, store: &mut impl Store, blob: &mut Vec<u8>, of: u64) -> Update {
        let mut before = [0; SHARDS];
        let outcome = update(store, BAN_VERSIONS, blob, |bytes| {
            normalise(bytes);
            let words = bytes.chunks_exact_mut(size_of::<u32>()).zip(&mut before);
            for (_, (word, before)) in words.enumerate().filter(|(shard, _)| of >> shard & 1 == 1) {
                *before = u32_at(word, 0);
                word.copy_from_slice(&before.wrapping_add(1).to_le_bytes());
            }
            true
        });
        for shard in shards(if outcome.done { of } else { 0 }) {
            if let (Some(seen), Some(before)) = (self.seen.get_mut(shard), before.get(shard)) {
                *seen = if seen == before { before.wrapping_add(1) } else { *seen };
            }
        }
        outcome
    }
}

fn normalise(value: &mut Vec<u8>) {
    if value.len() != BYTES {
        value.clear();
        value.resize(BYTES, 0);
    }
}

/// The numbers of the bits that are set.
pub fn shards(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let shard = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (shard < SHARDS).then_some(shard)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::mem::{Faults, MemStore};

    const ALL: u64 = u64::MAX;

    fn changed(versions: &mut Versions, store: &mut MemStore, of: u64) -> u64 {
        versions.changed(store, &mut Vec::new(), of)
    }

    fn raise(versions: &mut Versions, store: &mut MemStore, of: u64) -> bool {
        versions.raise(store, &mut Vec::new(), of).done
    }

    #[test]
    fn a_change_is_seen_once_by_all_others_and_not_by_who_made_it() {
        let mut store = MemStore::new();
        let [mut one, mut other] = [Versions::default(), Versions::default()];
        assert!(raise(&mut one, &mut store, 1 | 1 << 63));
        assert_eq!(changed(&mut one, &mut store, ALL), 0);
        assert_eq!(changed(&mut other, &mut store, 1), 1);
        assert_eq!(changed(&mut other, &mut store, ALL), 1 << 63);
        assert_eq!(changed(&mut other, &mut store, ALL), 0);
    }

    #[test]
    fn who_changes_a_shard_after_another_still_hears_of_the_others_change() {
        let mut store = MemStore::new();
        let [mut one, mut other] = [Versions::default(), Versions::default()];
        raise(&mut one, &mut store, 2);
        raise(&mut other, &mut store, 2);
        assert_eq!(changed(&mut other, &mut store, ALL), 2);
        assert_eq!(changed(&mut one, &mut store, ALL), 2);
    }

    #[test]
    fn lost_and_foreign_versions_are_zeros() {
        let mut store = MemStore::new();
        let [mut one, mut other] = [Versions::default(), Versions::default()];
        raise(&mut one, &mut store, 7);
        store.overwrite(BAN_VERSIONS, &[9; 255]);
        assert_eq!(changed(&mut one, &mut store, ALL), 7);
        assert!(raise(&mut one, &mut store, 4));
        assert_eq!(
            (store.peek(BAN_VERSIONS).unwrap().len(), changed(&mut other, &mut store, ALL)),
            (BYTES, 4)
        );
    }

    #[test]
    fn a_refused_raise_is_not_taken_for_seen() {
        let mut store = MemStore::new();
        let [mut one, mut other] = [Versions::default(), Versions::default()];
        store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
        assert!(!raise(&mut one, &mut store, 1));
        store.inject(Faults::NONE);
        raise(&mut other, &mut store, 1);
        assert_eq!(changed(&mut one, &mut store, ALL), 1);
    }
}
