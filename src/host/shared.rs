//! Envoy's shared data as a [`Store`].

use super::abi;
use crate::shared::{Cas, Store, StoreError};

/// The process's shared data. All VMs of one `vm_id` see the same.
#[derive(Clone, Copy)]
pub struct HostStore;

impl Store for HostStore {
    fn get(&mut self, key: &str, out: &mut Vec<u8>) -> Option<Cas> {
        out.clear();
        let (value, cas) = abi::shared_data(key).ok()?;
        out.extend_from_slice(&value);
        Some(Cas(cas))
    }

    fn set(&mut self, key: &str, value: &[u8], cas: Cas) -> Result<(), StoreError> {
        abi::set_shared_data(key, value, cas.0).map_err(|status| match status {
            abi::CAS_MISMATCH => StoreError::Conflict,
            _ => StoreError::Host,
        })
    }
}
