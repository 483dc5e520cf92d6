//! Says a thing once per process, whichever of its VMs comes first.
//!
//! One value of at most [`KEPT`] hashes, the latest last: what was said long ago may be said again.

use super::{Store, update};
use crate::hash::Seed;

/// Things that are remembered.
pub const KEPT: usize = 32;

const KEY: &str = "weir/2/once";
const BYTES: usize = size_of::<u64>();

/// Is this VM the first to say `thing`? Where the store is out of reach, it is: twice is better than never.
pub fn first_to_say(store: &mut impl Store, thing: &str) -> bool {
    let hash = Seed([0; 16]).hasher().part(0, thing.as_bytes()).finish().to_le_bytes();
    let mut first = true;
    update(store, KEY, &mut Vec::new(), |said| {
        first = !said.chunks_exact(BYTES).any(|known| known == hash);
        if first {
            let keep = said.len().min((KEPT - 1) * BYTES) / BYTES * BYTES;
            said.drain(..said.len() - keep);
            said.extend_from_slice(&hash);
        }
        first
    });
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::mem::MemStore;

    #[test]
    fn a_thing_is_said_by_the_first_alone() {
        let mut store = MemStore::new();
        assert!(first_to_say(&mut store, "a"));
        assert!(!first_to_say(&mut store.clone(), "a"));
        assert!(first_to_say(&mut store, "b"));
        assert!(!first_to_say(&mut store, "a"));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_garbage_is_survived() {
        let mut store = MemStore::new();
        store.overwrite(KEY, &[7; 1001]);
        for i in 0..100 {
            assert!(first_to_say(&mut store, &i.to_string()));
        }
        assert_eq!(store.peek(KEY).map(|said| said.len()), Some(KEPT * BYTES));
        assert!(!first_to_say(&mut store, "99"));
    }
}
