//! QoS as a whole: the engine that the filter runs, in front of an upstream that suffers, in deterministic virtual time.
#![allow(
    clippy::indexing_slicing,
    reason = "a test fails by a panic; clippy knows only #[test] functions as tests"
)]
#![allow(dead_code, reason = "shared with the benchmark, which runs and prints all of it")]

mod clients;
mod contenders;
mod guard;
mod means;
mod report;
mod rivals;
mod rng;
mod scenarios;
mod truth;
mod upstream;
mod world;
