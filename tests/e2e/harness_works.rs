//! The harness itself: Envoy starts with the module, every kind of client gets through, updates are told apart.

use serde_json::json;

use crate::harness::{Proxy, Update, Upstream, get, grpc, post};

#[tokio::test]
async fn every_kind_of_client_reaches_the_upstream_through_envoy() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with("{}").workers(2).start(&upstream).await;

    let answer = proxy.http1().send(get("/one?q=1")).await;
    assert_eq!((answer.status.as_u16(), answer.text()), (200, "hello"));
    let answer = proxy.http2().send(post("/two").body(b"body")).await;
    assert_eq!((answer.status.as_u16(), answer.text()), (200, "hello"));
    let answer = proxy.http2().send(grpc("/weir.Test/Call")).await;
    assert_eq!((answer.status.as_u16(), answer.grpc_status()), (200, Some("0")));
    let answer = proxy.http1().send(get("/status/503")).await;
    assert_eq!(answer.status, 503);

    let mut raw = proxy.raw().await;
    raw.send(b"GET /raw HTTP/1.1\r\nhost: weir.test\r\n\r\n").await;
    let answer = raw.answer().await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.text.ends_with("hello"));

    let reached = ["/one?q=1", "/two", "/raw", "/nowhere"].map(|path| upstream.requests(path));
    assert_eq!(reached, [1, 1, 1, 0]);
    assert_eq!(upstream.total(), 5);

    proxy.http2().send(get("/").header("x-sent", "kept").client("203.0.113.7")).await;
    let headers = upstream.last_headers();
    assert_eq!(
        (&headers["x-sent"], &headers["x-forwarded-for"]),
        (&"kept".parse().unwrap(), &"203.0.113.7".parse().unwrap())
    );
}

#[tokio::test]
async fn a_client_address_may_be_chosen_and_is_seen_in_the_access_log() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with("{}").start(&upstream).await;

    proxy.http1().send(get("/").client("203.0.113.7")).await;
    proxy.http2().send(get("/").client("2001:db8::1")).await;
    proxy.http1().send(get("/")).await;

    let clients: Vec<_> = proxy.access_log(3).await.into_iter().map(|line| line.client.unwrap()).collect();
    assert_eq!(clients, ["203.0.113.7", "2001:db8::1", "127.0.0.1"]);
}

#[tokio::test]
async fn the_configuration_changes_while_envoy_runs() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with("{}").workers(2).start(&upstream).await;

    assert_eq!(proxy.reconfigure(json!({ "mode": "observe" })).await, Update::Accepted);
    assert_eq!(proxy.http1().send(get("/")).await.status, 200);
    assert!(proxy.metrics().await.envoy("server.concurrency") == 2);
    proxy.assert_never_trapped().await;
}
