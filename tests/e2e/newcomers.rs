//! Crowds of clients that were not seen before.

use serde_json::{Value, json};

use crate::configs::{served, with};
use crate::harness::{Client, Proxy, Upstream, get};

/// Requests of clients that come once each.
async fn crowd(client: &mut Client, network: u32, count: u32) -> usize {
    let mut passed = 0;
    for n in 0..count {
        let from = format!("198.{}.{}.{}", network, n / 250, n % 250 + 1);
        passed += usize::from(client.send(get("/").client(&from)).await.status == 200);
    }
    passed
}

fn watch(weight: u32) -> Value {
    let tiers = json!({ "tiers": [{ "min_score": 50, "action": "deny" }], "why_header": "x-why" });
    let config = json!({ "mode": "enforce", "first_sighting": { "rate_threshold": 50, "weight": weight } });
    with(config, "policy", tiers)
}

#[tokio::test]
async fn a_crowd_raises_the_signal_for_its_own_and_who_was_here_before_has_none() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(watch(60)).workers(2).start(&upstream).await;
    let mut known = proxy.http1_of_each_worker(get("/").client("203.0.113.7")).await;
    let mut client = proxy.http1();

    let passed = crowd(&mut client, 18, 500).await;
    assert!((40..300).contains(&passed), "{passed} of 500 came before there were many");
    for client in &mut known {
        assert_eq!(served(client, 5, get("/").client("203.0.113.7")).await, 5);
    }
    let new = client.send(get("/").client("192.0.2.77")).await;
    assert_eq!(new.status, 403);
    assert!(new.header("x-why").unwrap().contains("signals=anomaly:first_sighting"), "{new:?}");
    assert_eq!(client.send(get("/").client("192.0.2.77")).await.status, 200, "the second time it is known");

    let events =
        proxy.events_where(1, "about the crowd", |event| event["event.action"] == "first_sighting").await;
    assert_eq!((events.len(), &events[0]["event.dataset"]), (1, &json!("weir.anomaly")));
    assert_eq!(events[0]["weir.signal"], "anomaly:first_sighting");
    assert_eq!(events[0]["weir.threshold"], 50.0);
    assert!(events[0]["weir.count"].as_u64().unwrap() > 50);
    proxy.metric_becomes("weir_first_sightings_total", &[], 503).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn being_new_alone_refuses_nobody_by_default() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(json!({ "mode": "enforce", "first_sighting": {"rate_threshold": 10} }))
        .start(&upstream)
        .await;
    assert_eq!(crowd(&mut proxy.http1(), 19, 300).await, 300);
    let raised = proxy.metrics().await.weir("weir_signals_total", &[("signal", "anomaly_first_sighting")]);
    println!("{raised:?} signals");
}
