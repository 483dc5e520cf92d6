//! A rate limiter as one first writes it: a token bucket per client address, in a map.
//!
//! It limits each client well. What it lacks is an answer to the question what happens when clients never come back.
#![allow(clippy::disallowed_types, reason = "the map that grows is what this filter is there to show")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use proxy_wasm::main;
use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

/// Requests per second that a client may send, and how many at once.
const RATE: f64 = 50.0;

thread_local! {
    /// One VM is one thread: these are the clients of one of Envoy's workers.
    static CLIENTS: RefCell<HashMap<Vec<u8>, Bucket>> = RefCell::default();
}

struct Bucket {
    tokens: f64,
    filled: SystemTime,
}

impl Bucket {
    fn full(now: SystemTime) -> Bucket {
        Bucket { tokens: RATE, filled: now }
    }

    /// Takes a token if there is one.
    fn admits(&mut self, now: SystemTime) -> bool {
        let passed = now.duration_since(self.filled).unwrap_or(Duration::ZERO);
        self.tokens = (self.tokens + passed.as_secs_f64() * RATE).min(RATE);
        self.filled = now;
        let admits = self.tokens >= 1.0;
        if admits {
            self.tokens -= 1.0;
        }
        admits
    }
}

struct Naive;

impl Context for Naive {}

impl HttpContext for Naive {
    fn on_http_request_headers(&mut self, _headers: usize, _end_of_stream: bool) -> Action {
        let now = self.get_current_time();
        let address = self.get_property(vec!["source", "address"]).unwrap_or_default();
        let client = without_port(&address).to_owned();
        let admits =
            CLIENTS.with_borrow_mut(|all| all.entry(client).or_insert_with(|| Bucket::full(now)).admits(now));
        if admits {
            return Action::Continue;
        }
        self.send_http_response(429, vec![("retry-after", "1")], Some(b"too many requests\n"));
        Action::Pause
    }
}

/// "203.0.113.7:4711" without its last part.
fn without_port(address: &[u8]) -> &[u8] {
    let colon = address.iter().rposition(|byte| *byte == b':');
    &address[..colon.unwrap_or(address.len())]
}

main! {{
    proxy_wasm::set_http_context(|_, _| Box::new(Naive));
}}
