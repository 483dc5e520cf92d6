//! What all workers of a process must agree on: the hash seed, and the epoch that is hashed into every key.
//!
//! 48 bytes: seed, time of creation u64 in ns, epoch u32, 20 bytes of 0. Two records are joined by a total order:
//! the one created first wins (the smaller seed at equal times), and of one seed the later epoch. So whoever writes
//! when, all end up with the same, and a record that is lost comes back from any worker that lives.

use crate::shared::bytes::{u32_at, u64_at, write};
use crate::shared::names::META;
use crate::shared::{Store, Update, update};
use crate::time::Nanos;

/// Bytes of the record.
pub const BYTES: usize = 48;

/// Seed and epoch of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The hash seed.
    pub seed: [u8; 16],
    /// When the seed was drawn.
    pub created: Nanos,
    /// Raised to forget everything.
    pub epoch: u32,
}

/// How an agreement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// What holds from now on.
    pub meta: Meta,
    /// The write.
    pub update: Update,
    /// A record was there and made no sense.
    pub corrupt: bool,
}

impl Meta {
    /// Enters a process: takes on what it has agreed on, or proposes `self` where there is nothing. A worker that
    /// read its clock first and wrote last must not overturn what the others already count by.
    pub fn enter(self, store: &mut impl Store, blob: &mut Vec<u8>) -> Agreement {
        self.revise(store, blob, |theirs| theirs.unwrap_or(self))
    }

    /// Reads what the process has agreed on, puts it back where it was lost and repairs it where `self` comes first.
    /// Without the store `self` holds.
    pub fn agree(self, store: &mut impl Store, blob: &mut Vec<u8>) -> Agreement {
        self.revise(store, blob, |theirs| theirs.map_or(self, |theirs| self.join(theirs)))
    }

    /// Starts the next epoch.
    pub fn next_epoch(self, store: &mut impl Store, blob: &mut Vec<u8>) -> Agreement {
        self.revise(store, blob, |theirs| {
            let agreed = theirs.map_or(self, |theirs| self.join(theirs));
            Meta { epoch: agreed.epoch.saturating_add(1), ..agreed }
        })
    }

    fn revise(
        self,
        store: &mut impl Store,
        blob: &mut Vec<u8>,
        revised: impl Fn(Option<Meta>) -> Meta,
    ) -> Agreement {
        let (mut meta, mut corrupt) = (revised(None), false);
        let update = update(store, META, blob, |bytes| {
            let theirs = Meta::decode(bytes);
            corrupt = theirs.is_none() && !bytes.is_empty();
            meta = revised(theirs);
            meta.encode(bytes);
            theirs != Some(meta)
        });
        Agreement { meta, update, corrupt }
    }

    fn join(self, other: Meta) -> Meta {
        let order = |meta: &Meta| (meta.created, meta.seed, core::cmp::Reverse(meta.epoch));
        if order(&other) < order(&self) { other } else { self }
    }

    fn decode(bytes: &[u8]) -> Option<Meta> {
        let seed = *bytes.first_chunk()?;
        let meta = Meta { seed, created: Nanos(u64_at(bytes, 16)), epoch: u32_at(bytes, 24) };
        (bytes.len() == BYTES).then_some(meta)
    }

    fn encode(self, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.resize(BYTES, 0);
        write(bytes, 0, &self.seed);
        write(bytes, 16, &self.created.0.to_le_bytes());
        write(bytes, 24, &self.epoch.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::mem::MemStore;
    use proptest::prelude::*;

    fn meta(seed: u8, created: u64, epoch: u32) -> Meta {
        Meta { seed: [seed; 16], created: Nanos(created), epoch }
    }

    fn agree(meta: Meta, store: &mut MemStore) -> Meta {
        meta.agree(store, &mut Vec::new()).meta
    }

    #[test]
    fn the_first_worker_creates_and_the_others_adopt_whatever_their_clocks_say() {
        let mut store = MemStore::new();
        let mut enter = |meta: Meta| meta.enter(&mut store, &mut Vec::new()).meta;
        assert_eq!(enter(meta(1, 10, 0)), meta(1, 10, 0));
        assert_eq!(enter(meta(2, 20, 0)), meta(1, 10, 0));
        assert_eq!(enter(meta(3, 9, 0)), meta(1, 10, 0), "who read its clock first and wrote last");
        assert_eq!(store.calls().sets, 1);
    }

    #[test]
    fn a_lost_record_comes_back_and_the_older_seed_wins_a_conflict() {
        let mut store = MemStore::new();
        agree(meta(1, 10, 3), &mut store);
        store.wipe(META);
        assert_eq!(agree(meta(9, 30, 0), &mut store), meta(9, 30, 0), "a newcomer cannot know better");
        assert_eq!(agree(meta(1, 10, 3), &mut store), meta(1, 10, 3));
        assert_eq!(agree(meta(9, 30, 0), &mut store), meta(1, 10, 3));
    }

    #[test]
    fn a_new_epoch_reaches_everyone() {
        let mut store = MemStore::new();
        let first = agree(meta(1, 10, 0), &mut store);
        assert_eq!(first.next_epoch(&mut store, &mut Vec::new()).meta.epoch, 1);
        assert_eq!(first.next_epoch(&mut store, &mut Vec::new()).meta.epoch, 2, "two clears are two epochs");
        assert_eq!(agree(first, &mut store).epoch, 2);
    }

    #[test]
    fn nonsense_is_counted_and_replaced() {
        let mut store = MemStore::new();
        store.overwrite(META, b"rubbish");
        let agreement = meta(1, 10, 0).agree(&mut store, &mut Vec::new());
        assert!(agreement.corrupt && agreement.meta == meta(1, 10, 0));
        assert_eq!(store.peek(META).and_then(|bytes| Meta::decode(&bytes)), Some(meta(1, 10, 0)));
    }

    proptest! {
        #[test]
        fn joining_is_commutative_associative_and_idempotent(
            a in (0u8..3, 0u64..3, 0u32..3), b in (0u8..3, 0u64..3, 0u32..3), c in (0u8..3, 0u64..3, 0u32..3),
        ) {
            let [a, b, c] = [a, b, c].map(|(seed, created, epoch)| meta(seed, created, epoch));
            prop_assert_eq!(a.join(b), b.join(a));
            prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            prop_assert_eq!(a.join(a), a);
        }

        #[test]
        fn any_bytes_decode_to_nothing_or_to_what_encodes_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Some(meta) = Meta::decode(&bytes) {
                let mut again = Vec::new();
                meta.encode(&mut again);
                prop_assert_eq!(Meta::decode(&again), Some(meta));
            }
        }
    }
}
