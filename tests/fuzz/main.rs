//! Hostile input to every parser and to the engine as a whole: no panic, and what is not understood changes nothing.
//! `make test` runs a few cases of each property, `make fuzz` many.
#![allow(clippy::indexing_slicing)] // a test fails by panicking

mod config;
mod requests;
mod shared;
#[path = "../support/mod.rs"]
mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use weir::engine::Engine;
use weir::exchange::Own;
use weir::shared::mem::MemStore;

/// Every kind of key, match, credential, action and dimension.
const EVERYTHING: &str = r#"{"mode": "enforce",
    "network": {"asn": {"filter_state": "asn"}},
    "fingerprints": {"JA3": {"filter_state": "ja3"}, "JA4": {"header": "x-ja4"}, "tool": {"filter_state": "tool", "field": "a"}},
    "traffic": {"bucket_seconds": 1, "warmup_buckets": 1, "learning_buckets": 2, "route_floor_rps": 1, "source_floor_rps": 1,
                "consumer_floor_rps": 1, "asn_floor_rps": 1, "routes": {"a": {"surge_factor": 2}}},
    "volume": {"key": ["client", "path", "header:x-tenant"], "threshold": 3, "tarpit_threshold": 2}, "wallet": {"threshold": 2},
    "loop_breaker": {"threshold": 2}, "first_sighting": {"rate_threshold": 1}, "events": {"webhook": {"cluster": "siem"}},
    "policy": {"why_header": "x-why", "challenge": {"difficulty": [1, 2], "secret": "correct horse battery"}, "throttle": {"quota": 1, "window_seconds": 1}, "ledger": {"limit": 100},
               "ban": {"duration_seconds": 1, "never": ["network:1"]},
               "tiers": [{"min_score": 1, "action": "tarpit"}, {"min_score": 40, "action": "challenge"}, {"min_score": 80, "action": "block"}]},
    "client": {"ipv4_prefix": 24, "ipv6_prefix": 48, "proxies": ["10.0.0.0/8"], "trusted_ips": ["192.0.2.0/24"]},
    "exempt": [{"path": "/healthz"}, {"path_prefix": "/internal/", "source": ["198.51.100.0/24"]}],
    "consumer": {"from": [{"header": "authorization"}, {"header": "x-api-key"}, {"cookie": "session"}, {"query": "api_key"}]},
    "rules": [
        {"name": "opened", "filter": {"max_conn_rate": 1, "max_h2_error_rate": 2, "key": ["client", "JA3"]}, "action": ["log", "block", "close"]},
        {"name": "errors", "filter": {"max_h2_error_rate": 1}, "action": ["log", "throttle"]},
        {"name": "tool", "filter": {"fingerprints": {"tool": ["/", "//"]}, "key": "tool"}, "action": ["close"]},
        {"name": "client", "filter": {"max_req_rate": 1}, "action": ["log", "throttle"]},
        {"name": "network", "filter": {"key": "network", "max_req_rate": 1}, "action": ["log", "block"]},
        {"name": "consumer", "filter": {"key": "consumer", "max_req_rate": "1/h"}, "action": ["log", "deny"]},
        {"name": "route", "filter": {"key": "route", "max_req_rate": 1000000}, "action": ["log"]},
        {"name": "mixed", "mode": "observe",
         "filter": {"key": ["client", "header:x-tenant", "cookie:c"], "max_req_rate": 0.001, "match": {"host": "*.example.com", "path_prefix": "/a", "methods": ["GET"]}},
         "action": ["deny"]}]}"#;

/// Bytes that parsers stumble over more often than random ones.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let nasty: &[&[u8]] = &[
        b"",
        b"/",
        b"//",
        b"/../",
        b"%",
        b"%2",
        b"%2e%2E/",
        b";",
        b"?",
        b"#",
        b"=",
        b"&",
        b",",
        b":",
        b"[",
        b"]",
        b"\0",
        b"\xff\xfe",
        b"\r\n",
        b"/.weir/challenge/answer?p=",
        b"/.weir/challenge/check?r=",
        b"&to=%2F",
        b"&n=1",
        b"text/html",
        b"weir_clearance=",
        b"OPTIONS",
        b"GET",
        b"/healthz",
        b"Bearer ",
        b"session=",
        b"api_key=",
        b"a.example.com",
        b"application/grpc",
        b"application/json;q=",
        b"203.0.113.7:1",
        b"[2001:db8::1]:1",
        b"10.0.0.1:1",
    ];
    let nasty: Vec<Vec<u8>> = nasty.iter().map(|bytes| bytes.to_vec()).collect();
    vec(prop_oneof![prop::sample::select(nasty), vec(any::<u8>(), 0..12)], 0..6)
        .prop_map(|parts| parts.concat())
}

fn engine(store: &MemStore, seed: u8) -> Engine<MemStore> {
    Engine::new(store.clone(), Own { seed: [seed; 16], nonce: seed.into() })
}
