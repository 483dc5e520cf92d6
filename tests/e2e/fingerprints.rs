//! Fingerprints: what a ClientHello says of its sender, and what follows before the handshake and after it.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with, with_filter};
use crate::harness::{Proxy, Tried, Upstream, get};

const PEER: &str = "127.0.0.5";
const STATES: &str = r#"{"JA3": {"filter_state": "weir.ja3"}, "JA4": {"filter_state": "weir.ja4"}}"#;

fn with_methods(weir: Value) -> Value {
    with(weir, "fingerprints", serde_json::from_str::<Value>(STATES).unwrap())
}

/// Refuses who has one of these.
fn refusing(method: &str, values: &[&str], actions: &[&str]) -> Value {
    let rule =
        json!({ "name": "tools", "filter": { "fingerprints": { method: values } }, "action": actions });
    with_methods(enforce(json!([rule])))
}

/// The JA3 and JA4 of the OpenSSL client, which are the same each time. rustls shuffles its extensions: another JA3
/// each time, and one JA4.
async fn of_openssl(proxy: &Proxy) -> (String, String) {
    assert_eq!(proxy.dial().openssl(get("/")).await, Tried::Answered(200));
    let line = proxy.access_log(1).await.pop().unwrap();
    (line.ja3.unwrap(), line.ja4.unwrap())
}

#[tokio::test]
async fn who_has_a_listed_fingerprint_is_closed_before_the_handshake_and_nobody_else() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(with_methods(json!({}))).companion().tls().start(&upstream).await;
    let (ja3, ja4) = of_openssl(&proxy).await;
    for (method, value) in [("JA3", ja3.to_uppercase()), ("ja4", ja4.to_uppercase())] {
        proxy.reconfigure(refusing(method, &[&value], &["log", "close"])).await;
        assert_eq!(proxy.dial().openssl(get("/")).await, Tried::ClosedInHandshake, "{method}");
        assert_eq!(proxy.dial().http2().attempt(get("/")).await, Tried::Answered(200), "rustls");
        let other = proxy.dial().openssl_with("ECDHE-ECDSA-AES128-GCM-SHA256", get("/")).await;
        assert_eq!(other, Tried::Answered(200), "the same program saying something else");
    }
    proxy.metric_becomes("weir_fingerprints_matched_total", &[], 2).await;
    proxy.metric_becomes("weir_fingerprints_rejected_total", &[], 2).await;
    proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
    let events = proxy.events_where(1, "of the rule", |event| event["rule.name"] == "tools").await;
    assert_eq!(events[0]["tls.client.ja3"], ja3, "{events:#?}");
    assert_eq!(events[0]["weir.fingerprint.JA4"], ja4, "{events:#?}");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn to_close_changes_nothing_for_the_future_and_to_block_bans_the_client() {
    let upstream = Upstream::start().await;
    let mut proxy =
        Proxy::with(with_methods(json!({}))).use_remote_address(0).companion().tls().start(&upstream).await;
    let (_, ja4) = of_openssl(&proxy).await;
    let dial = proxy.dial().from(PEER);

    proxy.reconfigure(refusing("JA4", &[&ja4], &["log", "close"])).await;
    assert_eq!(dial.openssl(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(
        dial.http1().attempt(get("/")).await,
        Tried::Answered(200),
        "the same address with another tool"
    );

    proxy.reconfigure(refusing("JA4", &[&ja4], &["log", "block"])).await;
    assert_eq!(dial.openssl(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(dial.http1().attempt(get("/")).await, Tried::ClosedInHandshake, "banned, whatever its tool");
    assert_eq!(proxy.dial().from("127.0.0.6").http1().attempt(get("/")).await, Tried::Answered(200));
    let bans = proxy.events_where(1, "a ban", |event| event["event.action"] == "ban").await;
    assert_eq!(bans[0]["weir.subject"], format!("client:{PEER}"), "{bans:#?}");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_fingerprint_may_be_banned_itself() {
    let upstream = Upstream::start().await;
    let mut proxy =
        Proxy::with(with_methods(json!({}))).use_remote_address(0).companion().tls().start(&upstream).await;
    let (_, ja4) = of_openssl(&proxy).await;
    let rule = with_filter(slow_rule("tools", 3, &["block"]), json!({ "key": "JA4" }));
    proxy.reconfigure(with_methods(enforce(json!([rule])))).await;

    for address in ["127.0.0.7", "127.0.0.8", "127.0.0.9"] {
        assert_eq!(proxy.dial().from(address).openssl(get("/")).await, Tried::Answered(200));
    }
    assert_eq!(proxy.dial().from("127.0.0.10").openssl(get("/")).await, Tried::Answered(403), "one too many");
    assert_eq!(proxy.dial().from("127.0.0.11").openssl(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(
        proxy.dial().from("127.0.0.11").http1().attempt(get("/")).await,
        Tried::Answered(200),
        "rustls"
    );
    let bans = proxy.events_where(1, "a ban", |event| event["event.action"] == "ban").await;
    assert_eq!(bans[0]["weir.subject"], format!("JA4:{ja4}"), "{bans:#?}");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn without_the_network_filter_requests_are_refused_by_their_fingerprint() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(with_methods(json!({}))).tls().start(&upstream).await;
    let (_, ja4) = of_openssl(&proxy).await;
    proxy.reconfigure(refusing("JA4", &[&ja4], &["deny"])).await;
    assert_eq!(proxy.dial().openssl(get("/")).await, Tried::Answered(403));
    assert_eq!(proxy.dial().http1().attempt(get("/")).await, Tried::Answered(200));
    proxy.metric_becomes("weir_fingerprints_rejected_total", &[], 0).await;
    proxy.metric_becomes("weir_fingerprints_matched_total", &[], 1).await;
}

#[tokio::test]
async fn what_a_client_writes_into_headers_is_no_fingerprint() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(with_methods(json!({}))).companion().tls().start(&upstream).await;
    let (ja3, ja4) = of_openssl(&proxy).await;
    proxy.reconfigure(refusing("JA4", &[&ja4], &["close"])).await;
    let mut client = proxy.dial().http1();
    for name in ["weir.ja4", "JA4", "x-ja4", "x-weir-ja4", "x-envoy-ja4"] {
        assert_eq!(
            served(&mut client, 1, get("/").header(name, &ja4).header("x-ja3", &ja3)).await,
            1,
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_method_of_any_name_is_compared_byte_by_byte() {
    let upstream = Upstream::start().await;
    let weir = |value: &str| {
        let rule =
            json!({ "name": "r", "filter": { "fingerprints": { "tcp": [value] } }, "action": ["close"] });
        with(enforce(json!([rule])), "fingerprints", json!({ "tcp": { "filter_state": "weir.tcp" } }))
    };
    let proxy =
        Proxy::with(weir("1460:64240:Mss")).companion().fingerprint_state("weir.tcp", "1460:64240:mss");
    let mut proxy = proxy.start(&upstream).await;
    assert_eq!(proxy.dial().http1().attempt(get("/")).await, Tried::Answered(200), "another case");
    proxy.reconfigure(weir("1460:64240:mss")).await;
    assert_eq!(proxy.dial().http1().attempt(get("/")).await, Tried::ClosedUnanswered);
}

#[tokio::test]
async fn a_method_that_envoy_does_not_supply_is_counted_and_matches_nobody() {
    let upstream = Upstream::start().await;
    let ja3 = "e7d705a3286e19ea42f587b344ee6865";
    let proxy = Proxy::with(refusing("JA3", &[ja3], &["close"])).companion().start(&upstream).await;
    let mut client = proxy.dial().http1();
    assert_eq!(served(&mut client, 5, get("/")).await, 5);
    assert_eq!(proxy.dial().http1().attempt(get("/")).await, Tried::Answered(200));
    for method in ["JA3", "JA4"] {
        let labels = [("method", method)];
        proxy.metric_becomes("weir_fingerprints_unavailable_total", &labels, 2).await;
    }
    proxy.metric_becomes("weir_fingerprints_missing_methods_total", &[], 0).await;
    proxy.metric_becomes("weir_fingerprints_matched_total", &[], 0).await;
}

#[tokio::test]
async fn one_method_without_the_other_is_counted() {
    let upstream = Upstream::start().await;
    let ja4 = "t13d1516h2_8daaf6152771_e5627efa2ab1";
    let proxy =
        Proxy::with(refusing("JA4", &[ja4], &["close"])).companion().fingerprint_state("weir.ja4", ja4);
    let proxy = proxy.start(&upstream).await;
    assert_eq!(proxy.dial().http1().attempt(get("/")).await, Tried::ClosedUnanswered);
    proxy.metric_becomes("weir_fingerprints_missing_methods_total", &[], 1).await;
}

#[tokio::test]
async fn each_filter_goes_by_the_methods_of_its_own_configuration() {
    let upstream = Upstream::start().await;
    let weir = |state: &str| {
        let rule =
            json!({ "name": "r", "filter": { "fingerprints": { "tool": ["bad"] } }, "action": ["deny"] });
        with(enforce(json!([rule])), "fingerprints", json!({ "tool": { "filter_state": state } }))
    };
    // The network filter of the main listener has the name of its HTTP filter, that of the other one another's.
    let proxy = Proxy::with(weir("s.one")).listener("other", weir("s.two")).companion_called("weir");
    let proxy =
        proxy.fingerprint_state("s.one", "good").fingerprint_state("s.two", "bad").start(&upstream).await;
    assert_eq!(proxy.dial().http1().attempt(get("/")).await, Tried::Answered(200));
    let other = proxy.dial_of("other").http1().attempt(get("/")).await;
    assert_eq!(
        other,
        Tried::Answered(403),
        "judged by the first filter at first, and by its own at the request"
    );
    let mut kept = proxy.dial_of("other").http1();
    for _ in 0..3 {
        assert_eq!(kept.send(get("/")).await.status, 403);
    }
}
