//! The cardinality bomb: an attack whose every request comes from another client, at two Envoys side by side. One has
//! Weir, one a limiter that remembers every client it has seen. A client that behaves asks both all the while.
//!
//! [`story`] tells it from begin to end; [`schedule`] says how fast the attack comes, [`attack`] sends it, [`clients`]
//! are who it pretends to be, [`good`] is the client that behaves; [`watch`] looks at all of it once per period;
//! [`picture`], [`page`], [`terminal`] and [`outcome`] show what it saw.

pub mod attack;
mod chart;
pub mod clients;
mod good;
mod lane;
pub mod outcome;
mod page;
mod picture;
pub mod schedule;
pub mod sides;
mod stop;
pub mod story;
pub mod terminal;
pub mod watch;
pub mod wire;

#[path = "../bench/envoy/answer.rs"]
#[allow(dead_code, reason = "the bench reads more of an answer")]
mod answer;
#[path = "../bench/envoy/front.rs"]
mod front;
#[path = "../bench/common/numbers.rs"]
#[allow(dead_code, reason = "the benches need more statistics")]
mod numbers;
#[path = "../bench/common/paper.rs"]
#[allow(dead_code, reason = "the benches print more around their tables")]
pub mod paper;
#[path = "../bench/envoy/proxy.rs"]
#[allow(dead_code, reason = "the bench weighs more of a process")]
mod proxy;

// Brought by whoever includes this: the end-to-end tests have them already.
use super::{network_filters, stats_tags, wasm_filter};

pub use stop::Stop;
