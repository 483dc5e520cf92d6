//! Events: one JSON line per client and interval, in the words of the Elastic Common Schema.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with};
use crate::harness::{Proxy, Upstream, get};

fn tells_of(client: &str) -> impl Fn(&Value) -> bool {
    move |event| event.to_string().contains(client)
}

#[tokio::test]
async fn a_rule_that_logs_lets_pass_and_says_who_and_why() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("watch", 5, &["log"])]))).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 20, get("/").client("203.0.113.7")).await, 20);

    let events = proxy.events_where(1, "about the client", tells_of("203.0.113.7")).await;
    let event = &events[0];
    for (field, value) in [
        ("event.dataset", "weir.rules"),
        ("event.action", "log"),
        ("rule.name", "watch"),
        ("weir.mode", "enforce"),
        ("weir.subject", "client:203.0.113.7"),
        ("source.ip", "203.0.113.7"),
    ] {
        assert_eq!(event[field], value, "{field} in {event:#}");
    }
    let timestamp = event["@timestamp"].as_str().unwrap();
    assert!(timestamp.starts_with("20") && timestamp.ends_with('Z'), "{timestamp}");
}

#[tokio::test]
async fn a_rule_that_logs_and_throttles_does_both() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 5, &["log", "throttle"])]))).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 20, get("/").client("203.0.113.7")).await, 5);

    let events = proxy.events_where(1, "about the client", tells_of("203.0.113.7")).await;
    assert_eq!(events[0]["event.action"], "throttle", "{events:#?}");
}

#[tokio::test]
async fn an_observing_rule_says_that_it_only_observes() {
    let upstream = Upstream::start().await;
    let config = json!({ "mode": "observe", "rules": [slow_rule("r", 5, &["log", "deny"])] });
    let proxy = Proxy::with(config).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 20, get("/").client("2001:db8::7")).await, 20);

    let events = proxy.events_where(1, "about the client", tells_of("2001:db8::/64")).await;
    assert_eq!(events[0]["event.action"], "deny", "{events:#?}");
    assert_eq!(events[0]["weir.mode"], "observe", "{events:#?}");
}

#[tokio::test]
async fn four_workers_write_one_event_per_client_and_interval() {
    let upstream = Upstream::start().await;
    let config = with(
        enforce(json!([slow_rule("watch", 2, &["log"])])),
        "events",
        json!({ "log_interval_seconds": 600 }),
    );
    let proxy = Proxy::with(config).workers(4).start(&upstream).await;

    let mut passed = 0;
    for _ in 0..16 {
        // Kept open together, so that they spread over the workers.
        let mut client = proxy.http1();
        for address in ["203.0.113.7", "203.0.113.8"] {
            passed += served(&mut client, 4, get("/").client(address)).await;
        }
    }
    assert_eq!(passed, 16 * 2 * 4);
    proxy
        .metric_becomes("weir_actions_total", &[("action", "log"), ("mode", "enforce")], 16 * 2 * 4 - 2 * 2)
        .await;

    for address in ["203.0.113.7", "203.0.113.8"] {
        let events = proxy.events_where(1, "about the client", tells_of(address)).await;
        assert_eq!(events.len(), 1, "{events:#?}");
    }
}

#[tokio::test]
async fn a_client_that_goes_on_gets_another_event_after_the_interval() {
    let upstream = Upstream::start().await;
    let config = with(
        enforce(json!([slow_rule("watch", 1, &["log"])])),
        "events",
        json!({ "log_interval_seconds": 1 }),
    );
    let proxy = Proxy::with(config).start(&upstream).await;
    let mut client = proxy.http1();

    served(&mut client, 5, get("/").client("203.0.113.7")).await;
    proxy.events_where(1, "the first", tells_of("203.0.113.7")).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    served(&mut client, 5, get("/").client("203.0.113.7")).await;
    let events = proxy.events_where(2, "one per interval", tells_of("203.0.113.7")).await;
    assert_eq!(events.len(), 2, "{events:#?}");
}

#[tokio::test]
async fn events_can_be_switched_off() {
    let upstream = Upstream::start().await;
    let config = with(enforce(json!([slow_rule("r", 1, &["log"])])), "events", json!({ "log": false }));
    let proxy = Proxy::with(config).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 10);
    proxy.metric_becomes("weir_rules_matched_total", &[("rule", "r")], 9).await;
    assert_eq!(proxy.events(), Vec::<Value>::new());
}
