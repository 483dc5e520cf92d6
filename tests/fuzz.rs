//! Hostile input to every parser and to the engine as a whole: no panic, and what is not understood changes nothing.
//! `make test` runs a few cases of each property, `make fuzz` many.
#![allow(clippy::indexing_slicing)] // a test fails by panicking

mod support;

use proptest::collection::vec;
use proptest::prelude::*;
use weir::config;
use weir::engine::Engine;
use weir::exchange::Own;
use weir::policy::Action;
use weir::reply::Reply;
use weir::request::Request;
use weir::request::headers::{Headers, Pairs};
use weir::shared::mem::MemStore;
use weir::shared::{Cas, Store};
use weir::time::Nanos;

/// Every kind of key, match and credential.
const EVERYTHING: &str = r#"{"mode": "enforce",
    "client": {"ipv4_prefix": 24, "ipv6_prefix": 48, "proxies": ["10.0.0.0/8"], "trusted_ips": ["192.0.2.0/24"]},
    "exempt": [{"path": "/healthz"}, {"path_prefix": "/internal/", "source": ["198.51.100.0/24"]}],
    "consumer": {"from": [{"header": "authorization"}, {"header": "x-api-key"}, {"cookie": "session"}, {"query": "api_key"}]},
    "rules": [
        {"name": "client", "filter": {"max_req_rate": 1}, "action": ["log", "throttle"]},
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

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ":method",
        ":path",
        ":authority",
        "accept",
        "origin",
        "access-control-request-method",
        "content-type",
        "authorization",
        "x-api-key",
        "cookie",
        "x-tenant",
        "x-forwarded-for",
    ])
}

fn headers() -> impl Strategy<Value = Vec<u8>> {
    let well_formed = || {
        vec((name(), text()), 0..12).prop_map(|pairs| {
            let mut blob = Pairs::default();
            pairs.iter().for_each(|(name, value)| blob.push(name, value));
            blob.encode().to_vec()
        })
    };
    let cut = (well_formed(), any::<prop::sample::Index>())
        .prop_map(|(blob, end)| blob[..end.index(blob.len())].to_vec());
    prop_oneof![4 => well_formed(), 1 => cut, 1 => vec(any::<u8>(), 0..120)]
}

fn engine(store: &MemStore, seed: u8) -> Engine<MemStore> {
    Engine::new(store.clone(), Own { seed: [seed; 16], nonce: seed.into() })
}

proptest! {
    #[test]
    fn any_request_at_any_time_gets_a_decision_and_an_answer(
        requests in vec((prop::option::of(text()), prop::option::of(text()), headers(), any::<u64>()), 1..12),
    ) {
        let mut engine = engine(&MemStore::default(), 1);
        let id = engine.configure("weir", support::plan(EVERYTHING), Nanos::ZERO);
        let mut reply = Reply::default();
        for (source, route, headers, now) in &requests {
            let request = Request { source: source.as_deref(), route: route.as_deref(), headers: Headers::parse(headers) };
            let (decision, ticket) = engine.on_request(id, &request, Nanos(*now));
            if let Some(ruling) = decision.rulings.enforced {
                let refused = reply.write(&ruling, &request);
                prop_assert_eq!(refused, ruling.response.actions.answer > Action::Log);
            }
            if let Some(event) = engine.report(id, &decision.rulings, &request, Nanos(*now)) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&event.to_json(*now)).is_ok());
            }
            engine.on_complete(ticket);
            engine.on_tick(Nanos(now.wrapping_mul(3)));
        }
    }

    #[test]
    fn any_bytes_in_shared_data_are_survived(
        values in vec((prop::sample::select(vec!["weir/1/meta", "weir/1/roster"]), vec(any::<u8>(), 0..3100)), 0..4),
        shard in vec(any::<u8>(), 0..3100),
        whole in any::<bool>(),
    ) {
        let mut store = MemStore::default();
        for (key, value) in &values {
            store.set(key, value, Cas(0)).unwrap();
        }
        let shard = if whole { &shard[..shard.len() / 24 * 24] } else { &shard[..] };
        for number in 0..512 {
            store.set(&format!("weir/1/l/{number:03x}"), shard, Cas(0)).unwrap();
        }
        let mut engine = engine(&store, 2);
        let id = engine.configure("weir", support::plan(EVERYTHING), Nanos::ZERO);
        for i in 0..50u64 {
            let now = Nanos::from_millis(1000 + i * 70);
            let request = Request { source: Some(b"203.0.113.7:1"), ..Request::default() };
            let (_, ticket) = engine.on_request(id, &request, now);
            engine.on_complete(ticket);
            engine.on_tick(now);
        }
    }

    #[test]
    fn any_bytes_as_configuration_give_a_plan_or_errors(bytes in vec(any::<u8>(), 0..300)) {
        let _ = config::parse(&bytes);
    }

    #[test]
    fn a_damaged_configuration_gives_a_plan_or_errors(at in any::<prop::sample::Index>(), with in text()) {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + with.len() / 2).min(EVERYTHING.len()), with);
        if let Err(errors) = config::parse(&bytes) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }
}
