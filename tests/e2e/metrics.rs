//! Metrics: Prometheus names, labels from closed sets, numbers that add up over the workers.

use serde_json::json;

use crate::configs::{enforce, served, slow_rule, with};
use crate::harness::{Proxy, Update, Upstream, get};

#[tokio::test]
async fn requests_matches_and_actions_are_counted_with_their_labels() {
    let upstream = Upstream::start().await;
    let rules = json!([slow_rule("slower", 6, &["log", "throttle"]), slow_rule("out", 4, &["deny"])]);
    let proxy = Proxy::with(enforce(rules)).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 20, get("/")).await, 4);

    proxy.metric_becomes("weir_requests_total", &[], 20).await;
    let matched = "weir_rules_matched_total";
    proxy.metric_becomes(matched, &[("rule", "out"), ("mode", "enforce")], 2).await;
    proxy.metric_becomes(matched, &[("rule", "slower"), ("mode", "enforce")], 14).await;
    let actions = "weir_actions_total";
    proxy.metric_becomes(actions, &[("action", "deny"), ("mode", "enforce")], 2).await;
    proxy.metric_becomes(actions, &[("action", "throttle"), ("mode", "enforce")], 14).await;
    proxy.metric_becomes("weir_events_total", &[("outcome", "sent")], 1).await;
    proxy.metric_becomes("weir_events_total", &[("outcome", "suppressed")], 13).await;
}

#[tokio::test]
async fn the_workers_count_into_one_number() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 5, &["deny"])]))).workers(4).start(&upstream).await;

    for _ in 0..16 {
        served(&mut proxy.http1(), 5, get("/")).await;
    }
    proxy.metric_becomes("weir_requests_total", &[], 80).await;
    let busy = proxy.connections_per_worker().await.iter().filter(|n| **n > 0).count();
    assert!(busy > 1, "the connections went to {busy} worker");
}

#[tokio::test]
async fn a_module_that_is_replaced_takes_its_part_of_the_gauges_along() {
    let upstream = Upstream::start().await;
    let config = enforce(json!([slow_rule("r", 3, &["throttle"])]));
    let mut proxy = Proxy::with(config.clone())
        .edit_listener(|listener| {
            let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
            let weir = &mut manager["http_filters"][0]["typed_config"]["config"];
            if weir["configuration"].to_string().contains("log_interval_seconds") {
                let text =
                    json!({ "@type": "type.googleapis.com/google.protobuf.StringValue", "value": "other" });
                weir["vm_config"]["configuration"] = text; // another VM
            }
        })
        .start(&upstream)
        .await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 3);
    proxy.metric_becomes("weir_workers", &[], 1).await;

    let other = with(config, "events", json!({ "log_interval_seconds": 60 }));
    assert_eq!(proxy.reconfigure(other).await, Update::Accepted);
    proxy.metric_becomes("weir_workers", &[], 0).await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 0, "the balance is the process's");
    proxy.metric_becomes("weir_workers", &[], 1).await;
    proxy.metric_becomes("weir_requests_total", &[], 20).await;
}

#[tokio::test]
async fn nothing_that_a_client_sends_becomes_a_name_or_label() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 1, &["log", "throttle"])]))).start(&upstream).await;
    let mut client = proxy.http1();

    // Every series that such traffic has is there once it has been through once.
    served(&mut client, 3, get("/").client("203.0.113.100")).await;
    proxy.metric_becomes("weir_events_total", &[("outcome", "suppressed")], 1).await;
    let names = |text: String| text.lines().filter(|line| line.contains("weir_")).count();
    let before = names(proxy.admin("/stats").await);
    for i in 0..50 {
        let ask =
            get(&format!("/somewhere{i}")).client(&format!("203.0.113.{i}")).host(&format!("host{i}.test"));
        served(&mut client, 2, ask.header("user-agent", &format!("agent{i}"))).await;
    }
    proxy.metric_becomes("weir_requests_total", &[], 103).await;

    let text = proxy.metrics().await.weir_text();
    for sent in ["203", "somewhere", "host", "agent"] {
        assert!(!text.contains(sent), "{sent} is in\n{text}");
    }
    assert_eq!(names(proxy.admin("/stats").await), before, "the number of series grew with the traffic");
}
