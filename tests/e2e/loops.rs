//! Who repeats what fails: answered in place of the upstream, told when to try again, and let through when it is well.

use std::time::Duration;

use serde_json::{Value, json};

use crate::configs::{served, statuses};
use crate::harness::{Ask, Client, Load, Proxy, Upstream, get, grpc, wait};

fn breaker(threshold: u32, tick_seconds: u32) -> Value {
    let consumer = json!({ "from": [{ "header": "x-api-key" }] });
    let breaker = json!({ "threshold": threshold, "tick_seconds": tick_seconds });
    json!({ "mode": "enforce", "loop_breaker": breaker, "consumer": consumer })
}

/// Tries until the breaker answers; how often the upstream did before.
async fn until_open(client: &mut Client, ask: &Ask) -> usize {
    for n in 0..100 {
        let answer = client.send(ask.clone()).await;
        if answer.header("retry-after").is_some() || answer.header("grpc-retry-pushback-ms").is_some() {
            return n;
        }
    }
    panic!("it never opened");
}

#[tokio::test]
async fn the_upstream_sees_almost_none_of_a_retry_loop() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(breaker(20, 3_600)).workers(2).start(&upstream).await;

    let load = Load::new(get("/status/503").client("203.0.113.7")).connections(4).offered_per_second(500.0);
    let tally = load.run(proxy.address(), Duration::from_secs(4)).await;
    let (answered, seen) = (tally.count(503), upstream.requests("/status/503"));
    println!("{seen} of {answered} reached the upstream");
    assert!(answered > 800, "{answered}");
    assert!((20..=40).contains(&seen), "{seen} of {answered}");

    let mut client = proxy.http1();
    assert_eq!(served(&mut client, 30, get("/").client("203.0.113.7")).await, 30, "another path");
    let of_others = [
        get("/status/503").client("203.0.113.8"),
        get("/status/503").client("203.0.113.7").header("x-api-key", "neighbour"),
        get("/status/503").client("203.0.113.7").host("other.test"),
    ];
    for ask in of_others {
        let before = upstream.total();
        assert_eq!(statuses(&mut client, 5, ask).await, [503; 5]);
        assert_eq!(upstream.total() - before, 5, "other callers and hosts reach the upstream");
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn it_heals_within_a_tick_after_the_upstream_has() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(breaker(10, 3)).workers(2).start(&upstream).await;
    upstream.fail(true);
    let mut client = proxy.http1();
    let failed = until_open(&mut client, &get("/flaky")).await;
    assert!((10..=20).contains(&failed), "{failed}");
    proxy
        .metric_becomes(
            "weir_detectors_decided_total",
            &[("detector", "loop_breaker"), ("mode", "enforce")],
            1,
        )
        .await;

    upstream.fail(false);
    let begin = std::time::Instant::now();
    wait::until("the breaker to close", async || {
        let answer = client.send(get("/flaky")).await;
        if answer.status == 200 { Ok(()) } else { Err(format!("{answer:?}")) }
    })
    .await;
    let took = begin.elapsed();
    assert!(took <= Duration::from_secs(4), "{took:?}");
    assert_eq!(served(&mut client, 50, get("/flaky")).await, 50);
    proxy.metric_becomes("weir_loops_open", &[], 0).await;
}

#[tokio::test]
async fn a_person_a_program_and_a_grpc_client_are_each_told_what_to_do() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(breaker(3, 60)).start(&upstream).await;
    let mut client = proxy.http1();
    until_open(&mut client, &get("/status/500")).await;

    let answer = client.send(get("/status/500")).await;
    let seconds = answer.number("retry-after");
    assert!((1..=90).contains(&seconds), "{answer:?}");
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (503, Some("no-store")));
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    let sentence = answer.text();
    assert!(
        sentence.contains("do not retry now") && sentence.contains(&format!("wait {seconds} second")),
        "{sentence}"
    );

    let answer = client.send(get("/status/500").header("accept", "application/json")).await;
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let problem = answer.json();
    assert_eq!((&problem["status"], &problem["title"]), (&503.into(), &"Service Unavailable".into()));
    assert_eq!(problem["retry_after"], answer.number("retry-after"));

    let mut client = proxy.http2();
    until_open(&mut client, &grpc("/grpc-status/14")).await;
    let answer = client.send(grpc("/grpc-status/14")).await;
    assert_eq!((answer.status.as_u16(), answer.grpc_status()), (200, Some("14")));
    assert!(answer.number("grpc-retry-pushback-ms") >= 1);
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn only_an_upstream_that_fails_opens_it() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(breaker(3, 3_600)).start(&upstream).await;
    let mut client = proxy.http1();
    for path in ["/status/404", "/status/429", "/"] {
        let before = upstream.total();
        client.send_times(20, get(path)).await;
        assert_eq!(upstream.total() - before, 20, "{path}");
    }
    let mut client = proxy.http2();
    let before = upstream.total();
    client.send_times(10, grpc("/plain")).await;
    assert_eq!(upstream.total() - before, 10, "Envoy would make UNKNOWN of a 200 without a status");
    for status in [5, 7, 8, 16] {
        let before = upstream.total();
        client.send_times(10, grpc(&format!("/grpc-status/{status}"))).await;
        assert_eq!(upstream.total() - before, 10, "{status}");
    }
}

#[tokio::test]
async fn refusals_of_our_own_never_keep_it_open_and_an_unreachable_upstream_opens_it() {
    let upstream = Upstream::start().await;
    let rule = crate::configs::slow_rule("limit", 2, &["throttle"]);
    let mut config = breaker(3, 3_600);
    config["rules"] =
        json!([crate::configs::with_filter(rule, json!({ "match": { "path_prefix": "/limited" } }))]);
    let proxy =
        Proxy::with(config).route("dead", "/dead").edit_listener(send_to_the_dead).start(&upstream).await;
    let mut client = proxy.http1();
    assert_eq!(statuses(&mut client, 10, get("/limited")).await[2..], [429; 8]);
    proxy.metric_becomes("weir_detectors_decided_total", &[("detector", "loop_breaker")], 0).await;

    let failed = until_open(&mut client, &get("/dead")).await;
    assert_eq!(failed, 3, "Envoy's own 503 for an upstream that can't be connected to");
}

fn send_to_the_dead(listener: &mut Value) {
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    for route in manager["route_config"]["virtual_hosts"][0]["routes"].as_array_mut().unwrap() {
        if route["match"]["prefix"] == "/dead" {
            route["route"]["cluster"] = json!("dead");
        }
    }
}
