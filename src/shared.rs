//! Bytes that the workers of one process share: Envoy's shared data behind a trait, the one way to change
//! them ([`update`]), and a twin of the host's map for everything that runs without a host ([`mem`]). All keys that
//! there are stand in [`names`]; values are made of records ([`bytes`]).

pub mod bytes;
pub mod mem;
pub mod names;
pub mod once;

/// A version stamp of a stored value. Never 0 for a value that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cas(pub u32);

/// Why a write did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Somebody wrote in between: read again.
    Conflict,
    /// The host refused the call. Nothing is known of the value.
    Host,
}

/// Shared data as Envoy offers it (HOST §4): get and compare-and-swap on a fixed set of keys.
pub trait Store {
    /// Replaces `out` with the value of `key` and returns its version; `None` (and an empty `out`) where there is none.
    fn get(&mut self, key: &str, out: &mut Vec<u8>) -> Option<Cas>;

    /// Writes `value` if the version of `key` is still `cas`. As in Envoy, a write to a key that does not exist
    /// succeeds whatever `cas` says; so [`CREATE`] creates a key exactly once.
    fn set(&mut self, key: &str, value: &[u8], cas: Cas) -> Result<(), StoreError>;
}

/// The version that no stored value ever has: `set` with it succeeds only where the key is absent.
pub const CREATE: Cas = Cas(u32::MAX);

/// Attempts of one [`update`]. Eight threads that hammer one key meet a handful of conflicts in 160,000 requests
/// (tests/exchange/threads.rs). Each conflict is somebody else's progress; whoever loses all tries again at its next
/// tick, and a request decides on the worker's own view.
pub const ATTEMPTS: u32 = 8;

/// How an [`update`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The change is stored, or there was none to make.
    pub done: bool,
    /// Writes that somebody else's write forestalled, at most [`ATTEMPTS`].
    pub conflicts: u32,
}

/// Reads the value of `key` into `blob` (empty where there is none), lets `change` edit it, and writes it back if
/// `change` says that it differs: all or nothing, so `change` runs again on the newer value after a conflict.
pub fn update(
    store: &mut impl Store,
    key: &str,
    blob: &mut Vec<u8>,
    mut change: impl FnMut(&mut Vec<u8>) -> bool,
) -> Update {
    for conflicts in 0..ATTEMPTS {
        let cas = store.get(key, blob).unwrap_or(CREATE);
        if !change(blob) {
            return Update { done: true, conflicts };
        }
        match store.set(key, blob, cas) {
            Ok(()) => return Update { done: true, conflicts },
            Err(StoreError::Host) => return Update { done: false, conflicts },
            Err(StoreError::Conflict) => {}
        }
    }
    Update { done: false, conflicts: ATTEMPTS }
}

#[cfg(test)]
mod tests {
    use super::mem::{Faults, MemStore};
    use super::*;

    fn append(store: &mut MemStore, byte: u8) -> Update {
        update(store, "k", &mut Vec::new(), |blob| {
            blob.push(byte);
            true
        })
    }

    #[test]
    fn an_update_creates_what_is_missing_and_extends_what_is_there() {
        let mut store = MemStore::new();
        assert_eq!(append(&mut store, 1), Update { done: true, conflicts: 0 });
        assert_eq!(append(&mut store, 2), Update { done: true, conflicts: 0 });
        assert_eq!(store.peek("k"), Some(vec![1, 2]));
    }

    #[test]
    fn a_forestalled_update_starts_over_from_the_newer_value() {
        let mut store = MemStore::new();
        let mut rival = store.clone();
        let mut rounds = 0;
        let outcome = update(&mut store, "k", &mut Vec::new(), |blob| {
            rounds += 1;
            if rounds == 1 {
                append(&mut rival, 9);
            }
            blob.push(1);
            true
        });
        assert_eq!(outcome, Update { done: true, conflicts: 1 });
        assert_eq!(store.peek("k"), Some(vec![9, 1]));
    }

    #[test]
    fn an_update_gives_up_after_its_attempts_and_leaves_no_trace() {
        let mut store = MemStore::new();
        store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
        assert_eq!(append(&mut store, 1), Update { done: false, conflicts: ATTEMPTS });
        assert_eq!(store.peek("k"), None);
    }

    #[test]
    fn nothing_is_written_when_nothing_changed() {
        let mut store = MemStore::new();
        append(&mut store, 1);
        let sets = store.calls().sets;
        assert!(update(&mut store, "k", &mut Vec::new(), |_| false).done);
        assert_eq!(store.calls().sets, sets);
    }
}
