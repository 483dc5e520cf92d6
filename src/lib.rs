//! Weir protects an API or a site inside Envoy or Istio. This is the life of a request:
//!
//! 1. Envoy calls the filter. `host` (built for wasm32 only) reads what the plan looks at ([`config::plan::Needs`]) and
//!    wraps it, unchecked and uncopied, as a [`request::Request`]; it reads one clock.
//! 2. [`engine::Engine::on_request`] takes the facts and decides. It asks, in this order:
//!    * who calls: [`identity`] names client, consumer and what else rules count by;
//!    * whether the request is judged at all: [`identity::exempt`], trusted addresses, CORS preflights;
//!    * what is noticed: [`detect`], today the operator's rates in [`detect::rules`]. A rate is counted by
//!      [`exchange`], the ledger that all workers of the process share, in the fixed memory of [`counters`];
//!    * what follows: [`policy`] turns what was noticed into rulings, those that bind and those that would.
//! 3. Most requests pass, and that is all. Where something matched, [`engine::Engine::report`] counts it and makes an
//!    event, at most one per client and interval ([`telemetry`]); [`reply`] turns a ruling that refuses into status,
//!    headers and body, and `host` sends them.
//! 4. When the request has ended, whatever became of it, [`engine::Engine::on_complete`] takes its ticket back.
//! 5. Between requests [`engine::Engine::on_tick`] exchanges with the other workers, and `host` carries the
//!    numbers out.
//!
//! What the operator writes is read by [`config`] and compiled to a [`config::plan::Plan`], which can't be wrong and
//! doesn't change; [`engine::Engine::configure`] puts it in force. Nothing in the core reads a clock, calls the host
//! or panics: facts and time are arguments, decisions are results. So the module, the command line, the tests and
//! the benchmarks all run the same engine.
//!
//! A room imports only rooms of a lower level (`tests/layers.rs` holds that):
//! [`time`], [`hash`] · [`counters`], [`request`], [`shared`] · [`identity`] · [`detect`], [`exchange`] · [`policy`] ·
//! [`reply`], [`telemetry`] · [`config`] · [`engine`] · `host` and the command line.

pub mod bans;
pub mod config;
pub mod counters;
pub mod detect;
pub mod engine;
pub mod exchange;
pub mod hash;
pub mod identity;
pub mod policy;
pub mod reply;
pub mod request;
pub mod shared;
pub mod telemetry;
pub mod time;

// `cargo test --target wasm32-wasip1` runs the core in a plain wasm engine, which has no proxy to call.
#[cfg(all(target_arch = "wasm32", not(test)))]
mod host;
