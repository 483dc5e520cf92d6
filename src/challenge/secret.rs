//! What tokens are signed with.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A key for HMAC-SHA256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Made of the operator's text: the same in every Envoy that has it.
    pub fn of_operator(text: &str) -> Secret {
        Secret::derive(b"weir challenge, operator", text.as_bytes())
    }

    /// Made of what the workers of a process have in common, and nobody outside knows.
    pub fn of_process(seed: &[u8; 16]) -> Secret {
        Secret::derive(b"weir challenge, process", seed)
    }

    fn derive(purpose: &[u8], from: &[u8]) -> Secret {
        let mut digest = Sha256::new();
        digest.update((purpose.len() as u64).to_be_bytes());
        digest.update(purpose);
        digest.update(from);
        Secret(digest.finalize().into())
    }

    /// A MAC over some parts, each with its length.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Some(mac)
    }

    /// Eight bytes that follow from some parts, and that nobody else can tell.
    pub(super) fn word(&self, parts: &[&[u8]]) -> [u8; 8] {
        let bytes = self.mac(parts).map(|mac| mac.finalize().into_bytes());
        bytes.and_then(|bytes| bytes.first_chunk().copied()).unwrap_or_default()
    }
}

/// The key to sign with, and the one before it, which is still good to verify with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// Signs.
    pub current: Secret,
    /// Signed until lately.
    pub previous: Option<Secret>,
}

impl Secrets {
    /// Both, the current one first.
    pub fn iter(&self) -> impl Iterator<Item = &Secret> {
        core::iter::once(&self.current).chain(&self.previous)
    }
}
