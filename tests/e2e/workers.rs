//! A limit is the process's: many connections over many workers get the rate of one client, no more and no less.

use std::time::Duration;

use serde_json::json;

use crate::configs::{enforce, rule, served, slow_rule};
use crate::harness::{Load, Outcomes, Protocol, Proxy, Upstream, get};

const LIMIT: f64 = 100.0;
const CONNECTIONS: usize = 32;

/// Each worker may hold one allowance that the others have not heard of: measured, at most 5 % of the burst with 16.
const NEWCOMERS_SHARE: usize = 10;
/// One second for the burst, five to measure.
const DURATION: Duration = Duration::from_secs(6);

enum Offered {
    PerSecond(f64),
    AsFastAsAnswered,
}

/// Offers far more than the limit from one client while another one stays within it.
async fn the_limit_is_kept(workers: usize, protocol: Protocol, offered: Offered) {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([rule("r", LIMIT, 1.0, &["throttle"])])));
    let proxy = proxy.workers(workers).alone().start(&upstream).await;

    let greedy = Load::new(get("/").client("203.0.113.7")).connections(CONNECTIONS).protocol(protocol);
    let greedy = match offered {
        Offered::PerSecond(rate) => greedy.offered_per_second(rate),
        Offered::AsFastAsAnswered => greedy,
    };
    let greedy = greedy.run(proxy.address(), DURATION);
    let modest = Load::new(get("/").client("203.0.113.8"))
        .connections(4)
        .protocol(protocol)
        .offered_per_second(LIMIT / 4.0)
        .run(proxy.address(), DURATION);
    let (greedy, modest) = tokio::join!(greedy, modest);

    let really_offered = greedy.offered_per_second();
    assert!(really_offered > 5.0 * LIMIT, "the clients were too slow to tell: {really_offered}/s");
    let admitted = greedy.per_second_after_the_first(200);
    assert!((95.0..=105.0).contains(&admitted), "{admitted}/s of {really_offered}/s offered");
    let first_second =
        greedy.answers.iter().filter(|(at, status)| at.as_secs() == 0 && *status == 200).count();
    assert!(first_second <= 230, "{first_second} in the first second: the burst is 100, the rate 100");
    assert_eq!(greedy.count(200) + greedy.count(429), greedy.answers.len());
    assert_eq!(modest.count(200), modest.answers.len(), "another client was refused");

    let busy = proxy.connections_per_worker().await.iter().filter(|n| **n > 0).count();
    assert!(busy > 1 || workers == 1, "all connections went to one worker");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn one_worker_keeps_the_limit_over_http1() {
    the_limit_is_kept(1, Protocol::Http1, Offered::PerSecond(1500.0)).await;
}

#[tokio::test]
async fn one_worker_keeps_the_limit_over_http2() {
    the_limit_is_kept(1, Protocol::Http2, Offered::PerSecond(1500.0)).await;
}

#[tokio::test]
async fn two_workers_keep_the_limit_over_http1() {
    the_limit_is_kept(2, Protocol::Http1, Offered::PerSecond(1500.0)).await;
}

#[tokio::test]
async fn two_workers_keep_the_limit_over_http2() {
    the_limit_is_kept(2, Protocol::Http2, Offered::PerSecond(1500.0)).await;
}

#[tokio::test]
async fn four_workers_keep_the_limit_over_http1() {
    the_limit_is_kept(4, Protocol::Http1, Offered::PerSecond(1500.0)).await;
}

#[tokio::test]
async fn four_workers_keep_the_limit_over_http2() {
    the_limit_is_kept(4, Protocol::Http2, Offered::PerSecond(1500.0)).await;
}

#[tokio::test]
async fn two_workers_keep_the_limit_in_a_flood() {
    the_limit_is_kept(2, Protocol::Http1, Offered::AsFastAsAnswered).await;
}

/// What one client gets of four workers when it offers so much of its limit.
async fn offered(share: f64) -> Outcomes {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([rule("r", LIMIT, 1.0, &["throttle"])])));
    let proxy = proxy.workers(4).alone().start(&upstream).await;
    let load = Load::new(get("/")).connections(CONNECTIONS).offered_per_second(share * LIMIT);
    load.run(proxy.address(), DURATION).await
}

#[tokio::test]
async fn a_client_within_its_limit_is_never_refused_however_its_connections_spread() {
    let outcomes = offered(0.8).await;
    assert_eq!(outcomes.count(200), outcomes.answers.len());
}

#[tokio::test]
async fn a_client_a_little_over_its_limit_gets_all_of_it() {
    let outcomes = offered(3.0).await;
    let admitted = outcomes.per_second_after_the_first(200);
    assert!((95.0..=105.0).contains(&admitted), "{admitted}/s");
}

#[tokio::test]
async fn a_denied_client_that_hammers_on_stays_out_of_every_worker() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([rule("r", LIMIT, 1.0, &["deny"])])));
    let proxy = proxy.workers(4).alone().start(&upstream).await;

    let load = Load::new(get("/")).connections(CONNECTIONS).offered_per_second(1500.0);
    let outcomes = load.run(proxy.address(), Duration::from_secs(4)).await;
    let later = outcomes.answers.iter().filter(|(at, status)| at.as_secs() >= 1 && *status == 200).count();
    assert_eq!(later, 0, "it came in again while it hammered on");
    assert!(outcomes.count(200) <= 140, "{} passed", outcomes.count(200));
}

#[tokio::test]
async fn workers_that_all_serve_their_first_request_at_once_give_one_burst() {
    let upstream = Upstream::start().await;
    // Whether the first streams meet is chance, so several times.
    for _ in 0..6 {
        let proxy = Proxy::with(enforce(json!([slow_rule("r", 100, &["throttle"])])));
        let proxy = proxy.workers(4).alone().start(&upstream).await;

        let load = Load::new(get("/")).connections(CONNECTIONS).offered_per_second(1500.0);
        let outcomes = load.run(proxy.address(), Duration::from_millis(700)).await;
        let passed = outcomes.count(200);
        assert!((100..=100 + 100 / NEWCOMERS_SHARE).contains(&passed), "{passed} passed");
    }
}

#[tokio::test]
async fn a_client_that_spreads_its_burst_over_new_connections_gets_one_burst() {
    let upstream = Upstream::start().await;
    // A new connection each time, so that the workers take turns; refilled by one in 8 seconds.
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 40, &["throttle"])])));
    let proxy = proxy.workers(4).start(&upstream).await;

    let mut passed = 0;
    for _ in 0..200 {
        passed += served(&mut proxy.http1(), 1, get("/")).await;
    }
    assert!((40..=40 + 40 / NEWCOMERS_SHARE).contains(&passed), "{passed} passed");
}
