//! A real Envoy with the real module between real clients and a small upstream.
//!
//! ```ignore
//! let upstream = Upstream::start().await;
//! let mut proxy = Proxy::with(json!({ "mode": "enforce", "rules": [] })).workers(2).start(&upstream).await;
//! let answer = proxy.http1().send(get("/").client("203.0.113.7")).await;
//! assert_eq!(answer.status, 200);
//! assert_eq!(proxy.reconfigure("nonsense").await, Update::Rejected);
//!
//! let proxy = Proxy::with("{}").tls().use_remote_address(0).start(&upstream).await;
//! assert_eq!(proxy.dial().from("127.0.0.5").openssl(get("/")).await, Tried::Answered(200));
//! assert_eq!(proxy.streams().await.reset_at_once(20, &get("/delay/5000")).await, 20);
//! let told = proxy.access_log(21).await; // with addresses, fingerprints, flags; and `connection_log`
//! ```
//!
//! One proxy per test. Nothing sleeps to let something happen: [`wait::until`] asks until it is so, or fails at a deadline.

pub mod browser;
mod client;
mod connections;
mod crowd;
mod dial;
mod envoy;
pub mod frames;
mod load;
mod mmdb;
mod network;
#[path = "../../support/network_filters.rs"]
pub mod network_filters;
mod observe;
mod openssl;
mod proxy;
mod raw;
#[path = "../../support/stats_tags.rs"]
pub mod stats_tags;
mod streams;
pub mod tls;
mod upstream;
pub mod wait;
#[path = "../../support/wasm_filter.rs"]
pub mod wasm_filter;

pub use browser::Browser;
pub use client::{Answer, Ask, Client, Lost, Protocol, delete, get, grpc, options, post, request};
pub use connections::Tried;
pub use crowd::{Crowd, Fate};
pub use dial::Dial;
pub use load::{Load, Outcomes};
pub use observe::Metrics;
pub use proxy::{Builder, Proxy, Update, binary, project};
pub use streams::Ending;
pub use upstream::Upstream;
