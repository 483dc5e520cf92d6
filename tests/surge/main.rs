//! The traffic guard as a whole: workers on one shared store, in deterministic virtual time, and real traffic.
//!
//! `cargo test --test surge -- --nocapture table` prints what was measured.
#![allow(
    clippy::indexing_slicing,
    reason = "a test fails by a panic; clippy knows only #[test] functions as tests"
)]

mod crowds;
mod faults;
mod floods;
mod process;
mod real;
#[allow(dead_code, reason = "shared with the benchmark, which prints all of it")]
mod replay;
#[allow(dead_code, reason = "shared with the benchmark, which prints all of it")]
mod report;
mod steady;
