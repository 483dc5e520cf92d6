//! The exchange between workers, as a whole: workers on one shared store, in deterministic virtual time.
//!
//! `cargo test --test exchange -- --nocapture table` prints what was measured.

#![allow(
    clippy::indexing_slicing,
    reason = "a test fails by a panic; clippy knows only #[test] functions as tests"
)]

mod bans;
mod eviction;
mod faults;
mod limits;
mod sim;
mod sums;
#[cfg(not(target_family = "wasm"))]
mod threads;
