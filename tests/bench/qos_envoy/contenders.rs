//! Who is to protect the service: nobody, what Envoy brings, and Weir.

use std::path::Path;

use serde_json::{Value, json};

use super::local_ratelimit::local_ratelimit;
use super::wasm_filter::wasm_filter;

/// What every client may send per second where the rate is limited: one page at once with all that belongs to it, and
/// ten times what an attacker needs.
const STATIC_RPS: u32 = 10;

/// One filter.
pub struct Contender {
    /// As in `ONLY`.
    pub name: &'static str,
    /// As in the table.
    pub label: &'static str,
    pub filter: Option<Value>,
}

/// All, in the table's order.
pub fn all(weir: &Path, has_qos: bool) -> Vec<Contender> {
    let (label, configuration) = match has_qos {
        true => ("**Weir**, `qos`", include_str!("../config/qos.json")),
        false => ("Weir, `{}`: only observes", "{}"),
    };
    let filter = wasm_filter("weir", "weir", weir, configuration);
    vec![
        Contender { name: "none", label: "none", filter: None },
        Contender {
            name: "local_ratelimit",
            label: "Envoy's local_ratelimit, 10/s per address",
            filter: Some(local_ratelimit(STATIC_RPS)),
        },
        Contender {
            name: "adaptive_concurrency",
            label: "Envoy's adaptive_concurrency",
            filter: Some(adaptive_concurrency()),
        },
        Contender { name: "weir", label, filter: Some(filter) },
    ]
}

/// With the settings that its documentation has as an example. The first measurement of the round-trip time is at once,
/// in the quiet; the next would come after a minute.
fn adaptive_concurrency() -> Value {
    json!({
        "name": "envoy.filters.http.adaptive_concurrency",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency",
            "gradient_controller_config": {
                "sample_aggregate_percentile": { "value": 90 },
                "concurrency_limit_params":
                    { "concurrency_update_interval": "0.1s", "min_concurrency_limit": 25 },
                "min_rtt_calc_params": {
                    "min_concurrency": 50,
                    "jitter": { "value": 10 },
                    "interval": "60s",
                    "request_count": 50,
                },
            },
            "enabled": { "default_value": true, "runtime_key": "adaptive_concurrency.enabled" },
        },
    })
}
