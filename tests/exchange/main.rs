//! The exchange between workers, as a whole: workers on one shared store, in deterministic virtual time.
//!
//! `cargo test --test exchange -- --nocapture table` prints what was measured.

mod faults;
mod limits;
mod sim;
#[cfg(not(target_family = "wasm"))]
mod threads;
