//! Shared data without a host: the same map, versions and oddities as Envoy's (HOST §4), for tests, benchmarks
//! and the command line; and the faults that a worker must survive, injected from a fixed seed.

use super::{Cas, Store, StoreError};
use crate::hash::mix;
use std::sync::{Arc, Mutex, PoisonError};

/// A process's shared data. Clones share it, as workers do.
#[derive(Clone, Debug, Default)]
pub struct MemStore {
    data: Arc<Mutex<Data>>,
}

/// How often things go wrong, each in parts per million of the calls it concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Writes that are reported as stored and are not.
    pub lose_writes: u32,
    /// Writes that are refused as a conflict though nobody wrote.
    pub refuse_writes: u32,
    /// Reads that find the value gone, for good.
    pub wipe_reads: u32,
    /// Reads that find the value before the last, under the current version.
    pub stale_reads: u32,
    /// Only keys that begin like this are concerned.
    pub prefix: &'static str,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Faults =
        Faults { lose_writes: 0, refuse_writes: 0, wipe_reads: 0, stale_reads: 0, prefix: "" };
}

/// Host calls made so far, by all clones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Reads.
    pub gets: u64,
    /// Attempted writes.
    pub sets: u64,
}

#[derive(Debug, Default)]
struct Data {
    #[allow(
        clippy::disallowed_types,
        reason = "its callers use a fixed set of keys, as with Envoy's own map"
    )]
    values: std::collections::BTreeMap<String, Value>,
    last_cas: u32,
    faults: Faults,
    dice: u64,
    calls: Calls,
}

#[derive(Debug, Default)]
struct Value {
    bytes: Vec<u8>,
    before: Vec<u8>,
    cas: u32,
}

impl MemStore {
    /// An empty map in which nothing goes wrong.
    pub fn new() -> MemStore {
        MemStore::default()
    }

    /// From now on these faults happen, in an order that depends on the calls alone.
    pub fn inject(&self, faults: Faults) {
        self.with(|data| data.faults = faults);
    }

    /// The value of `key`, without faults and uncounted.
    pub fn peek(&self, key: &str) -> Option<Vec<u8>> {
        self.with(|data| data.values.get(key).map(|value| value.bytes.clone()))
    }

    /// Overwrites `key` whatever its version: what another extension, or an older one of ours, might do.
    pub fn overwrite(&self, key: &str, bytes: &[u8]) {
        self.with(|data| data.write(key, bytes));
    }

    /// Removes `key`.
    pub fn wipe(&self, key: &str) {
        self.with(|data| data.values.remove(key));
    }

    /// The names of all keys, in order.
    pub fn keys(&self) -> Vec<String> {
        self.with(|data| data.values.keys().cloned().collect())
    }

    /// Host calls so far.
    pub fn calls(&self) -> Calls {
        self.with(|data| data.calls)
    }

    /// A panic under the lock (a failing test) leaves whole values behind, so a poisoned lock is as good as new.
    fn with<T>(&self, f: impl FnOnce(&mut Data) -> T) -> T {
        f(&mut self.data.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for MemStore {
    fn get(&mut self, key: &str, out: &mut Vec<u8>) -> Option<Cas> {
        out.clear();
        self.with(|data| data.get(key, out))
    }

    fn set(&mut self, key: &str, value: &[u8], cas: Cas) -> Result<(), StoreError> {
        self.with(|data| data.set(key, value, cas))
    }
}

impl Data {
    fn get(&mut self, key: &str, out: &mut Vec<u8>) -> Option<Cas> {
        self.calls.gets += 1;
        if self.rolls(key, self.faults.wipe_reads) {
            self.values.remove(key);
        }
        let stale = self.rolls(key, self.faults.stale_reads);
        let value = self.values.get(key)?;
        out.extend_from_slice(if stale { &value.before } else { &value.bytes });
        Some(Cas(value.cas))
    }

    fn set(&mut self, key: &str, bytes: &[u8], cas: Cas) -> Result<(), StoreError> {
        self.calls.sets += 1;
        let current = self.values.get(key).map(|value| value.cas);
        let conflict = cas.0 != 0 && current.is_some_and(|current| current != cas.0);
        if conflict || self.rolls(key, self.faults.refuse_writes) {
            return Err(StoreError::Conflict);
        }
        if !self.rolls(key, self.faults.lose_writes) {
            self.write(key, bytes);
        }
        Ok(())
    }

    fn write(&mut self, key: &str, bytes: &[u8]) {
        self.last_cas = self.last_cas.wrapping_add(1);
        if !self.values.contains_key(key) {
            self.values.insert(key.to_owned(), Value::default());
        }
        let Some(value) = self.values.get_mut(key) else { return };
        core::mem::swap(&mut value.bytes, &mut value.before);
        value.bytes.clear();
        value.bytes.extend_from_slice(bytes);
        value.cas = self.last_cas;
    }

    fn rolls(&mut self, key: &str, parts_per_million: u32) -> bool {
        if parts_per_million == 0 || !key.starts_with(self.faults.prefix) {
            return false;
        }
        self.dice = self.dice.wrapping_add(1);
        mix(self.dice) % 1_000_000 < u64::from(parts_per_million)
    }
}

#[cfg(test)]
mod tests {
    use super::super::CREATE;
    use super::*;

    fn read(store: &mut MemStore, key: &str) -> (Vec<u8>, Option<Cas>) {
        let mut out = vec![0xee];
        let cas = store.get(key, &mut out);
        (out, cas)
    }

    #[test]
    fn a_write_to_a_missing_key_succeeds_whatever_the_version() {
        let mut store = MemStore::new();
        assert_eq!(store.set("k", b"a", Cas(77)), Ok(()));
        assert_eq!(read(&mut store, "k"), (b"a".to_vec(), Some(Cas(1))));
    }

    #[test]
    fn a_key_is_created_exactly_once() {
        let mut store = MemStore::new();
        assert_eq!(store.set("k", b"a", CREATE), Ok(()));
        assert_eq!(store.set("k", b"b", CREATE), Err(StoreError::Conflict));
        assert_eq!(store.peek("k"), Some(b"a".to_vec()));
    }

    #[test]
    fn a_wrong_version_conflicts_and_version_zero_always_wins() {
        let mut store = MemStore::new();
        store.set("k", b"a", CREATE).unwrap();
        store.set("other", b"x", CREATE).unwrap();
        assert_eq!(store.set("k", b"b", Cas(2)), Err(StoreError::Conflict));
        assert_eq!(store.set("k", b"b", Cas(1)), Ok(()));
        assert_eq!(store.set("k", b"c", Cas(0)), Ok(()));
        assert_eq!(read(&mut store, "k"), (b"c".to_vec(), Some(Cas(4))));
    }

    #[test]
    fn a_missing_key_reads_as_nothing_and_empties_the_buffer() {
        assert_eq!(read(&mut MemStore::new(), "k"), (Vec::new(), None));
    }

    #[test]
    fn faults_happen_when_injected() {
        let mut store = MemStore::new();
        store.set("k", b"old", CREATE).unwrap();
        store.set("k", b"new", Cas(1)).unwrap();
        store.inject(Faults { stale_reads: 1_000_000, ..Faults::NONE });
        assert_eq!(read(&mut store, "k"), (b"old".to_vec(), Some(Cas(2))));
        store.inject(Faults { lose_writes: 1_000_000, ..Faults::NONE });
        assert_eq!(store.set("k", b"lost", Cas(2)), Ok(()));
        assert_eq!(store.peek("k"), Some(b"new".to_vec()));
        store.inject(Faults { wipe_reads: 1_000_000, ..Faults::NONE });
        assert_eq!(read(&mut store, "k").1, None);
    }
}
