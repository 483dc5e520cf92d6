//! Events that are posted: batched, bounded, and nobody's delay.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::configs::{slow_rule, with};
use crate::harness::{Proxy, Update, Upstream, get, wait};

/// Every client's second request makes an event.
fn watched(webhook: Value) -> Value {
    let events = json!({ "log": false, "webhook": webhook });
    with(json!({ "mode": "enforce", "rules": [slow_rule("watch", 1, &["log"])] }), "events", events)
}

/// Each client's two requests; the longest that one of them took.
async fn clients(proxy: &Proxy, network: u32, count: u32) -> Duration {
    let mut client = proxy.http1();
    let mut longest = Duration::ZERO;
    for n in 0..count {
        let ask = get("/").client(&format!("198.{network}.{}.{}", n / 250, n % 250 + 1));
        for _ in 0..2 {
            let begin = Instant::now();
            assert_eq!(client.send(ask.clone()).await.status, 200);
            longest = longest.max(begin.elapsed());
        }
    }
    longest
}

#[tokio::test]
async fn every_event_arrives_once_as_a_line_and_many_in_one_call() {
    let upstream = Upstream::start().await;
    let hook = json!({ "cluster": "upstream", "path": "/events" });
    let proxy = Proxy::with(watched(hook)).workers(2).start(&upstream).await;
    clients(&proxy, 18, 300).await;
    wait::until("300 events", async || match upstream.posted_lines().len() {
        300 => Ok(()),
        other => Err(format!("{other}")),
    })
    .await;
    let lines = upstream.posted_lines();
    let mut subjects: Vec<&str> = lines.iter().map(|line| line["weir.subject"].as_str().unwrap()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), 300);
    assert!(lines.iter().all(|line| line["event.dataset"] == "weir.rules"));
    let calls = upstream.requests("/events");
    assert!((1..100).contains(&calls), "{calls} calls for 300 events");
    proxy.metric_becomes("weir_webhook_events_total", &[("outcome", "delivered")], 300).await;
    proxy.metric_becomes("weir_webhook_calls_in_flight", &[], 0).await;
    assert!(proxy.events().is_empty(), "the log was not asked for");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_slow_webhook_delays_no_request_and_has_so_many_calls_and_no_more() {
    let upstream = Upstream::start().await;
    let hook = json!({ "cluster": "upstream", "path": "/delay/20000", "max_concurrent": 2 });
    let proxy = Proxy::with(watched(hook)).start(&upstream).await;
    for round in 0..8 {
        let longest = clients(&proxy, 20 + round, 20).await;
        assert!(longest < Duration::from_secs(2), "{longest:?}");
        let in_flight = proxy.metrics().await.weir("weir_webhook_calls_in_flight", &[]);
        assert!(in_flight <= Some(2), "{in_flight:?}");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert!(upstream.requests("/delay/20000") <= 2);
    // Each has five seconds.
    wait::until("calls to be given up", async || {
        match proxy.metrics().await.weir("weir_webhook_events_total", &[("outcome", "failed")]) {
            Some(0) | None => Err("none yet".to_owned()),
            Some(_) => Ok(()),
        }
    })
    .await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_webhook_that_is_down_or_unknown_or_refuses_is_counted_and_harms_nobody() {
    let upstream = Upstream::start().await;
    for (network, cluster, path) in [(30, "dead", "/"), (31, "nowhere", "/"), (32, "upstream", "/status/500")]
    {
        let hook = json!({ "cluster": cluster, "path": path });
        let proxy = Proxy::with(watched(hook)).workers(2).start(&upstream).await;
        let longest = clients(&proxy, network, 20).await;
        assert!(longest < Duration::from_secs(2), "{cluster}: {longest:?}");
        proxy.metric_becomes("weir_webhook_events_total", &[("outcome", "failed")], 20).await;
        proxy.metric_becomes("weir_webhook_calls_in_flight", &[], 0).await;
        if cluster == "nowhere" {
            proxy.log_contains("Envoy makes no call to the cluster nowhere").await;
        }
        proxy.assert_never_trapped().await;
    }
}

#[tokio::test]
async fn a_reload_in_the_middle_of_calls_is_survived_and_what_waits_goes_to_the_new_webhook() {
    let upstream = Upstream::start().await;
    let slow = json!({ "cluster": "upstream", "path": "/delay/3000", "max_concurrent": 1 });
    let mut proxy = Proxy::with(watched(slow)).drain_seconds(1).start(&upstream).await;
    clients(&proxy, 40, 10).await;
    wait::until("a call", async || match upstream.requests("/delay/3000") {
        0 => Err("none".to_owned()),
        _ => Ok(()),
    })
    .await;
    clients(&proxy, 41, 10).await;
    let hook = json!({ "cluster": "upstream", "path": "/events" });
    assert_eq!(proxy.reconfigure(watched(hook)).await, Update::Accepted);
    clients(&proxy, 42, 10).await;
    wait::until("events of both", async || match upstream.posted_lines().len() {
        n if n >= 10 => Ok(()),
        n => Err(n.to_string()),
    })
    .await;
    proxy.metric_becomes("weir_webhook_calls_in_flight", &[], 0).await;
    proxy.assert_never_trapped().await;
}
