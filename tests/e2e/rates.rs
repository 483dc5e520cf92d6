//! Exactly the burst passes, then the rate.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::configs::{enforce, rule, served, slow_rule, statuses};
use crate::harness::{Client, Load, Protocol, Proxy, Upstream, get};

#[tokio::test]
async fn exactly_the_burst_passes_and_then_the_rate() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([{
        "name": "r", "filter": { "max_req_rate": 1, "req_burst_multiplier": 10 }, "action": ["throttle"],
    }])))
    .start(&upstream)
    .await;

    let started = Instant::now();
    let statuses = statuses(&mut proxy.http1(), 30, get("/")).await;
    let refilled = started.elapsed().as_secs() as usize;

    let passed = statuses.iter().filter(|status| **status == 200).count();
    assert!((10..=10 + refilled).contains(&passed), "{passed} passed: {statuses:?}");
    assert_eq!(statuses[..10], [200; 10]);
    assert!(statuses[10..].iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    assert_eq!(upstream.total(), passed, "what is refused does not reach the upstream");
}

#[tokio::test]
async fn http1_and_http2_connections_of_one_client_draw_from_one_bucket() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 6, &["throttle"])]))).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 2, get("/")).await, 2);
    assert_eq!(served(&mut proxy.http2(), 2, get("/")).await, 2);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 2);
    assert_eq!(served(&mut proxy.http2(), 10, get("/")).await, 0);
}

#[tokio::test]
async fn two_listeners_with_one_configuration_share_their_buckets() {
    let upstream = Upstream::start().await;
    let config = enforce(json!([slow_rule("r", 6, &["throttle"])]));
    let proxy = Proxy::with(&config).listener("second", &config).start(&upstream).await;

    assert_eq!(served(&mut proxy.http1(), 4, get("/")).await, 4);
    assert_eq!(served(&mut Client::new(proxy.address_of("second"), Protocol::Http1), 10, get("/")).await, 2);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 0);
}

#[tokio::test]
async fn a_throttled_client_gets_its_rate_however_hard_it_pushes() {
    let upstream = Upstream::start().await;
    let proxy =
        Proxy::with(enforce(json!([rule("r", 4.0, 1.0, &["throttle"])]))).alone().start(&upstream).await;

    let load = Load::new(get("/")).connections(4).offered_per_second(100.0);
    let outcomes = load.run(proxy.address(), Duration::from_secs(3)).await;

    // The burst of 4, then 4 in each of 3 seconds, the last perhaps not due.
    assert!((15..=17).contains(&outcomes.count(200)), "{} passed", outcomes.count(200));
}

#[tokio::test]
async fn a_denied_client_that_hammers_on_stays_out() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([rule("r", 4.0, 1.0, &["deny"])]))).alone().start(&upstream).await;

    let load = Load::new(get("/")).connections(4).offered_per_second(100.0);
    let outcomes = load.run(proxy.address(), Duration::from_secs(3)).await;

    assert!((4..=5).contains(&outcomes.count(200)), "{} passed", outcomes.count(200));
    assert_eq!(outcomes.count(403), outcomes.answers.len() - outcomes.count(200));
}

#[tokio::test]
async fn rates_per_minute_and_fractions_admit_their_first_request() {
    let upstream = Upstream::start().await;
    for rate in [json!("6/m"), json!("1/h"), json!(0.5), json!(1.0)] {
        let rules = json!([{ "name": "r", "filter": { "max_req_rate": rate }, "action": ["throttle"] }]);
        let proxy = Proxy::with(enforce(rules)).start(&upstream).await;
        assert_eq!(statuses(&mut proxy.http1(), 2, get("/")).await, [200, 429], "{rate}");
    }
}
