//! Stories of connections and of what callers do wrong, on fake time, against the engine that the module runs.
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)] // a test fails by panicking

#[path = "support/mod.rs"]
mod support;

use support::{Got, Process, get};
use weir::connections::{ConnectionId, Connections, ContextId, Ending, ROOM};
use weir::policy::{Action, Cause};
use weir::request::Request;
use weir::request::fault::Fault;
use weir::request::headers::{Headers, Pairs};

const A: &str = "203.0.113.7";
const B: &str = "203.0.113.8";

fn rules(rules: &str) -> String {
    format!(
        r#"{{"mode": "enforce", "fingerprints": {{"tool": {{"filter_state": "tool"}}}},
        "client": {{"proxies": ["10.0.0.0/8"], "trusted_ips": ["192.0.2.1"]}}, "rules": [{rules}]}}"#
    )
}

fn rule(name: &str, filter: &str, actions: &str) -> String {
    format!(r#"{{"name": "{name}", "filter": {{{filter}}}, "action": [{actions}]}}"#)
}

/// Workers that have heard of each other.
fn process(workers: usize, json: &str) -> Process {
    let mut process = Process::new(workers, json);
    for worker in 0..workers {
        assert_eq!(process.call_on(worker, &get(&format!("198.51.100.{worker}"))), Got::Pass);
    }
    process.wait_ms(6_000);
    process
}

/// Is a connection closed before its handshake?
fn closes(process: &mut Process, worker: usize, from: &str) -> bool {
    process.connect_on(worker, from, None).decision.rulings.refuse()
}

#[test]
fn a_ban_that_a_request_earns_on_one_worker_closes_connections_on_every_other() {
    let mut process = process(4, &rules(&rule("r", r#""max_req_rate": 1"#, r#""block""#)));
    assert_eq!([0; 2].map(|_| process.call_on(0, &get(A))), [Got::Pass, Got::Refused(Action::Block)]);
    for worker in 0..4 {
        let told = process.connect_on(worker, A, None);
        let ruling = told.decision.rulings.enforced.unwrap();
        assert!(matches!(ruling.cause, Cause::Ban(_)), "{ruling:?} on worker {worker}");
        assert!(!closes(&mut process, worker, B));
    }
    assert_eq!(process.metric("weir_connections_rejected_total.mode.enforce"), 4);
    assert_eq!(process.metric("weir_bans_rejected_total.mode.enforce"), 0, "no request was");
    assert_eq!(process.metric("weir_connections_open"), 4, "B's alone");
}

#[test]
fn a_rate_of_connections_is_the_process_s_and_no_request_is_refused_for_it() {
    let filter = r#""max_conn_rate": "6/m", "conn_burst_multiplier": 500"#;
    let mut process = process(4, &rules(&rule("r", filter, r#""deny""#)));
    let passed = (0..200).filter(|i| !closes(&mut process, i % 4, A)).count();
    assert!((50..=55).contains(&passed), "{passed} of a burst of 50");
    assert!((0..4).all(|worker| process.call_on(worker, &get(A)) == Got::Pass));
    assert!(!closes(&mut process, 0, B));
    assert!(!closes(&mut process, 0, "192.0.2.1") && !closes(&mut process, 0, "10.1.2.3"));
}

#[test]
fn to_close_leaves_no_trace_and_to_block_a_ban() {
    for (actions, banned) in [(r#""log", "close""#, false), (r#""log", "block""#, true)] {
        let print = rule("tools", r#""fingerprints": {"tool": ["curl"]}"#, actions);
        let mut process = process(1, &rules(&print));
        let told = process.connect_on(0, A, Some("curl"));
        assert!(told.decision.rulings.refuse());
        assert_eq!(told.decision.banned.is_some(), banned);
        assert_eq!(told.events.len(), 1 + usize::from(banned), "{:?}", told.events);
        assert_eq!(
            process.connect_on(0, A, Some("Curl")).decision.rulings.refuse(),
            banned,
            "compared exactly"
        );
        assert_eq!(process.call_on(0, &get(A)) != Got::Pass, banned);
        assert!(!closes(&mut process, 0, B));
        assert_eq!(process.metric("weir_fingerprints_rejected_total"), 1);
    }
}

#[test]
fn a_rule_for_fingerprints_and_a_rate_counts_only_who_has_one() {
    let filter = r#""fingerprints": {"tool": ["curl"]}, "max_conn_rate": 1"#;
    let mut process = process(1, &rules(&rule("r", filter, r#""close""#)));
    let mut closed =
        |print| (0..3).filter(|_| process.connect_on(0, A, print).decision.rulings.refuse()).count();
    assert_eq!([closed(Some("wget")), closed(None), closed(Some("curl"))], [0, 0, 2]);
}

#[test]
fn a_ban_of_a_fingerprint_is_nobody_s_who_has_another() {
    let filter = r#""max_conn_rate": 1, "key": "tool""#;
    let mut process = process(2, &rules(&rule("r", filter, r#""block""#)));
    for address in [A, B] {
        process.connect_on(0, address, Some("curl"));
    }
    let mut out = |worker, print| process.connect_on(worker, "203.0.113.9", print).decision.rulings.refuse();
    assert!(out(0, Some("curl")) && out(1, Some("curl")));
    assert!(!out(1, Some("wget")) && !out(1, None));
}

#[test]
fn errors_ban_their_client_and_not_one_behind_a_proxy() {
    let errors = rule("errors", r#""max_h2_error_rate": 5"#, r#""log", "block""#);
    let mut process = process(2, &rules(&errors));
    for _ in 0..50 {
        // Over a connection of another address, and over one that nobody knows, in the words of a header.
        process.connect_on(0, "198.51.100.9", None);
        let proxied = process.connections - 1;
        assert!(process.fault_on(0, Fault::Reset, A, Some(proxied)).is_none());
    }
    assert_eq!(process.call_on(0, &get(A)), Got::Pass);
    process.connect_on(0, A, None);
    let own = process.connections - 1;
    let banned =
        (0..6).filter(|_| process.fault_on(0, Fault::Reset, A, Some(own)).unwrap().decision.banned.is_some());
    assert_eq!(banned.count(), 1);
    assert_eq!(process.call_on(1, &get(A)), Got::Refused(Action::Deny));
    assert_eq!(process.metric("weir_h2_errors_total.error.reset.fate.shared"), 50);
    assert_eq!(process.metric("weir_h2_errors_total.error.reset.fate.charged"), 6);
    assert_eq!(process.metric("weir_actions_total.action.block.mode.enforce"), 1);
}

#[test]
fn who_makes_too_many_errors_is_denied_on_the_other_workers_too_until_they_are_repaid() {
    let errors = rule("errors", r#""max_h2_error_rate": 5"#, r#""deny""#);
    let mut process = process(4, &rules(&errors));
    assert!((0..4).all(|worker| process.call_on(worker, &get(A)) == Got::Pass), "known everywhere");
    for _ in 0..40 {
        process.fault_on(0, Fault::Reset, A, None);
    }
    assert_eq!(process.call_on(0, &get(A)), Got::Refused(Action::Deny));
    process.wait_ms(300);
    for worker in 1..4 {
        assert_eq!(process.call_on(worker, &get(A)), Got::Refused(Action::Deny));
        assert_eq!(process.call_on(worker, &get(B)), Got::Pass);
    }
    assert_eq!(
        process.metric("weir_actions_total.action.deny.mode.enforce"),
        4,
        "an error itself is not answered"
    );
    process.wait_ms(8_000);
    assert!((0..4).all(|worker| process.call_on(worker, &get(A)) == Got::Pass));
}

#[test]
fn a_rule_that_observes_closes_nothing_and_says_what_it_would() {
    let observing =
        rules(&rule("r", r#""max_conn_rate": 1"#, r#""log", "close""#)).replace("enforce", "observe");
    let mut process = process(1, &observing);
    let told: Vec<_> = (0..3).map(|_| process.connect_on(0, A, None)).collect();
    assert!(told.iter().all(|told| !told.decision.rulings.refuse()));
    assert!(told[1].decision.rulings.observed.is_some());
    assert_eq!(process.metric("weir_connections_open"), 3);
    assert_eq!(process.metric("weir_actions_total.action.close.mode.observe"), 2);
}

#[test]
fn a_connection_that_finds_no_room_is_judged_all_the_same_and_can_t_be_ended() {
    let mut process = process(1, &rules(&rule("r", r#""max_req_rate": 1"#, r#""close""#)));
    for _ in 0..ROOM + 10 {
        assert!(!closes(&mut process, 0, A));
    }
    assert_eq!(process.metric("weir_connections_untracked_total"), 10);
    assert_eq!(process.metric("weir_connections_open"), i64::from(ROOM));
    let source = format!("{A}:4711");
    let request = Request { source: Some(source.as_bytes()), ..Request::default() };
    let engine = process.engine(0);
    assert_eq!(engine.end(ConnectionId(u64::from(ROOM) + 5), &request, true), Ending::Unknown);
    assert_eq!(engine.end(ConnectionId(5), &request, true), Ending::Due);
    assert_eq!(engine.due_to_end(), Some(ContextId(5)));
    for id in 0..u64::from(ROOM) + 10 {
        process.engine(0).on_disconnect(ConnectionId(id));
    }
    assert_eq!(process.metric("weir_connections_open"), 0);
}

#[test]
fn the_memory_of_connections_is_taken_with_the_first_and_told() {
    let mut process = process(1, &rules(""));
    let before = process.metric("weir_plan_memory_bytes");
    closes(&mut process, 0, A);
    process.wait_ms(200);
    let after = process.metric("weir_plan_memory_bytes");
    assert_eq!(after - before, Connections::MEMORY_BYTES as i64);
    assert!(after < 48 << 20, "{after}");
}

#[test]
fn connections_go_by_the_filter_of_their_name_else_by_the_latest() {
    let mut process = Process::new(1, &rules(""));
    let first = process.instance(0);
    let other = process.use_filter("other", "{}");
    assert_eq!(other, first);
    let latest = process.instance(0);
    let engine = process.engine(0);
    assert_eq!(engine.judge_of("weir"), Some(first));
    assert_eq!(engine.judge_of("other"), Some(latest));
    assert_eq!(engine.judge_of("a third"), Some(latest));
    assert_eq!(
        (engine.has_companion(), {
            engine.attach();
            engine.has_companion()
        }),
        (false, true)
    );
}

#[test]
fn a_breach_is_told_of_once_by_the_network_filter_where_it_knows_the_connection() {
    let mut process = process(1, &rules(""));
    let unknown = ConnectionId(7_000);
    let engine = process.engine(0);
    assert!(engine.tells(unknown, false) && !engine.tells(unknown, false), "the first stream");
    assert!(engine.tells(ConnectionId(0), false), "any number may be the first");
    assert!(engine.tells(unknown, true) && engine.tells(unknown, true), "each stream of its own");
    process.connect_on(0, A, None);
    let engine = process.engine(0);
    assert!(!engine.tells(ConnectionId(0), false), "the network filter does");
    assert!(!engine.connection(ConnectionId(0)).unwrap().told);
    assert!(engine.tells(ConnectionId(0), true));
    assert!(engine.connection(ConnectionId(0)).unwrap().told, "and then the network filter does not");
}

#[test]
fn fingerprints_that_other_methods_read_are_nothing_to_a_configuration() {
    // A rule that goes by them: what nobody looks for is not known to be absent.
    let tools = rule("tools", r#""fingerprints": {"tool": ["wget"]}"#, r#""log""#);
    let with = |methods: &str| rules(&tools).replace(r#""tool": {"filter_state": "tool"}"#, methods);
    let mut process = Process::new(1, &with(r#""tool": {"filter_state": "tool"}"#));
    process.connect_on(0, A, Some("curl"));
    let known = |process: &mut Process| {
        let instance = process.instance(0);
        let known = process.engine(0).fingerprints(instance, ConnectionId(0));
        known.and_then(|known| known.get(0).map(<[u8]>::to_vec))
    };
    assert_eq!(known(&mut process).as_deref(), Some(&b"curl"[..]));
    for (methods, same) in [
        (r#""tool": {"filter_state": "tool"}, "other": {"filter_state": "other"}"#, false),
        (r#""other": {"filter_state": "other"}, "tool": {"filter_state": "tool"}"#, false),
        (r#""tool": {"filter_state": "other"}"#, false),
        (r#""tool": {"header": "tool"}"#, false),
        (r#""tool": {"filter_state": "tool"}"#, true),
    ] {
        process.configure(&with(methods));
        assert_eq!(known(&mut process).is_some(), same, "{methods}");
    }
}

#[test]
fn errors_of_exempt_requests_count_for_nobody() {
    let errors = rule("errors", r#""max_h2_error_rate": 1"#, r#""block""#);
    let exempting = rules(&errors).replacen('{', r#"{"exempt": [{"path": "/healthz"}], "#, 1);
    let mut process = Process::new(1, &exempting);
    assert_eq!(process.call_on(0, &get(B)), Got::Pass);
    let (now, instance) = (process.now, process.instance(0));
    let mut banned = |path: &str| {
        let mut pairs = Pairs::default();
        pairs.push(":path", path.as_bytes());
        let source = Some(&b"203.0.113.7:4711"[..]);
        let request = Request { source, headers: Headers::parse(pairs.encode()), ..Request::default() };
        let fault = |_| process.engine(0).on_fault(instance, Fault::Reset, None, &request, now).unwrap();
        (0..5).map(fault).any(|decision| decision.banned.is_some())
    };
    assert!(!banned("/healthz") && banned("/other"));
}
