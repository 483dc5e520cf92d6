//! A configuration changes under traffic: state stays where it may, and a bad one changes nothing.

use serde_json::json;

use crate::configs::{enforce, rule, served, slow_rule, statuses, with};
use crate::harness::{Client, Protocol, Proxy, Update, Upstream, get};

#[tokio::test]
async fn a_balance_survives_a_reload() {
    let upstream = Upstream::start().await;
    let one = slow_rule("r", 5, &["throttle"]);
    let mut proxy = Proxy::with(enforce(json!([one]))).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 3, get("/")).await, 3);

    let two = json!([slow_rule("another", 50, &["throttle"]), one]);
    assert_eq!(proxy.reconfigure(enforce(two)).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 2);
    assert_eq!(proxy.reconfigure(enforce(json!([one]))).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 0);
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_balance_survives_a_reload_on_every_worker() {
    let upstream = Upstream::start().await;
    let rules = json!([slow_rule("r", 5, &["deny"])]);
    let mut proxy = Proxy::with(enforce(rules.clone())).workers(2).start(&upstream).await;
    for _ in 0..8 {
        served(&mut proxy.http1(), 5, get("/")).await;
    }

    let quieter = with(enforce(rules), "events", json!({ "log_interval_seconds": 60 }));
    assert_eq!(proxy.reconfigure(quieter).await, Update::Accepted);
    for _ in 0..8 {
        assert_eq!(served(&mut proxy.http1(), 2, get("/")).await, 0);
    }
}

#[tokio::test]
async fn a_changed_rate_keeps_the_balance_pro_rata() {
    let upstream = Upstream::start().await;
    // 10 at once, then one every 8 seconds; half of it used.
    let mut proxy =
        Proxy::with(enforce(json!([rule("r", 0.125, 80.0, &["throttle"])]))).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 5, get("/")).await, 5);

    // 20 at once, then one every 4 seconds: half of it is left.
    let doubled = json!([rule("r", 0.25, 80.0, &["throttle"])]);
    assert_eq!(proxy.reconfigure(enforce(doubled)).await, Update::Accepted);
    let passed = served(&mut proxy.http1(), 20, get("/")).await;
    assert!((10..=11).contains(&passed), "{passed} passed");
}

#[tokio::test]
async fn the_buckets_of_a_removed_rule_go() {
    let upstream = Upstream::start().await;
    let rules = json!([slow_rule("r", 3, &["deny"])]);
    let mut proxy = Proxy::with(enforce(rules.clone())).workers(2).start(&upstream).await;
    for _ in 0..8 {
        served(&mut proxy.http1(), 3, get("/")).await;
    }

    assert_eq!(proxy.reconfigure(enforce(json!([]))).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 10);
    assert_eq!(proxy.reconfigure(enforce(rules)).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 3);
}

#[tokio::test]
async fn rules_and_mode_change_with_the_configuration() {
    let upstream = Upstream::start().await;
    let rules = json!([slow_rule("r", 2, &["throttle"])]);
    let mut proxy = Proxy::with(json!({ "mode": "observe", "rules": rules })).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.7")).await, 10);

    assert_eq!(proxy.reconfigure(enforce(rules)).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.8")).await, 2);
    assert_eq!(proxy.reconfigure("{}").await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.8")).await, 10);
}

#[tokio::test]
async fn a_connection_from_before_a_reload_goes_on_and_draws_from_the_same_buckets() {
    let upstream = Upstream::start().await;
    let rules = json!([slow_rule("r", 6, &["throttle"])]);
    let mut proxy = Proxy::with(enforce(rules.clone())).drain_seconds(600).start(&upstream).await;
    let mut old = proxy.http2();
    assert_eq!(served(&mut old, 2, get("/")).await, 2);

    let changed = with(enforce(rules), "events", json!({ "log_interval_seconds": 60 }));
    assert_eq!(proxy.reconfigure(changed).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http2(), 2, get("/")).await, 2);
    assert_eq!(served(&mut old, 10, get("/")).await, 2);
    assert_eq!(served(&mut proxy.http2(), 2, get("/")).await, 0);
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn filters_of_different_names_keep_their_own_configuration() {
    let upstream = Upstream::start().await;
    let strict = enforce(json!([slow_rule("strict", 2, &["deny"])]));
    let lenient = enforce(json!([slow_rule("lenient", 4, &["throttle"])]));
    let mut proxy = Proxy::with(&strict).listener("second", &lenient).start(&upstream).await;
    let second = |proxy: &Proxy| Client::new(proxy.address_of("second"), Protocol::Http1);

    assert_eq!(statuses(&mut proxy.http1(), 3, get("/")).await, [200, 200, 403]);
    assert_eq!(statuses(&mut second(&proxy), 5, get("/")).await, [200, 200, 200, 200, 429]);

    assert_eq!(proxy.reconfigure(enforce(json!([]))).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 10);
    assert_eq!(served(&mut second(&proxy), 10, get("/")).await, 0);
}

#[tokio::test]
async fn an_invalid_update_is_refused_with_every_error_and_the_running_one_stays() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(enforce(json!([slow_rule("r", 3, &["throttle"])]))).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.7")).await, 3);

    let wrong = json!({
        "mode": "enforced",
        "client": { "trusted_ips": ["192.0.2.300"] },
        "rules": [{ "name": "r", "filter": { "max_req_rate": 0, "max_request_rate": 1 }, "action": ["explode"] }],
    });
    assert_eq!(proxy.reconfigure(wrong).await, Update::Rejected);
    for path in [
        "mode",
        "client.trusted_ips[0]",
        "rules[0].filter.max_req_rate",
        "rules[0].filter.max_request_rate",
        "rules[0].action[0]",
    ] {
        proxy.log_contains(path).await;
    }

    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.7")).await, 0);
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.8")).await, 3);
    assert_eq!(proxy.reconfigure(enforce(json!([]))).await, Update::Accepted);
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.7")).await, 10);
    proxy.assert_never_trapped().await;
}

/// Envoy makes and configures the filters of a listener before it has read all of it.
#[tokio::test]
async fn an_update_that_envoy_refuses_for_another_reason_changes_nothing() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(enforce(json!([slow_rule("r", 3, &["throttle"])])))
        .workers(2)
        .edit_listener(|listener| {
            let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
            if manager["http_filters"].to_string().contains("observe") {
                manager["http_filters"][1]["typed_config"]["strict_check_headers"] =
                    json!(["no-such-header"]);
            }
        })
        .start(&upstream)
        .await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.7")).await, 3);

    assert_eq!(proxy.reconfigure(json!({ "mode": "observe" })).await, Update::Rejected);
    for _ in 0..8 {
        assert_eq!(served(&mut proxy.http1(), 2, get("/").client("203.0.113.7")).await, 0);
    }
    assert_eq!(served(&mut proxy.http1(), 10, get("/").client("203.0.113.8")).await, 3);
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn filters_of_one_name_go_by_their_own_configurations() {
    let upstream = Upstream::start().await;
    let strict = enforce(json!([slow_rule("r", 3, &["throttle"])]));
    let proxy = Proxy::with(strict)
        .listener("open", json!({ "mode": "observe" }))
        .edit_listener(|listener| {
            let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
            manager["http_filters"][0]["typed_config"]["config"]["name"] = json!("weir");
        })
        .start(&upstream)
        .await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 3);
}

#[tokio::test]
async fn an_invalid_first_configuration_is_refused_with_the_reason_in_the_log() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(json!({ "rulez": [] })).start_refused(&upstream).await;
    proxy.log_contains("rulez").await;

    assert_eq!(proxy.reconfigure("{}").await, Update::Accepted, "mended, it starts");
    assert_eq!(proxy.http1().send(get("/")).await.status, 200);
}

#[tokio::test]
async fn a_refused_configuration_is_counted() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with("{}").start(&upstream).await;
    assert_eq!(proxy.reconfigure("{").await, Update::Rejected);
    assert_eq!(proxy.reconfigure("[]").await, Update::Rejected);
    proxy.metric_becomes("weir_config_rejected_total", &[], 2).await;
}

#[tokio::test]
async fn what_is_in_force_is_logged_once_with_what_may_not_be_meant() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(json!({})).workers(4).start(&upstream).await;
    let count = |log: &str, text: &str| log.lines().filter(|line| line.contains(text)).count();
    for _ in 0..8 {
        served(&mut proxy.http1(), 1, get("/")).await;
    }
    proxy.metric_becomes("weir_requests_total", &[], 8).await;
    assert_eq!(
        count(
            &proxy.log(),
            "mode observe, 0 rules of which 0 enforced, traffic guard observed, 3 tiers, 0 exemptions"
        ),
        1,
        "{}",
        proxy.log()
    );
    assert_eq!(
        count(&proxy.log(), "nothing is refused: the traffic guard observes, and no rule is enabled"),
        1,
        "{}",
        proxy.log()
    );

    assert_eq!(proxy.reconfigure(enforce(json!([slow_rule("r", 3, &["throttle"])]))).await, Update::Accepted);
    assert_eq!(
        count(
            &proxy.log(),
            "mode enforce, 1 rule of which 1 enforced, traffic guard enforced, 3 tiers, 0 exemptions"
        ),
        1,
        "{}",
        proxy.log()
    );
}
