//! Weir protects an API or a site inside Envoy or Istio. This is the life of a request:
//!
//! 0. Its connection comes first, where the network filter is there too: [`engine::Engine::on_connection`] asks, before the
//!    TLS handshake, whether its client is banned or over a rate of connections, or whether a rule is for its
//!    fingerprints. What may stay is remembered in [`connections`].
//! 1. Envoy calls the filter. `host` (built for wasm32 only) reads what the plan looks at ([`config::plan::Needs`]) and
//!    wraps it, unchecked and uncopied, as a [`request::Request`]; it reads one clock.
//! 2. [`engine::Engine::on_request`] takes the facts and decides. It asks, in this order:
//!    * who calls: [`identity`] names client, consumer, network, route and what else is counted by;
//!    * whether the request is judged at all: [`identity::exempt`], trusted addresses, CORS preflights;
//!    * whether somebody who calls is banned: [`bans`], one list for all workers of the process;
//!    * what is noticed: [`detect`]. The operator's rates are in [`detect::rules`], counted by [`exchange`], the ledger
//!      that the workers share, in the fixed memory of [`counters`]. Who comes too often is found by [`detect::volume`], who
//!      repeats what fails by [`detect::loops`]: these answer by themselves. What is unusual, for whom and by how much, is found
//!      by [`detect::surge`], which learns what is usual from all workers together, and who is new by [`detect::novelty`];
//!    * how threatening that is: [`score`] adds up the signals;
//!    * what follows: [`policy`]. A rule that matched, a detector's answer or a tier that the score reaches, whichever is most
//!      severe, is the ruling that binds, or that would. A browser that is to prove itself meets the [`challenge`]. Refusals are charged to a ledger, and who has been charged too much is banned.
//! 3. Most requests pass, and that is all. Where something is to be told, [`engine::Engine::report`] counts it, says why,
//!    and makes events, at most one of a kind per subject and interval ([`telemetry`]); [`reply`] turns a ruling that
//!    refuses into status, headers and body, and `host` sends them. A request that is to wait is [held](policy::tarpit).
//! 4. When the request has ended, whatever became of it, [`engine::Engine::on_complete`] takes its ticket back, and
//!    learns whether the upstream failed. Did its caller reset it or break the protocol, [`engine::Engine::on_fault`] judges that.
//! 5. Between requests [`engine::Engine::on_tick`] exchanges with the other workers, and `host` lets those go on who were
//!    held, and carries the numbers and the events out. A new ban does not wait for that: a notice wakes the other workers.
//!
//! What the operator writes is read by [`config`] and compiled to a [`config::plan::Plan`], which can't be wrong and
//! doesn't change; [`engine::Engine::configure`] puts it in force. Nothing in the core reads a clock, calls the host
//! or panics: facts and time are arguments, decisions are results. So the module, the command line, the tests and
//! the benchmarks all run the same engine.
//!
//! A room imports only rooms of a lower level (`tests/layers.rs` holds that):
//! [`time`], [`hash`] · [`counters`], [`request`], [`shared`] · [`identity`] · [`bans`], [`challenge`], [`connections`], [`detect`],
//! [`exchange`] · [`policy`] ·
//! [`reply`], [`telemetry`] · [`config`] · [`engine`] · `host` and the command line.

pub mod bans;
pub mod challenge;
pub mod config;
pub mod connections;
pub mod counters;
pub mod detect;
pub mod engine;
pub mod exchange;
pub mod hash;
pub mod identity;
pub mod policy;
pub mod reply;
pub mod request;
pub mod score;
pub mod shared;
pub mod telemetry;
pub mod time;

// `cargo test --target wasm32-wasip1` runs the core in a plain wasm engine, which has no proxy to call.
#[cfg(all(target_arch = "wasm32", not(test)))]
mod host;
