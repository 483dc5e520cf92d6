//! Weir in a real Envoy: one file per story, each test a real module, a real proxy, real clients.
//!
//! `WEIR_ENVOY` and `WEIR_WASM` name the binaries (else what `make envoy` and `make wasm` leave in target/).
//! A test that fails shows the end of Envoy's log and leaves its folder in target/e2e/.
#![cfg(not(target_family = "wasm"))]
#![allow(missing_docs, reason = "nobody imports a test")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "clippy knows #[test] functions as tests, the harness around them not: panics are how tests fail"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the filter has no clock and no unbounded map; a client that measures it has both"
)]

mod configs;
mod harness;

mod access_log;
mod bad_input;
mod bans;
mod bomb;
mod browsers;
mod callers;
mod challenge;
mod closing;
mod connections;
mod consumers;
mod events;
mod faults;
mod fingerprints;
mod harness_browser;
mod harness_connections;
mod harness_works;
mod loops;
mod memory;
mod metrics;
mod networks;
mod newcomers;
mod observing;
mod qos;
mod rates;
mod reload;
mod replies;
mod rules;
mod sample;
mod tarpit;
mod traffic;
mod volume;
mod webhook;
mod why;
mod workers;
