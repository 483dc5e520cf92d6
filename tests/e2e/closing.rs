//! The action `close`: the answer arrives whole, then the connection ends.

use std::time::Duration;

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with};
use crate::harness::{Load, Proxy, Tried, Upstream, get, post};

const PEER: &str = "127.0.0.5";

fn closing(burst: u32) -> Value {
    enforce(json!([slow_rule("r", burst, &["log", "close"])]))
}

#[tokio::test]
async fn the_answer_arrives_whole_and_then_the_connection_ends() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(closing(2)).use_remote_address(0).companion().tls().start(&upstream).await;
    for (client, what) in [("127.0.0.5", "HTTP/1.1"), ("127.0.0.6", "HTTP/2")] {
        let dial = proxy.dial().from(client);
        let mut client = if what == "HTTP/2" { dial.http2() } else { dial.http1() };
        assert_eq!(served(&mut client, 2, get("/")).await, 2);
        let answer = client.send(get("/")).await;
        assert_eq!((answer.status.as_u16(), answer.text()), (403, "This request was refused.\n"), "{what}");
        client.closes().await;
        assert_eq!(dial.http1().attempt(get("/")).await, Tried::Answered(403), "connections are not refused");
    }
    // The short ones were closed by their client.
    proxy.metric_becomes("weir_connections_closed_total", &[("outcome", "closed")], 2).await;
    proxy.metric_becomes("weir_actions_total", &[("action", "close"), ("mode", "enforce")], 4).await;
    proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_request_with_a_body_is_answered_before_its_connection_ends() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(closing(1)).use_remote_address(0).companion().start(&upstream).await;
    for dial in [proxy.dial().from("127.0.0.7"), proxy.dial().from("127.0.0.8")] {
        assert_eq!(dial.http1().attempt(get("/")).await, Tried::Answered(200));
        for mut client in [dial.http1(), dial.http2()] {
            let answer = client.send(post("/").body(&[b'x'; 60_000])).await;
            assert_eq!(answer.status, 403);
            client.closes().await;
        }
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn many_connections_end_at_once_and_other_streams_of_the_same_caller_with_them() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(closing(300)).use_remote_address(0).companion().start(&upstream).await;
    let mut clients = Vec::new();
    for _ in 0..150 {
        let mut client = proxy.dial().from(PEER).http1();
        assert_eq!(served(&mut client, 2, get("/")).await, 2);
        clients.push(client);
    }
    let answers = clients.iter_mut().map(|client| client.attempt(get("/")));
    for answer in futures(answers).await {
        assert_eq!(answer, Tried::Answered(403));
    }
    for client in &clients {
        client.closes().await;
    }
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    proxy.assert_never_trapped().await;
}

/// All at once, on this thread.
async fn futures<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (one, done) in &mut all {
            if done.is_none() {
                match one.as_mut().poll(context) {
                    std::task::Poll::Ready(answer) => *done = Some(answer),
                    std::task::Poll::Pending => pending = true,
                }
            }
        }
        if pending { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn without_the_network_filter_it_is_a_denial_and_said_once() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(closing(1)).workers(2).start(&upstream).await;
    let mut client = proxy.http1();
    assert_eq!(served(&mut client, 1, get("/").client("203.0.113.7")).await, 1);
    for _ in 0..10 {
        assert_eq!(client.send(get("/").client("203.0.113.7")).await.status, 403);
    }
    assert_eq!((client.opened(), client.is_closed()), (1, false));
    assert_eq!(proxy.log().matches("close acts as deny").count(), 1);
    proxy.metric_becomes("weir_actions_failed_total", &[("action", "close")], 10).await;
}

#[tokio::test]
async fn the_connection_of_a_proxy_goes_on_for_its_other_clients() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(closing(1)).companion().start(&upstream).await;
    let mut client = proxy.http2();
    assert_eq!(served(&mut client, 1, get("/").client("203.0.113.7")).await, 1);
    assert_eq!(client.send(get("/").client("203.0.113.7")).await.status, 403);
    proxy.metric_becomes("weir_connections_closed_total", &[("outcome", "shared")], 1).await;
    assert_eq!(served(&mut client, 1, get("/").client("203.0.113.8")).await, 1);
    assert_eq!(client.opened(), 1);
}

#[tokio::test]
async fn a_tier_may_close_too() {
    let upstream = Upstream::start().await;
    let traffic = json!({ "bucket_seconds": 1, "warmup_buckets": 1, "learning_buckets": 60, "source_floor_rps": 5, "route": false });
    let tiers = json!({ "tiers": [{ "min_score": 40, "action": "close" }] });
    let weir = with(with(enforce(json!([])), "traffic", traffic), "policy", tiers);
    let proxy = Proxy::with(weir).use_remote_address(0).companion().start(&upstream).await;
    let mut client = proxy.dial().from(PEER).http1();
    let usual = Load::new(get("/")).from(PEER).offered_per_second(2.0);
    usual.run(proxy.address(), Duration::from_secs(3)).await;
    let refused = async {
        for _ in 0..1_000 {
            if client.attempt(get("/")).await == Tried::Answered(403) {
                return true;
            }
        }
        false
    };
    assert!(refused.await, "a thousand requests in a row are a surge");
    client.closes().await;
}

#[tokio::test]
async fn a_connection_that_others_have_used_is_not_ended_for_its_peer_either() {
    let upstream = Upstream::start().await;
    for hops in [None, Some(1)] {
        let proxy = Proxy::with(closing(3)).companion();
        let proxy = if let Some(hops) = hops { proxy.use_remote_address(hops) } else { proxy };
        let proxy = proxy.start(&upstream).await;
        let mut client = proxy.http2();
        assert_eq!(served(&mut client, 1, get("/").client("203.0.113.7")).await, 1);
        assert_eq!(served(&mut client, 3, get("/")).await, 3, "of the peer itself, as a health check is");
        assert_eq!(client.send(get("/")).await.status, 403);
        proxy.metric_becomes("weir_connections_closed_total", &[("outcome", "shared")], 1).await;
        assert_eq!(served(&mut client, 1, get("/").client("203.0.113.8")).await, 1);
        assert_eq!(client.opened(), 1);
    }
}
