//! The filters that are compared: Weir, the empty wasm filter, and what an operator would otherwise take.

use std::path::Path;

use serde_json::{Value, json};

use crate::wasm_filter::wasm_filter;

/// A limit that the bench never reaches: all that is measured is the counting.
const HIGH: u32 = 1_000_000;

/// A limit that every request but one per second exceeds.
const LOW: u32 = 1;

/// Requests per second and client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing is refused.
    High,
    /// All but the first request of each second is refused.
    Low,
}

impl Limit {
    fn per_second(self) -> u32 {
        match self {
            Limit::High => HIGH,
            Limit::Low => LOW,
        }
    }
}

/// A wasm filter that has nothing to do.
pub fn empty(wasm: &Path) -> Value {
    wasm_filter("empty", "empty", wasm, "")
}

/// Weir with one rule, as its quick start has it.
pub fn weir(wasm: &Path, limit: Limit) -> Value {
    wasm_filter("weir", "weir", wasm, &with_limit(include_str!("../config/one_rule.json"), limit))
}

/// Weir with three rules that all apply, one of them per API key, and paths to look at.
pub fn weir_three_rules(wasm: &Path, limit: Limit) -> Value {
    wasm_filter("weir", "weir", wasm, &with_limit(include_str!("../config/three_rules.json"), limit))
}

/// Weir without a rule: the traffic guard as it is by default.
pub fn weir_guard(wasm: &Path) -> Value {
    wasm_filter("weir", "weir", wasm, include_str!("../config/guard.json"))
}

/// Weir with everything that it has: three rules, and all dimensions of the traffic guard.
pub fn weir_everything(wasm: &Path) -> Value {
    wasm_filter("weir", "weir", wasm, include_str!("../config/everything.json"))
}

/// Weir with a table that is far too small for the clients: each takes the slot of another, who leaves what it owes.
pub fn weir_small(wasm: &Path) -> Value {
    wasm_filter("weir", "weir", wasm, include_str!("../config/small_tables.json"))
}

fn with_limit(configuration: &str, limit: Limit) -> String {
    configuration.replace(&HIGH.to_string(), &limit.per_second().to_string())
}

/// Envoy's own limiter.
pub fn local_ratelimit(limit: Limit) -> Value {
    crate::local_ratelimit::local_ratelimit(limit.per_second())
}

/// What one writes in ten minutes: a table of counters per second, per worker.
pub fn lua(limit: Limit) -> Value {
    let limit = limit.per_second();
    let code = format!(
        r#"local second, seen = 0, {{}}
function envoy_on_request(handle)
  local now = os.time()
  if now ~= second then second, seen = now, {{}} end
  local client = handle:streamInfo():downstreamRemoteAddress():match("^(.*):%d+$")
  seen[client] = (seen[client] or 0) + 1
  if seen[client] > {limit} then
    handle:respond({{[":status"] = "429", ["retry-after"] = "1"}}, "too many requests\n")
  end
end
"#
    );
    json!({
        "name": "envoy.filters.http.lua",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": { "inline_string": code },
        },
    })
}
