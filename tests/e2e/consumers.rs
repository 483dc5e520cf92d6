//! Limits by credential: whose key it is counts, wherever it comes from, and the key itself is never shown.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with, with_filter};
use crate::harness::{Ask, Proxy, Upstream, get};

/// Five per consumer, whose key may come in a header, a cookie or the query.
fn five_per_key() -> Value {
    let rule = with_filter(slow_rule("per_key", 5, &["log", "throttle"]), json!({ "key": "consumer" }));
    let from =
        json!({ "from": [{ "header": "x-api-key" }, { "cookie": "session" }, { "query": "api_key" }] });
    with(enforce(json!([rule])), "consumer", from)
}

fn keyed(key: &str) -> Ask {
    get("/").header("x-api-key", key)
}

#[tokio::test]
async fn two_keys_behind_one_address_have_their_own_buckets() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_per_key()).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 20, keyed("alice").client("203.0.113.7")).await, 5);
    assert_eq!(served(&mut client, 5, keyed("bob").client("203.0.113.7")).await, 5);
}

#[tokio::test]
async fn one_key_over_many_addresses_has_one_bucket() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_per_key()).start(&upstream).await;
    let mut client = proxy.http1();

    let mut passed = 0;
    for i in 1..=20 {
        passed += served(&mut client, 1, keyed("alice").client(&format!("203.0.113.{i}"))).await;
    }
    assert_eq!(passed, 5);
}

#[tokio::test]
async fn a_key_is_the_same_consumer_in_header_cookie_and_query() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_per_key()).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 2, keyed("alice")).await, 2);
    assert_eq!(served(&mut client, 2, get("/").header("cookie", "theme=dark; session=alice")).await, 2);
    assert_eq!(served(&mut client, 10, get("/?page=2&api_key=alice")).await, 1);
    assert_eq!(served(&mut client, 5, get("/?page=2&api_key=carol")).await, 5);
}

#[tokio::test]
async fn a_request_without_a_key_is_not_counted_by_a_rule_for_keys() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_per_key()).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 20, get("/")).await, 20);
}

#[tokio::test]
async fn the_raw_key_is_nowhere_in_logs_events_and_metrics() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_per_key()).start(&upstream).await;
    let secret = "tr0ub4dor-and-3";
    let mut client = proxy.http1();
    assert_eq!(served(&mut client, 20, keyed(secret)).await, 5);
    assert_eq!(served(&mut client, 2, get("/").header("cookie", &format!("session={secret}"))).await, 0);
    assert_eq!(served(&mut client, 2, get(&format!("/?api_key={secret}"))).await, 0);

    let events =
        proxy.events_where(1, "about the consumer", |event| event.to_string().contains("per_key")).await;
    assert!(events[0].to_string().contains("consumer:sha256:"), "{events:#?}");
    // The path in the access log is Envoy's to show or not.
    let access_log = proxy.access_log(24).await;
    let reasons: Vec<_> =
        access_log.iter().map(|line| (&line.decision, &line.reason, &line.details)).collect();
    for (place, text) in [
        ("Envoy's log", proxy.log()),
        ("what Weir adds to the access log", format!("{reasons:?}")),
        ("the stats", proxy.admin("/stats").await),
        ("the Prometheus metrics", proxy.admin("/stats/prometheus").await),
    ] {
        assert!(!text.contains(secret), "the key is in {place}");
    }
}
