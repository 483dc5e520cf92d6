//! A real Envoy with the real module between real clients and a small upstream.
//!
//! ```ignore
//! let upstream = Upstream::start().await;
//! let mut proxy = Proxy::with(json!({ "mode": "enforce", "rules": [] })).workers(2).start(&upstream).await;
//! let answer = proxy.http1().send(get("/").client("203.0.113.7")).await;
//! assert_eq!(answer.status, 200);
//! assert_eq!(proxy.reconfigure("nonsense").await, Update::Rejected);
//! ```
//!
//! One proxy per test. Nothing sleeps to let something happen: [`wait::until`] asks until it is so, or fails at a deadline.

mod client;
mod envoy;
mod load;
mod observe;
mod proxy;
mod raw;
mod upstream;
pub mod wait;
#[path = "../../support/wasm_filter.rs"]
mod wasm_filter;

pub use client::{Answer, Ask, Client, Protocol, delete, get, grpc, options, post, request};
pub use load::{Load, Outcomes};
pub use proxy::{Proxy, Update};
pub use upstream::Upstream;
