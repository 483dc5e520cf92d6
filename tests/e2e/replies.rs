//! What a refused caller is told, and that programs, browsers and gRPC clients can act on it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::configs::{enforce, rule, served, slow_rule};
use crate::harness::{Answer, Proxy, Upstream, get, grpc, options, post, request};

/// A proxy whose client has used up all it may: five at once, then one every 8 seconds.
async fn exhausted(upstream: &Upstream, action: &str) -> Proxy {
    let proxy = Proxy::with(enforce(json!([slow_rule("confidential", 5, &[action])]))).start(upstream).await;
    assert_eq!(served(&mut proxy.http1(), 5, get("/")).await, 5);
    proxy
}

#[tokio::test]
async fn a_throttled_request_gets_429_and_headers_that_agree() {
    let upstream = Upstream::start().await;
    let proxy = exhausted(&upstream, "throttle").await;

    for mut client in [proxy.http1(), proxy.http2()] {
        let answer = client.send(get("/")).await;
        assert_eq!(answer.status, 429);
        let retry_after = answer.number("retry-after");
        assert!((1..=8).contains(&retry_after), "{retry_after}");
        assert_eq!(answer.header("ratelimit-policy"), Some("\"default\";q=5;w=40"));
        assert_eq!(answer.header("ratelimit"), Some(format!("\"default\";r=0;t={retry_after}").as_str()));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn a_client_is_refused_until_the_promised_instant_and_served_after_it() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([rule("r", 0.5, 4.0, &["throttle"])]))).start(&upstream).await;
    let mut client = proxy.http1();
    assert_eq!(served(&mut client, 2, get("/")).await, 2);

    let answer = client.send(get("/")).await;
    let promised = Instant::now() + Duration::from_secs(answer.number("retry-after"));
    // The promise is rounded up to a second: the last one may already be served.
    let mut last = answer.number("retry-after");
    while Instant::now() + Duration::from_secs(1) < promised {
        let answer = client.send(get("/")).await;
        assert_eq!(answer.status, 429);
        assert!(answer.number("retry-after") <= last, "the promise moves away");
        last = answer.number("retry-after");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep_until(promised.into()).await;
    assert_eq!(client.send(get("/")).await.status, 200);
}

#[tokio::test]
async fn the_body_is_problem_json_for_who_accepts_json_and_text_for_others() {
    let upstream = Upstream::start().await;
    let proxy = exhausted(&upstream, "throttle").await;
    let mut client = proxy.http1();

    for accept in ["application/json", "application/problem+json", "text/plain;q=0.5, application/json"] {
        let answer = client.send(get("/").header("accept", accept)).await;
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{accept}");
        assert_eq!(answer.json()["status"], 429, "{accept}");
        assert!(answer.json()["title"].is_string(), "{accept}");
    }
    for accept in ["text/html,application/xhtml+xml,*/*;q=0.8", "*/*", ""] {
        let answer = client.send(get("/").header("accept", accept)).await;
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"), "{accept}: {answer:?}");
        assert!(!answer.text().trim().is_empty(), "{accept}");
    }
}

#[tokio::test]
async fn a_refusal_does_not_say_which_rule_refused() {
    let upstream = Upstream::start().await;
    for action in ["throttle", "deny"] {
        let proxy = exhausted(&upstream, action).await;
        for accept in ["application/json", "*/*"] {
            let answer = proxy.http1().send(get("/").header("accept", accept)).await;
            assert!(answer.status.is_client_error());
            assert!(
                !format!("{:?} {}", answer.headers, answer.text()).contains("confidential"),
                "{answer:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_denied_request_gets_403_and_no_promise() {
    let upstream = Upstream::start().await;
    let proxy = exhausted(&upstream, "deny").await;

    let answer = proxy.http1().send(get("/").header("accept", "application/json")).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.json()["status"], 403);
    assert_eq!(answer.header("retry-after"), None);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_refused_head_request_gets_no_body_and_the_connection_goes_on() {
    let upstream = Upstream::start().await;
    let proxy = exhausted(&upstream, "throttle").await;
    for mut client in [proxy.http1(), proxy.http2()] {
        let answer = client.send(request("HEAD", "/")).await;
        assert_eq!((answer.status.as_u16(), answer.body.len()), (429, 0));
        assert_eq!(client.send(get("/")).await.status, 429);
    }
}

#[tokio::test]
async fn an_upload_is_refused_before_its_body_has_come() {
    let upstream = Upstream::start().await;
    let proxy = exhausted(&upstream, "throttle").await;
    let mut raw = proxy.raw().await;
    raw.send(b"POST / HTTP/1.1\r\nhost: weir.test\r\ncontent-length: 1000000\r\n\r\nthe beginning").await;
    assert_eq!(raw.answer().await.expect("an answer").status, 429);
}

#[tokio::test]
async fn a_grpc_call_is_refused_in_its_own_terms() {
    let upstream = Upstream::start().await;

    let proxy = exhausted(&upstream, "throttle").await;
    for content_type in ["application/grpc", "application/grpc+proto"] {
        let call = post("/weir.Test/Call").header("content-type", content_type).header("te", "trailers");
        let answer = proxy.http2().send(call).await;
        assert_eq!((answer.status.as_u16(), answer.grpc_status()), (200, Some("8")), "{answer:?}");
        assert!((1..=8000).contains(&answer.number("grpc-retry-pushback-ms")));
        assert!(answer.header("content-type").unwrap().starts_with("application/grpc"));
        assert!(answer.body.is_empty(), "a call without messages has no body: {answer:?}");
    }

    let proxy = exhausted(&upstream, "deny").await;
    let answer = proxy.http2().send(grpc("/weir.Test/Call")).await;
    assert_eq!((answer.status.as_u16(), answer.grpc_status()), (200, Some("7")), "{answer:?}");
    assert_eq!(answer.header("grpc-retry-pushback-ms"), None);
}

#[tokio::test]
async fn a_browser_may_read_the_refusal_of_a_cross_origin_request() {
    let upstream = Upstream::start().await;
    let proxy = exhausted(&upstream, "throttle").await;
    let names = |answer: &Answer, header: &str| answer.header(header).unwrap_or("").to_ascii_lowercase();

    let answer = proxy.http1().send(get("/").header("origin", "https://app.example")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(names(&answer, "access-control-expose-headers").contains("retry-after"), "{answer:?}");
    assert!(
        names(&answer, "vary").contains("origin"),
        "a cache may not hand it to another origin: {answer:?}"
    );

    let answer = proxy.http1().send(get("/")).await;
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn preflights_are_neither_limited_nor_counted() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 5, &["throttle"])]))).start(&upstream).await;
    let mut client = proxy.http1();
    let preflight = || {
        options("/").header("origin", "https://app.example").header("access-control-request-method", "PUT")
    };

    assert_eq!(served(&mut client, 20, preflight()).await, 20);
    assert_eq!(served(&mut client, 10, options("/")).await, 5, "an OPTIONS request alone is no preflight");
    assert_eq!(served(&mut client, 20, preflight()).await, 20);
}
