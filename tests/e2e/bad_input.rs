//! Whatever comes in, from clients or from the operator: never a trap, and whoever behaves is served.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with, with_filter};
use crate::harness::{Proxy, Update, Upstream, get, options, post, request};

/// A configuration that looks at everything a client can send.
fn curious() -> Value {
    let everywhere =
        json!({ "match": { "host": "weir.test", "path_prefix": "/", "methods": ["GET", "POST"] } });
    let by_key = json!({ "key": ["client", "consumer", "header:x-tenant", "cookie:theme", "route"] });
    let from = json!({ "from": [
        { "header": "authorization" }, { "header": "x-api-key" }, { "cookie": "session" }, { "query": "api_key" },
    ] });
    let config = enforce(json!([
        with_filter(slow_rule("by_key", 1, &["log", "throttle"]), by_key),
        with_filter(slow_rule("by_consumer", 2, &["log", "throttle"]), json!({ "key": "consumer" })),
        with_filter(slow_rule("by_client", 10_000, &["log", "throttle"]), everywhere),
    ]));
    let exempt = json!([{ "path": "/healthz" }, { "path_prefix": "/internal/" }]);
    with(with(config, "consumer", from), "exempt", exempt)
}

const NOT_UTF8: &[u8] = b"\xff\xfe\x80 ok \xc3\x28";

#[tokio::test]
async fn header_values_that_are_no_text_or_huge_do_no_harm() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(curious()).workers(2).start(&upstream).await;
    let huge = "x".repeat(50_000);
    let many_cookies = format!("{}session=s; theme=t", "a=b; ".repeat(5_000));

    for mut client in [proxy.http1(), proxy.http2()] {
        for name in [
            "authorization",
            "x-api-key",
            "x-tenant",
            "cookie",
            "accept",
            "origin",
            "access-control-request-method",
            "content-type",
            "user-agent",
            "x-forwarded-for",
        ] {
            for value in [NOT_UTF8, huge.as_bytes(), b"", b";;;===\"\"\",,,", many_cookies.as_bytes()] {
                for ask in [get("/"), post("/?api_key=%ff%zz"), options("/")] {
                    // Twice, so that the refusing path runs too. Envoy itself may refuse or hang up: both are fine.
                    for _ in 0..2 {
                        let _ = client.try_send(ask.clone().header_bytes(name, value)).await;
                    }
                }
            }
        }
        assert_eq!(served(&mut client, 3, get("/").client("203.0.113.7")).await, 3);
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn paths_hosts_and_methods_of_any_shape_do_no_harm() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(curious()).workers(2).start(&upstream).await;
    let deep = "/a".repeat(10_000);
    let dots = "/..".repeat(10_000);
    let escapes = format!("/{}", "%25".repeat(10_000));

    for mut client in [proxy.http1(), proxy.http2()] {
        for path in [
            &deep,
            &dots,
            &escapes,
            "/%",
            "/%2",
            "/%zz%%",
            "/%00%ff%fe",
            "//",
            "/;;;?;",
            "/?",
            "/?api_key",
            "/?api_key=&api_key=%&&==",
            "/.%2e/%2e./",
        ] {
            let _ = client.try_send(get(path)).await;
        }
        for host in
            ["", "a", "[::1]:80", "weir.test:99999", "weir.test.", ":", "[", "x".repeat(5_000).as_str()]
        {
            let host = format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n");
            let mut raw = proxy.raw().await;
            raw.send(host.as_bytes()).await;
            let _ = raw.answer().await;
        }
        for method in ["PURGE", "get", "A-VERY-LONG-METHOD", "HEAD", "TRACE"] {
            let _ = client.try_send(request(method, "/")).await;
        }
        assert_eq!(served(&mut client, 3, get("/").client("203.0.113.7")).await, 3);
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn addresses_that_cannot_be_read_are_nobody_in_particular_and_do_no_harm() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(curious()).start(&upstream).await;
    let mut client = proxy.http1();

    for address in [
        "unknown",
        "_hidden",
        "203.0.113.999",
        "203.0.113.7:80:80",
        "[2001:db8::1]:4711",
        "2001:db8:::1",
        "fe80::1%eth0",
        ",,,",
        "for=203.0.113.7",
        "0.0.0.0",
        "::",
    ] {
        assert_eq!(served(&mut client, 1, get("/").client(address)).await, 1, "{address}");
    }
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn bytes_that_are_no_requests_do_no_harm() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(curious()).workers(2).start(&upstream).await;

    let garbage: Vec<u8> = (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for bytes in [
        garbage.as_slice(),
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET  HTTP/1.1\r\nhost: weir.test\r\n\r\n",
        b"GET * HTTP/1.1\r\nhost: weir.test\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: weir.test\r\n\r\n",
        b"CONNECT weir.test:80 HTTP/1.1\r\nhost: weir.test:80\r\n\r\n",
        b"GET http://other.test/ HTTP/1.1\r\nhost: weir.test\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: weir.test\r\nhost: other.test\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: weir.test\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: weir.test\r\nx-tenant: \x00\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: weir.test\r\n broken: folding\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST / HTTP/1.1\r\nhost: weir.test\r\ncontent-length: 100\r\n\r\nshort",
    ] {
        let mut raw = proxy.raw().await;
        raw.send(bytes).await;
        // Gone before an answer may come: the module may hear of the end first.
        drop(raw);
        let mut raw = proxy.raw().await;
        raw.send(bytes).await;
        raw.send_end().await;
        assert!(raw.closes().await, "the connection hangs after {:?}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(served(&mut proxy.http1(), 3, get("/").client("203.0.113.7")).await, 3);
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn clients_that_leave_at_any_moment_do_no_harm() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(curious()).workers(2).start(&upstream).await;

    for _ in 0..50 {
        let mut raw = proxy.raw().await;
        raw.send(b"GET /delay/50 HTTP/1.1\r\nhost: weir.test\r\n\r\n").await;
        drop(raw);
        let mut client = proxy.http2();
        let left =
            tokio::time::timeout(std::time::Duration::from_millis(5), client.send(get("/delay/50"))).await;
        assert!(left.is_err(), "the client left before the answer");
    }
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    assert_eq!(served(&mut proxy.http1(), 3, get("/").client("203.0.113.7")).await, 3);
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_megabyte_of_garbage_is_refused_as_a_configuration_and_not_repeated_in_the_log() {
    let upstream = Upstream::start().await;
    let mut proxy = Proxy::with(enforce(json!([slow_rule("r", 3, &["throttle"])]))).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 3);
    // Just within what is read at all.
    let size = 1_000_000;
    let noise: String = (0..size as u32)
        .map(|i| char::from(b' ' + (i.wrapping_mul(2_654_435_761) >> 24) as u8 % 95))
        .collect();
    let before = proxy.log().len();

    for (kind, garbage) in [
        ("noise", noise),
        ("an endless array", "[".repeat(size)),
        ("endless objects", "{\"a\":".repeat(size / 5)),
        ("an endless key", format!("{{\"{}\":1}}", "k".repeat(size))),
        (
            "many unknown keys",
            json!((0..60_000).map(|i| (format!("key{i}"), json!(i))).collect::<serde_json::Map<_, _>>())
                .to_string(),
        ),
        (
            "many broken rules",
            json!({ "rules": vec![json!({ "name": "r", "action": ["x"] }); 30_000] }).to_string(),
        ),
        ("an endless number", format!("{{\"tables\":{{\"slots\":{}}}}}", "9".repeat(size))),
        ("control characters", "\u{1}\u{0}\u{7f}\u{2028}\u{10ffff}".repeat(size / 10)),
    ] {
        assert_eq!(proxy.reconfigure(garbage).await, Update::Rejected, "{kind}");
    }

    assert!(proxy.log().len() - before < 500_000, "the log grew by {}", proxy.log().len() - before);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 0, "the running configuration stays");
    proxy.assert_never_trapped().await;
}
