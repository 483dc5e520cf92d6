//! Requests that are held: for how long, how many, and what becomes of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::configs::{enforce, served, slow_rule, with};
use crate::harness::{Ask, Client, Protocol, Proxy, Update, Upstream, get, post, wait};

/// All but a client's first request is held.
fn tarpit(delay_ms: u64, max_concurrent: u32) -> Value {
    let held = json!({ "tarpit": { "delay_ms": delay_ms, "max_concurrent": max_concurrent } });
    let config = with(enforce(json!([slow_rule("slow", 1, &["tarpit"])])), "policy", held);
    with(config, "exempt", json!([{ "path": "/ready" }]))
}

/// Each worker serves and has its places, which it gets with its first exchange; and this client has had what passes.
async fn ready(proxy: &Proxy) {
    let workers = proxy.http1_of_each_worker(get("/ready")).await.len();
    proxy.metric_becomes("weir_workers", &[], workers as u64).await;
    assert_eq!(served(&mut proxy.http1(), 1, get("/")).await, 1);
}

/// Sends the request on `n` connections at once, and says how long each took to be served.
async fn durations(proxy: &Proxy, n: usize, protocol: Protocol, ask: &Ask) -> Vec<Duration> {
    let mut lanes = JoinSet::new();
    for _ in 0..n {
        let (mut client, ask) = (Client::new(proxy.address(), protocol), ask.clone());
        lanes.spawn(async move {
            let begin = Instant::now();
            assert_eq!(client.send(ask).await.status, 200);
            begin.elapsed()
        });
    }
    let mut durations = lanes.join_all().await;
    durations.sort();
    durations
}

#[tokio::test]
async fn a_request_over_the_rate_is_held_for_the_delay_and_no_more_than_a_tick_longer() {
    const DELAY: Duration = Duration::from_millis(700);
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(tarpit(700, 1_000)).alone().start(&upstream).await;
    ready(&proxy).await;

    let mut all = Vec::new();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        all.extend(durations(&proxy, 20, protocol, &get("/")).await);
    }
    all.sort();
    let over = |at: usize| all[at].saturating_sub(DELAY);
    println!("held beyond the delay: p50 {:?}, most {:?}", over(all.len() / 2), over(all.len() - 1));
    assert!(all[0] >= DELAY, "one was held for {:?} only", all[0]);
    assert!(over(all.len() / 2) <= Duration::from_millis(100), "{all:?}");
    assert!(over(all.len() - 1) <= Duration::from_millis(400), "{all:?}");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_request_that_was_held_arrives_whole() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(tarpit(300, 1_000)).workers(2).start(&upstream).await;
    ready(&proxy).await;

    let body: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    for mut client in [proxy.http1(), proxy.http2()] {
        let begin = Instant::now();
        let answer = client.send(post("/echo").header("x-kept", "yes").body(&body)).await;
        assert!(begin.elapsed() >= Duration::from_millis(300));
        assert_eq!(answer.status, 200);
        assert!(answer.body == body, "{} of {} bytes came back", answer.body.len(), body.len());
        assert_eq!(upstream.last_headers()["x-kept"], "yes");
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn so_many_are_held_at_once_and_the_next_passes() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(tarpit(700, 3)).start(&upstream).await;
    ready(&proxy).await;

    // A worker that has just begun leaves places to others, which may be about to begin as well.
    wait::until("three of five to be held", async || {
        let all = durations(&proxy, 5, Protocol::Http1, &get("/")).await;
        let held = all.iter().filter(|took| **took >= Duration::from_millis(700)).count();
        tokio::time::sleep(Duration::from_millis(300)).await; // places are free again with an exchange
        assert!(held <= 3, "{held} are held");
        if held == 3 { Ok(()) } else { Err(format!("{all:?}")) }
    })
    .await;
    assert!(proxy.metrics().await.weir("weir_tarpit_skipped_total", &[]) >= Some(2));
    proxy.metric_becomes("weir_tarpit_held", &[], 0).await;
}

#[tokio::test]
async fn who_leaves_while_it_is_held_frees_its_place_at_once_and_is_never_served() {
    const DELAY: Duration = Duration::from_secs(5);
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(tarpit(5_000, 1_000)).workers(2).start(&upstream).await;
    ready(&proxy).await;
    let begin = Instant::now();

    // HTTP/1.1: the connection closes. HTTP/2: streams are reset, then a connection with some of them closes.
    let mut raw = Vec::new();
    for _ in 0..4 {
        let mut connection = proxy.raw().await;
        connection.send(b"POST /left HTTP/1.1\r\nhost: weir.test\r\ncontent-length: 1000\r\n\r\nbegun").await;
        raw.push(connection);
    }
    let mut http2 = JoinSet::new();
    for host in 1..=4 {
        let mut client = proxy.http2();
        http2.spawn(async move {
            for _ in 0..3 {
                let left = timeout(Duration::from_millis(400), client.try_send(get("/left"))).await;
                assert!(left.is_err(), "it was not held: {left:?} after {:?}", begin.elapsed());
            }
            // Resets are sent; the connection stays until here.
            let another = get("/").client(&format!("203.0.113.{host}"));
            assert_eq!(client.send(another).await.status, 200);
        });
    }
    proxy.metric_becomes("weir_tarpit_held", &[], 4 + 4).await;
    http2.join_all().await;
    drop(raw);
    proxy.metric_becomes("weir_tarpit_held", &[], 0).await;
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    assert!(begin.elapsed() < DELAY, "they left no earlier than they would have been served");

    tokio::time::sleep((DELAY + Duration::from_millis(500)).saturating_sub(begin.elapsed())).await;
    assert_eq!(upstream.requests("/left"), 0);
    assert_eq!(served(&mut proxy.http1(), 1, get("/")).await, 1, "and others are held and served");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn what_is_held_goes_on_over_a_reload_by_the_delay_that_it_met() {
    let upstream = Upstream::start().await;
    let begin = tarpit(2_000, 1_000);
    let mut proxy = Proxy::with(&begin).workers(2).drain_seconds(600).start(&upstream).await;
    ready(&proxy).await;

    for next in [enforce(json!([])), tarpit(30_000, 1_000)] {
        let mut held = JoinSet::new();
        for protocol in [Protocol::Http1, Protocol::Http2, Protocol::Http1] {
            let mut client = Client::new(proxy.address(), protocol);
            held.spawn(async move {
                let begin = Instant::now();
                (client.send(post("/echo").body(b"all of it")).await, begin.elapsed())
            });
        }
        proxy.metric_becomes("weir_tarpit_held", &[], 3).await;
        assert_eq!(proxy.reconfigure(next).await, Update::Accepted);
        for (answer, took) in held.join_all().await {
            assert_eq!((answer.status.as_u16(), answer.text()), (200, "all of it"));
            assert!((2.0..3.5).contains(&took.as_secs_f64()), "{took:?}");
        }
        assert_eq!(proxy.reconfigure(&begin).await, Update::Accepted);
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_filter_holds_beside_one_that_does_not() {
    let upstream = Upstream::start().await;
    let open = enforce(json!([]));
    let proxy = Proxy::with(tarpit(300, 1_000)).listener("open", &open).start(&upstream).await;
    let mut first = Client::new(proxy.address_of("open"), Protocol::Http1);
    assert_eq!(served(&mut first, 1, get("/")).await, 1, "the worker begins to serve with this one");

    ready(&proxy).await;
    let held = durations(&proxy, 3, Protocol::Http1, &get("/")).await;
    assert!(held[0] >= Duration::from_millis(300), "{held:?}");
    let passed = Instant::now();
    assert_eq!(served(&mut first, 3, get("/")).await, 3);
    assert!(passed.elapsed() < Duration::from_millis(300));
}

/// Envoy answers by itself, at once and one inside the other: what would go wrong with all of them in one tick.
fn answer_directly(listener: &mut Value) {
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    for route in manager["route_config"]["virtual_hosts"][0]["routes"].as_array_mut().unwrap() {
        route.as_object_mut().unwrap().remove("route");
        route["direct_response"] = json!({ "status": 200 });
    }
}

#[tokio::test]
async fn hundreds_that_are_due_at_once_all_go_on_where_envoy_answers_by_itself() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(tarpit(1_000, 1_000)).edit_listener(answer_directly).start(&upstream).await;
    ready(&proxy).await;
    tokio::time::sleep(Duration::from_secs(6)).await; // alone for certain: all places are this worker's
    let took = durations(&proxy, 600, Protocol::Http1, &get("/")).await;
    let held = took.iter().filter(|took| **took >= Duration::from_millis(1_000)).count();
    assert!(held > 500, "{held} of 600 were held");
    proxy.metric_becomes("weir_tarpit_held", &[], 0).await;
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    proxy.assert_never_trapped().await;
}
