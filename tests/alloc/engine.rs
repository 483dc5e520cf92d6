//! The engine: a request allocates nothing, not when it passes, not when it is refused, not for a new client.

use super::{allocations, support};
use weir::connections::{ConnectionId, ContextId};
use weir::engine::{Decision, Engine, InstanceId};
use weir::exchange::Own;
use weir::reply::Reply;
use weir::request::Request;
use weir::request::fault::Fault;
use weir::request::fingerprint::{Fingerprints, Layout};
use weir::request::headers::{Headers, Pairs};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

struct Worker {
    engine: Engine<MemStore>,
    id: InstanceId,
    reply: Reply,
    pairs: Pairs,
    now: Nanos,
}

impl Worker {
    fn request(&mut self, client: u32, key: &[u8]) {
        let mut source = [0u8; 32];
        let length = {
            use std::io::Write;
            let mut rest = &mut source[..];
            write!(rest, "{}:4711", core::net::Ipv4Addr::from(client)).unwrap();
            32 - rest.len()
        };
        self.pairs.clear();
        for (name, value) in [
            (":method", &b"GET"[..]),
            (":authority", b"shop.example"),
            (":path", b"/a//b/../%63?d"),
            ("x-api-key", key),
        ] {
            self.pairs.push(name, value);
        }
        let headers = Headers::parse(self.pairs.encode());
        let route = Some(&b"shop"[..]);
        let request = Request { source: Some(&source[..length]), route, headers, ..Request::default() };
        self.now = self.now + Nanos(50_000);
        let (decision, ticket) = self.engine.on_request(self.id, &request, self.now);
        if decision.is_told() {
            self.engine.report(self.id, &decision, &request, self.now);
        }
        if let Some(ruling) = decision.rulings.enforced {
            self.reply.write(&ruling, &request);
        }
        self.engine.notify(|_, _| ());
        self.engine.on_complete(ticket, &support::FAILED);
    }
}

#[test]
fn requests_and_ticks_allocate_nothing_after_warm_up() {
    let config = r#"{"mode": "enforce", "consumer": {"from": [{"header": "x-api-key"}]},
        "exempt": [{"path": "/healthz"}], "events": {"log": false}, "tables": {"max_keys": 8192},
        "volume": {}, "wallet": {}, "loop_breaker": {}, "first_sighting": {"rate_threshold": 10},
        "traffic": {"bucket_seconds": 1, "source_floor_rps": 20}, "policy": {"why_header": "x-why", "ban": {"duration_seconds": 1},
        "tiers": [{"min_score": 40, "action": "throttle"}, {"min_score": 80, "action": "block"}]}, "rules": [
        {"name": "client", "filter": {"max_req_rate": 5}, "action": ["log", "throttle"]},
        {"name": "path", "filter": {"max_req_rate": 5, "match": {"path_prefix": "/a"}}, "action": ["deny"]},
        {"name": "consumer", "filter": {"key": ["client", "consumer"], "max_req_rate": "10/m"}, "action": ["deny"]}]}"#;
    let mut engine = Engine::new(MemStore::new(), Own { seed: [1; 16], nonce: 1 });
    let now = Nanos::from_secs(10);
    let id = engine.configure("weir", support::plan(config), now);
    let mut worker = Worker { engine, id, reply: Reply::default(), pairs: Pairs::default(), now };
    let mut round = |first: u32| {
        for i in 0..20_000u32 {
            worker.request(0x0a00_0000 + if i % 4 == 0 { 0 } else { first + i }, b"key");
            if i % 4_000 == 0 {
                worker.engine.on_tick(worker.now);
            }
        }
    };
    for first in 0..5 {
        round(first * 100_000); // until every value of the store has its full length
    }
    assert_eq!(allocations(|| round(1_000_000)), 0, "in 20,000 requests, most of new clients");
}

#[test]
fn connections_and_errors_allocate_nothing_after_warm_up() {
    let config = r#"{"mode": "enforce", "events": {"log": false}, "traffic": {"route": false, "source": false},
        "fingerprints": {"tool": {"filter_state": "tool"}}, "policy": {"ban": {"duration_seconds": 1}}, "rules": [
        {"name": "tool", "filter": {"fingerprints": {"tool": ["curl"]}}, "action": ["log", "close"]},
        {"name": "connections", "filter": {"max_conn_rate": 5}, "action": ["log", "close"]},
        {"name": "errors", "filter": {"max_h2_error_rate": 5}, "action": ["throttle"]}]}"#;
    let mut engine = Engine::new(MemStore::new(), Own { seed: [1; 16], nonce: 1 });
    let mut now = Nanos::from_secs(10);
    let id = engine.configure("weir", support::plan(config), now);
    let mut fingerprints = Fingerprints::NONE;
    let mut round = |first: u64| {
        for number in first..first + 5_000 {
            let source: &[u8] = if number % 2 == 0 { b"203.0.113.7:4711" } else { b"203.0.113.8:4711" };
            fingerprints.set(0, Layout::Opaque, if number % 7 == 0 { b"curl" } else { b"wget" });
            let request = Request { source: Some(source), fingerprints: &fingerprints, ..Request::default() };
            now = now + Nanos(50_000);
            let connection = ConnectionId(number);
            let opened = engine.on_connection(id, connection, ContextId(number as u32), &request, now);
            let fault = engine.on_fault(id, Fault::Reset, Some(connection), &request, now);
            for decision in [Some(opened), fault].into_iter().flatten().filter(Decision::is_told) {
                engine.report(id, &decision, &request, now);
            }
            engine.end(connection, &request, true);
            while engine.due_to_end().is_some() {}
            engine.on_disconnect(connection);
            if number % 1_000 == 0 {
                engine.on_tick(now);
            }
        }
    };
    (0..5).for_each(|first| round(first * 5_000));
    assert_eq!(allocations(|| round(100_000)), 0, "in 5,000 connections");
}
