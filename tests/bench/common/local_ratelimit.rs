//! What operators otherwise take, in Envoy's configuration.

use serde_json::{Value, json};

/// More than any bench sends: the bucket that all share is not to refuse anybody.
const NO_LIMIT: u32 = 1_000_000;

/// Envoy's own limiter: one token bucket per client address, made when the address is first seen.
pub fn local_ratelimit(per_second: u32) -> Value {
    let bucket =
        |tokens: u32| json!({ "max_tokens": tokens, "tokens_per_fill": tokens, "fill_interval": "1s" });
    let always = json!({ "default_value": { "numerator": 100, "denominator": "HUNDRED" } });
    json!({
        "name": "envoy.filters.http.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "bench",
            "token_bucket": bucket(NO_LIMIT),
            "filter_enabled": always,
            "filter_enforced": always,
            "always_consume_default_token_bucket": false,
            "max_dynamic_descriptors": 200_000,
            "rate_limits": [{ "actions": [{ "remote_address": {} }] }],
            "descriptors": [{ "entries": [{ "key": "remote_address" }], "token_bucket": bucket(per_second) }],
        },
    })
}
