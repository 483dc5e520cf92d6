//! Connections, judged before their handshake: bans, rates, and nothing that stays behind.

use serde_json::{Value, json};

use crate::configs::{enforce, rule, served, slow_rule, with, with_filter};
use crate::harness::{Builder, Protocol, Proxy, Tried, Upstream, get, tls};

const PEER: &str = "127.0.0.5";
const OTHER: &str = "127.0.0.6";

/// A rule that admits `burst` connections at once, then one every 8 seconds.
fn slow_connections(burst: u32, actions: &[&str]) -> Value {
    json!({
        "name": "connections",
        "filter": { "max_conn_rate": 0.125, "conn_burst_multiplier": 8.0 * f64::from(burst) },
        "action": actions,
    })
}

/// An edge: the client is the TCP peer, and Weir sees connections.
fn edge(weir: Value) -> Builder {
    Proxy::with(weir).use_remote_address(0).companion()
}

fn answered(tried: &[Tried]) -> usize {
    tried.iter().filter(|tried| **tried == Tried::Answered(200)).count()
}

#[tokio::test]
async fn who_opens_too_many_is_closed_before_the_handshake_and_nobody_else() {
    let upstream = Upstream::start().await;
    let proxy = edge(enforce(json!([slow_connections(5, &["log", "close"])]))).tls().start(&upstream).await;

    let mut kept = proxy.dial().from(PEER).http1();
    assert_eq!(served(&mut kept, 1, get("/")).await, 1);
    let tried = proxy.dial().from(PEER).ask_anew(20, &get("/")).await;
    assert_eq!(answered(&tried), 4, "{tried:?}");
    assert_eq!(tried.iter().filter(|tried| **tried == Tried::ClosedInHandshake).count(), 16, "{tried:?}");
    assert_eq!(served(&mut kept, 20, get("/")).await, 20, "the connection that was there goes on");
    assert_eq!(answered(&proxy.dial().from(OTHER).ask_anew(5, &get("/")).await), 5, "another client");

    let events = proxy.events_where(1, "of the rule", |event| event["rule.name"] == "connections").await;
    assert_eq!(events[0]["weir.counted"], "connections", "{events:#?}");
    assert_eq!(events[0]["weir.subject"], format!("client:{PEER}"), "{events:#?}");
    assert_eq!(events[0].get("url.path"), None, "nothing was asked for: {events:#?}");
    let lines = proxy.connection_log(25).await;
    let refused = lines
        .iter()
        .filter(|line| line.failure.as_deref().is_some_and(|why| why.contains("CONNECTION_REJECTED")));
    assert_eq!(refused.count(), 16, "{lines:#?}");
    proxy.metric_becomes("weir_actions_total", &[("action", "close"), ("mode", "enforce")], 16).await;
    proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_limit_of_connections_is_the_process_s() {
    let upstream = Upstream::start().await;
    let proxy = edge(enforce(json!([slow_connections(40, &["close"])]))).workers(4).start(&upstream).await;
    let tried = proxy.dial().from(PEER).ask_anew(200, &get("/")).await;
    assert!((40..=44).contains(&answered(&tried)), "{}", answered(&tried));
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_rule_that_observes_or_logs_closes_nothing() {
    let upstream = Upstream::start().await;
    let observing = with(slow_connections(1, &["close"]), "mode", "observe");
    let logging = with(slow_connections(1, &["log"]), "name", "logging");
    let proxy = edge(enforce(json!([observing, logging]))).start(&upstream).await;
    assert_eq!(answered(&proxy.dial().from(PEER).ask_anew(5, &get("/")).await), 5);
    proxy
        .metric_becomes("weir_rules_matched_total", &[("rule", "connections"), ("mode", "observe")], 4)
        .await;
    proxy.metric_becomes("weir_rules_matched_total", &[("rule", "logging"), ("mode", "enforce")], 4).await;
}

/// A ban of who asks for `/login` more than once.
fn ban_who_logs_in(seconds: u64) -> Value {
    let login = json!({ "match": { "path_prefix": "/login" } });
    let rule = with_filter(slow_rule("logins", 1, &["block"]), login);
    with(enforce(json!([rule])), "policy", json!({ "ban": { "duration_seconds": seconds } }))
}

#[tokio::test]
async fn the_banned_are_closed_before_the_handshake_until_the_ban_is_over() {
    let upstream = Upstream::start().await;
    let proxy = edge(ban_who_logs_in(2)).tls().workers(2).start(&upstream).await;
    let mut kept = proxy.dial().from(PEER).http1();
    assert_eq!(served(&mut kept, 2, get("/login")).await, 1);

    let tried = proxy.dial().from(PEER).ask_anew(8, &get("/")).await;
    assert_eq!(tried, [Tried::ClosedInHandshake; 8]);
    assert_eq!(proxy.dial().from(PEER).openssl(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(answered(&proxy.dial().from(OTHER).ask_anew(8, &get("/")).await), 8, "another client");
    proxy.metric_becomes("weir_connections_rejected_total", &[("mode", "enforce")], 9).await;

    crate::harness::wait::until("the ban to end", async || {
        match proxy.dial().from(PEER).http1().attempt(get("/")).await {
            Tried::Answered(200) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn connections_of_the_banned_that_were_there_are_refused_and_then_closed() {
    let upstream = Upstream::start().await;
    let proxy = edge(ban_who_logs_in(60)).start(&upstream).await;
    let (mut first, mut second) = (proxy.dial().from(PEER).http1(), proxy.dial().from(PEER).http2());
    assert_eq!(served(&mut first, 1, get("/")).await + served(&mut second, 1, get("/")).await, 2);
    let mut other = proxy.dial().from(OTHER).http1();
    assert_eq!(served(&mut other, 1, get("/")).await, 1);

    assert_eq!(served(&mut first, 2, get("/login")).await, 1, "the second bans");
    for client in [&mut first, &mut second] {
        let answer = client.send(get("/")).await;
        assert_eq!((answer.status.as_u16(), answer.text()), (403, "This request was refused.\n"));
        client.closes().await;
    }
    assert_eq!(served(&mut other, 1, get("/")).await, 1);
    assert_eq!(other.opened(), 1);
    proxy.metric_becomes("weir_connections_closed_total", &[("outcome", "closed")], 2).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_trusted_address_is_never_closed_and_never_counted() {
    let upstream = Upstream::start().await;
    let trusting =
        with(enforce(json!([slow_connections(1, &["close"])])), "client", json!({ "trusted_ips": [PEER] }));
    let proxy = edge(trusting).start(&upstream).await;
    assert_eq!(answered(&proxy.dial().from(PEER).ask_anew(10, &get("/")).await), 10);
    assert_eq!(answered(&proxy.dial().from(OTHER).ask_anew(10, &get("/")).await), 1);
}

#[tokio::test]
async fn the_connections_of_a_proxy_are_counted_for_nobody() {
    let upstream = Upstream::start().await;
    let behind =
        with(enforce(json!([slow_connections(1, &["block"])])), "client", json!({ "proxies": [PEER] }));
    let proxy = edge(behind).start(&upstream).await;
    assert_eq!(answered(&proxy.dial().from(PEER).ask_anew(10, &get("/")).await), 10);
    proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
}

#[tokio::test]
async fn a_thousand_connections_that_come_and_go_leave_nothing() {
    let upstream = Upstream::start().await;
    let watching = enforce(json!([rule("watch", 1_000_000.0, 1.0, &["log"])]));
    let proxy = edge(watching).tls().workers(2).start(&upstream).await;

    assert_eq!(proxy.dial().shake_and_drop(400).await, 400);
    proxy.dial().plain().open_and_drop(300).await;
    let silent = proxy.dial().plain().silent(100).await;
    let mut half = Vec::new();
    for _ in 0..50 {
        let mut raw = proxy.dial().plain().raw(Protocol::Http1).await.unwrap();
        raw.send(&tls::hello()[..80]).await;
        half.push(raw);
    }
    for _ in 0..50 {
        // A whole ClientHello, and then nothing: this one the filter sees.
        let mut raw = proxy.dial().plain().raw(Protocol::Http1).await.unwrap();
        raw.send(&tls::hello()).await;
        half.push(raw);
    }
    assert_eq!(answered(&proxy.dial().ask_anew(100, &get("/")).await), 100);
    assert_eq!(proxy.dial().plain().ask_anew(50, &get("/")).await.len(), 50, "plaintext to the TLS port");
    proxy.metric_becomes("weir_connections_open", &[], 50).await;

    drop((silent, half));
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    let seen = proxy.metrics().await.weir("weir_connections_total", &[]).unwrap();
    assert!(seen >= 550, "{seen}");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_connection_is_never_held() {
    let upstream = Upstream::start().await;
    let holding = with(
        enforce(json!([slow_connections(1, &["tarpit"])])),
        "policy",
        json!({ "tarpit": { "delay_ms": 60_000 } }),
    );
    let proxy = edge(holding).start(&upstream).await;
    assert_eq!(answered(&proxy.dial().from(PEER).ask_anew(5, &get("/")).await), 5);
    proxy
        .metric_becomes("weir_rules_matched_total", &[("rule", "connections"), ("mode", "enforce")], 4)
        .await;
    proxy.metric_becomes("weir_actions_total", &[("action", "tarpit")], 0).await;
}

#[tokio::test]
async fn the_network_filter_has_no_configuration_of_its_own() {
    let upstream = Upstream::start().await;
    let proxy =
        Proxy::with(json!({})).companion_with(r#"{"mode": "enforce"}"#).start_refused(&upstream).await;
    proxy.log_contains("the HTTP filter's configuration counts").await;
}

#[tokio::test]
async fn without_the_http_filter_connections_pass_and_it_is_said_once() {
    let upstream = Upstream::start().await;
    let alone = |listener: &mut Value| {
        let filters = listener["filter_chains"][0]["filters"].as_array_mut().unwrap();
        filters[0]["typed_config"]["http_filters"].as_array_mut().unwrap().remove(0);
    };
    let proxy = edge(json!({})).workers(2).edit_listener(alone).start(&upstream).await;
    assert_eq!(answered(&proxy.dial().ask_anew(60, &get("/")).await), 60);
    assert_eq!(proxy.log().matches("weir_l4 judges nothing").count(), 1);
}

#[tokio::test]
async fn a_rate_of_connections_that_nothing_tells_of_is_said_once() {
    let upstream = Upstream::start().await;
    let weir = enforce(json!([slow_connections(1, &["close"])]));
    let proxy = Proxy::with(weir).use_remote_address(0).workers(2).start(&upstream).await;
    assert_eq!(answered(&proxy.dial().ask_anew(60, &get("/")).await), 60);
    proxy.log_contains("max_conn_rate counts nothing").await;
    assert_eq!(proxy.log().matches("max_conn_rate counts nothing").count(), 1);
}

#[tokio::test]
async fn connections_are_judged_by_a_new_configuration_at_once_and_those_that_are_open_stay_known() {
    let upstream = Upstream::start().await;
    let mut proxy = edge(enforce(json!([]))).drain_seconds(600).start(&upstream).await;
    let mut kept = proxy.dial().from(PEER).http1();
    assert_eq!(served(&mut kept, 1, get("/")).await, 1);
    proxy.metric_becomes("weir_connections_open", &[], 1).await;
    proxy.reconfigure(enforce(json!([slow_connections(2, &["close"])]))).await;
    assert_eq!(answered(&proxy.dial().from(PEER).ask_anew(10, &get("/")).await), 2);
    assert_eq!(served(&mut kept, 1, get("/")).await, 1);
    drop(kept);
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    proxy.assert_never_trapped().await;
}
