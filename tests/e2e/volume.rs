//! Who comes too often: to one path, or with one credential from wherever.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::configs::{served, statuses, with};
use crate::harness::{Load, Proxy, Upstream, get, wait};

/// The longest tick that counts within a test as if there were no time.
const HOUR: u32 = 3_600;

fn volume(threshold: u32, tarpit_threshold: u32) -> Value {
    let volume =
        json!({ "threshold": threshold, "tarpit_threshold": tarpit_threshold, "tick_seconds": HOUR });
    json!({ "mode": "enforce", "volume": volume })
}

fn wallet(threshold: u32, tick_seconds: u32) -> Value {
    let wallet =
        json!({ "threshold": threshold, "tarpit_threshold": threshold, "tick_seconds": tick_seconds });
    json!({ "mode": "enforce", "wallet": wallet, "consumer": { "from": [{ "header": "x-api-key" }] } })
}

#[tokio::test]
async fn a_caller_that_comes_to_a_path_too_often_is_refused_there_and_nowhere_else() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(volume(10, 10)).start(&upstream).await;
    let mut client = proxy.http1();
    let ask = |path: &str, from: &str| get(path).client(from);

    assert_eq!(served(&mut client, 30, ask("/login", "203.0.113.7")).await, 9);
    let answer = client.send(ask("/login", "203.0.113.7")).await;
    assert_eq!(answer.status, 429);
    assert!((1..=HOUR as u64 * 2).contains(&answer.number("retry-after")), "{answer:?}");
    assert_eq!(answer.header("ratelimit-policy"), Some("\"default\";q=5;w=3600"));
    assert_eq!(served(&mut client, 9, ask("/basket", "203.0.113.7")).await, 9);
    assert_eq!(served(&mut client, 9, ask("/login", "203.0.113.8")).await, 9);
    proxy
        .metric_becomes("weir_detectors_decided_total", &[("detector", "volume"), ("mode", "enforce")], 22)
        .await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn no_spelling_of_a_path_has_a_count_of_its_own() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(volume(5, 5)).start(&upstream).await;
    let mut client = proxy.http1();
    assert_eq!(served(&mut client, 4, get("/users/validate-password")).await, 4);
    for spelling in [
        "/users//validate-password",
        "/users/./validate-password",
        "/users/x/../validate-password",
        "/users/%76alidate-password",
        "/users/valid%61te%2Dpassword",
        "/users;v=1/validate-password;a=b",
        "/users%3Bv=1/validate-password",
        "/users/x/..;/validate-password",
        "/users/x/%2e%2E/validate-password",
        "/users/validate-password?again=1",
        "//users/validate-password",
    ] {
        assert_eq!(client.send(get(spelling)).await.status, 429, "{spelling}");
    }
    assert_eq!(
        client.send(get("/users%2Fvalidate-password")).await.status,
        200,
        "%2F is data, and another path"
    );
}

#[tokio::test]
async fn a_bot_over_five_thousand_addresses_with_one_token_is_limited_as_one() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(wallet(80, HOUR)).workers(2).start(&upstream).await;

    let mut lanes = JoinSet::new();
    for lane in 0..10_u32 {
        let mut client = proxy.http1();
        lanes.spawn(async move {
            let mut passed = 0;
            for n in 0..500 {
                let from = format!("198.18.{}.{}", lane * 2 + n / 250, n % 250 + 1);
                let answer = client.send(get("/").client(&from).header("x-api-key", "stolen")).await;
                passed += usize::from(answer.status == 200);
            }
            passed
        });
    }
    let passed: usize = lanes.join_all().await.into_iter().sum();
    println!("{passed} of 5,000 passed");
    // What the other worker has not told yet: an eighth of the threshold, and what is on its way.
    assert!((79..=100).contains(&passed), "{passed} of 5,000 passed");
    assert_eq!(upstream.total(), passed);
    assert_eq!(served(&mut proxy.http1(), 20, get("/").header("x-api-key", "own")).await, 20);

    let events =
        proxy.events_where(1, "about the credential", |event| event["event.action"] == "throttle").await;
    assert_eq!(events.len(), 1, "one, from however many addresses: {events:#?}");
    assert_eq!(events[0]["event.dataset"], "weir.wallet");
    assert!(events[0]["weir.subject"].as_str().unwrap().starts_with("consumer:sha256:"));
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_caller_below_half_the_threshold_per_tick_is_never_refused() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(wallet(80, 1)).workers(2).start(&upstream).await;
    let load = Load::new(get("/").header("x-api-key", "own")).connections(4).offered_per_second(30.0);
    let tally = load.run(proxy.address(), Duration::from_secs(5)).await;
    assert_eq!(tally.count(429), 0);
    assert!(tally.count(200) > 100);
}

fn held(delay_ms: u32, max_concurrent: u32) -> Value {
    let tarpit = json!({ "tarpit": { "delay_ms": delay_ms, "max_concurrent": max_concurrent } });
    with(volume(60_000, 2), "policy", tarpit)
}

#[tokio::test]
async fn who_is_in_the_first_band_is_held_for_the_delay_within_fifty_milliseconds() {
    const DELAY: Duration = Duration::from_millis(500);
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(held(500, 1_000)).alone().start(&upstream).await;
    assert_eq!(statuses(&mut proxy.http1(), 1, get("/")).await, [200]);
    proxy.metric_becomes("weir_workers", &[], 1).await;

    // A machine that has other things to do is late now and then, and so is every program on it.
    wait::until("half of the requests to be held for the delay and 50 ms at most", async || {
        let mut took = Vec::new();
        let mut client = proxy.http1();
        for _ in 0..8 {
            let begin = Instant::now();
            assert_eq!(client.send(get("/")).await.status, 200);
            took.push(begin.elapsed());
        }
        took.sort();
        println!("held for {took:?}");
        assert!(took[0] >= DELAY, "{took:?}");
        if took[4] <= DELAY + Duration::from_millis(50) { Ok(()) } else { Err(format!("{took:?}")) }
    })
    .await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_thousand_are_held_and_the_next_passes_at_once() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(held(20_000, 1_000)).alone().start(&upstream).await;
    assert_eq!(statuses(&mut proxy.http1(), 1, get("/")).await, [200]);
    tokio::time::sleep(Duration::from_secs(6)).await; // alone for certain: all places are this worker's

    let mut connections = Vec::new();
    for _ in 0..20 {
        let mut streams = proxy.streams().await;
        let mut open = Vec::new();
        for _ in 0..50 {
            open.push(streams.leave_open(&get("/")).await.expect("a stream"));
        }
        connections.push((streams, open));
    }
    proxy.metric_becomes("weir_tarpit_held", &[], 1_000).await;
    let begin = Instant::now();
    assert_eq!(proxy.http2().send(get("/")).await.status, 200);
    assert!(begin.elapsed() < Duration::from_secs(5), "the 1,001st was held");
    proxy.metric_becomes("weir_tarpit_skipped_total", &[], 1).await;
    drop(connections);
    proxy.metric_becomes("weir_tarpit_held", &[], 0).await;
    proxy.assert_never_trapped().await;
}
