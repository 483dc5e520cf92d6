//! Bytes that the workers of one process share: Envoy's shared data behind a trait, and a twin of it for tests.

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
