//! Weir: see README.md. The tour of one request follows.
#![warn(missing_docs)]

pub mod config;
pub mod counters;
pub mod detect;
pub mod exchange;
pub mod hash;
pub mod identity;
pub mod policy;
pub mod reply;
pub mod request;
pub mod shared;
pub mod telemetry;
pub mod time;

#[cfg(target_arch = "wasm32")]
mod host;
