//! Weir: see README.md. The tour of one request follows.
#![warn(missing_docs)]

pub mod counters;
pub mod exchange;
pub mod hash;
pub mod shared;
pub mod time;

#[cfg(target_arch = "wasm32")]
mod host;
