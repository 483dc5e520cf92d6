//! What HTTP/2 callers do wrong: streams reset as soon as they are opened, and frames that the protocol forbids.

use serde_json::{Value, json};

use crate::configs::{enforce, served};
use crate::harness::{Builder, Ending, Protocol, Proxy, Tried, Upstream, frames, get, tls, wait};

const PEER: &str = "127.0.0.5";
const OTHER: &str = "127.0.0.6";

/// A rule that admits `burst` errors at once, then one every 8 seconds.
fn slow_errors(burst: u32, actions: &[&str]) -> Value {
    let filter = json!({ "max_h2_error_rate": 0.125, "h2_burst_multiplier": 8.0 * f64::from(burst) });
    json!({ "name": "errors", "filter": filter, "action": actions })
}

fn edge(rule: Value) -> Builder {
    edge_of(rule, true)
}

/// The same, with or without the network filter.
fn edge_of(rule: Value, with_companion: bool) -> Builder {
    let proxy = Proxy::with(enforce(json!([rule]))).use_remote_address(0);
    if with_companion { proxy.companion() } else { proxy }
}

async fn charged(proxy: &Proxy, error: &str, count: u64) {
    proxy.metric_becomes("weir_h2_errors_total", &[("error", error), ("fate", "charged")], count).await;
}

#[tokio::test]
async fn rapid_reset_is_counted_once_each_and_bans_who_does_it() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(20, &["log", "block"])).tls().start(&upstream).await;
    let mut streams = proxy.dial().from(PEER).streams().await.unwrap();
    assert_eq!(streams.reset_at_once(20, &get("/delay/5000")).await, 20);
    charged(&proxy, "reset", 20).await;
    assert_eq!(streams.finish(&get("/")).await, Some(200), "within the rate");
    streams.reset_at_once(1, &get("/delay/5000")).await;
    charged(&proxy, "reset", 21).await;
    assert_eq!(streams.finish(&get("/")).await, Some(403));
    assert_eq!(streams.ending().await, Ending::Closed);
    assert_eq!(proxy.dial().from(PEER).http1().attempt(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(proxy.dial().from(OTHER).http2().attempt(get("/")).await, Tried::Answered(200));
    let bans = proxy.events_where(1, "a ban", |event| event["event.action"] == "ban").await;
    assert_eq!(
        (&bans[0]["weir.subject"], &bans[0]["rule.name"]),
        (&json!(format!("client:{PEER}")), &json!("errors"))
    );
    let events = proxy.events_where(1, "the rule", |event| event["weir.counted"] == "h2_errors").await;
    assert_eq!(events.len(), 1, "{events:#?}");
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn streams_that_end_well_count_for_nothing_however_their_connection_ends() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(1, &["block"])).start(&upstream).await;
    let dial = proxy.dial().from(PEER);
    let mut streams = dial.streams().await.unwrap();
    for _ in 0..10 {
        assert_eq!(streams.finish(&get("/")).await, Some(200));
    }
    drop(streams);
    // Open streams, and the connection goes: no stream was reset.
    let mut raw = dial.raw(Protocol::Http2).await.unwrap();
    raw.send(&[frames::preface(), frames::get(1, "/delay/5000"), frames::get(3, "/delay/5000")].concat())
        .await;
    proxy.metric_becomes("weir_requests_in_flight", &[], 2).await;
    drop(raw);
    let mut http1 = dial.raw(Protocol::Http1).await.unwrap();
    http1.send(b"GET /delay/5000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    proxy.metric_becomes("weir_connections_open", &[], 1).await;
    drop(http1);
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    for error in ["reset", "protocol"] {
        charged(&proxy, error, 0).await;
    }
    assert_eq!(served(&mut dial.http2(), 1, get("/")).await, 1);
}

#[tokio::test]
async fn a_reset_after_the_answer_has_begun_counts_too() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(100, &["log"])).start(&upstream).await;
    let mut streams = proxy.dial().from(PEER).streams().await.unwrap();
    assert_eq!(streams.reset_after_headers(&get("/late/5000")).await, Some(200));
    charged(&proxy, "reset", 1).await;
}

#[tokio::test]
async fn a_breach_of_the_protocol_counts_once_however_many_streams_are_open() {
    let upstream = Upstream::start().await;
    for with_companion in [true, false] {
        let proxy = edge_of(slow_errors(100, &["log"]), with_companion).start(&upstream).await;
        let mut raw = proxy.dial().from(PEER).raw(Protocol::Http2).await.unwrap();
        let gets = [1, 3, 5].map(|stream| frames::get(stream, "/delay/5000")).concat();
        raw.send(&[frames::preface(), gets].concat()).await;
        proxy.metric_becomes("weir_requests_in_flight", &[], 3).await;
        raw.send(&frames::data(0, b"illegal")).await;
        assert_eq!(raw.goaway().await, Some(frames::PROTOCOL_ERROR));
        charged(&proxy, "protocol", 1).await;
        proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
        charged(&proxy, "protocol", 1).await;
        charged(&proxy, "reset", 0).await;
        proxy.assert_never_trapped().await;
    }
}

#[tokio::test]
async fn a_breach_without_an_open_stream_is_seen_by_the_network_filter() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(1, &["block"])).start(&upstream).await;
    for illegal in [frames::data(0, b"illegal"), frames::get_with(1, "/", &[("Upper", "case")])] {
        let mut raw = proxy.dial().from(PEER).raw(Protocol::Http2).await.unwrap();
        raw.send(&[frames::preface(), illegal].concat()).await;
        raw.closes().await;
    }
    charged(&proxy, "protocol", 2).await;
    assert_eq!(proxy.dial().from(PEER).http1().attempt(get("/")).await, Tried::ClosedUnanswered, "banned");
}

#[tokio::test]
async fn malformed_http1_is_no_error_of_http2() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(1, &["block"])).start(&upstream).await;
    let dial = proxy.dial().from(PEER);
    let long = [b"GET / HTTP/1.1\r\nhost: a\r\nx: ", &[b'x'; 100_000][..], b"\r\n\r\n"].concat();
    for garbage in [
        b"\x00\x01\x02\r\n\r\n",
        &b"GET / HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nno number\r\n",
        &long,
    ] {
        let mut raw = dial.raw(Protocol::Http1).await.unwrap();
        raw.send(garbage).await;
        raw.closes().await;
    }
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    charged(&proxy, "protocol", 0).await;
    assert_eq!(dial.http1().attempt(get("/")).await, Tried::Answered(200));
}

#[tokio::test]
async fn what_never_becomes_http_is_no_error_of_http2() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(1, &["block"])).tls().start(&upstream).await;
    let dial = proxy.dial().from(PEER);
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"[..],
        b"\x16\x03\x01\xff\xff",
        &tls::hello()[..100],
        &tls::hello(),
    ] {
        let mut raw = dial.plain().raw(Protocol::Http1).await.unwrap();
        raw.send(bytes).await;
        raw.send_end().await;
        raw.closes().await;
    }
    let mut raw = dial.raw(Protocol::Http2).await.unwrap();
    raw.send(b"no preface at all, of any protocol\r\n\r\n").await;
    raw.closes().await;
    proxy.metric_becomes("weir_connections_open", &[], 0).await;
    charged(&proxy, "protocol", 1).await;
    charged(&proxy, "reset", 0).await;
    assert_eq!(dial.http1().attempt(get("/")).await, Tried::Answered(200));
}

#[tokio::test]
async fn what_we_end_ourselves_is_no_error_of_the_caller() {
    let upstream = Upstream::start().await;
    let close = json!({ "name": "closing", "filter": { "max_req_rate": 0.125, "req_burst_multiplier": 8 }, "action": ["close"] });
    let proxy =
        Proxy::with(enforce(json!([close, slow_errors(1, &["block"])]))).use_remote_address(0).companion();
    let proxy = proxy.start(&upstream).await;
    for _ in 0..4 {
        let mut streams = proxy.dial().from(PEER).streams().await.unwrap();
        let open = streams.leave_open(&get("/delay/5000")).await;
        streams.finish(&get("/")).await;
        assert_eq!(streams.ending().await, Ending::Closed);
        drop(open);
    }
    proxy.metric_becomes("weir_requests_in_flight", &[], 0).await;
    for error in ["reset", "protocol"] {
        charged(&proxy, error, 0).await;
    }
    proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn what_a_proxy_s_connection_causes_is_charged_to_no_client_behind_it() {
    let upstream = Upstream::start().await;
    for with_companion in [true, false] {
        // The last X-Forwarded-For entry is the client: the connection is a proxy's.
        let proxy = Proxy::with(enforce(json!([slow_errors(1, &["block"])])));
        let proxy = if with_companion { proxy.companion() } else { proxy };
        let proxy = proxy.start(&upstream).await;
        let mut streams = proxy.streams().await;
        streams.reset_at_once(10, &get("/delay/5000").client("203.0.113.7")).await;
        let shared = [("error", "reset"), ("fate", "shared")];
        proxy.metric_becomes("weir_h2_errors_total", &shared, 10).await;
        assert_eq!(streams.finish(&get("/").client("203.0.113.7")).await, Some(200));
        assert_eq!(streams.finish(&get("/").client("203.0.113.8")).await, Some(200));
        charged(&proxy, "reset", 0).await;
        proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
    }
}

#[tokio::test]
async fn who_makes_too_many_errors_is_answered_429_until_the_rate_allows_more_on_every_worker() {
    let upstream = Upstream::start().await;
    let rule = json!({ "name": "errors", "filter": { "max_h2_error_rate": 2, "h2_burst_multiplier": 5 }, "action": ["throttle"] });
    let proxy = Proxy::with(enforce(json!([rule]))).use_remote_address(0).workers(2).start(&upstream).await;
    let mut streams = proxy.dial().from(PEER).streams().await.unwrap();
    streams.reset_at_once(40, &get("/delay/5000")).await;
    wait::until("both workers to refuse", async || {
        let tried = proxy.dial().from(PEER).ask_anew(16, &get("/")).await;
        match tried.iter().all(|tried| *tried == Tried::Answered(429)) {
            true => Ok(()),
            false => Err(format!("{tried:?}")),
        }
    })
    .await;
    assert_eq!(proxy.dial().from(OTHER).http1().attempt(get("/")).await, Tried::Answered(200));
    wait::until("the errors to be repaid", async || {
        match proxy.dial().from(PEER).http1().attempt(get("/")).await {
            Tried::Answered(200) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn to_close_for_errors_ends_the_connection_and_leaves_the_client_alone() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(5, &["log", "close"])).start(&upstream).await;
    let mut streams = proxy.dial().from(PEER).streams().await.unwrap();
    streams.reset_at_once(6, &get("/delay/5000")).await;
    assert_eq!(streams.ending().await, Ending::Closed);
    assert_eq!(proxy.dial().from(PEER).http2().attempt(get("/")).await, Tried::Answered(200));
    proxy.metric_becomes("weir_connections_closed_total", &[("outcome", "closed")], 1).await;
    proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
}

#[tokio::test]
async fn a_reset_counts_whatever_code_it_has() {
    let upstream = Upstream::start().await;
    let proxy = edge(slow_errors(100, &["log"])).start(&upstream).await;
    let mut raw = proxy.dial().from(PEER).raw(Protocol::Http2).await.unwrap();
    raw.send(&frames::preface()).await;
    for (stream, code) in [(1, 0), (3, 0), (5, 7), (7, 8), (9, u32::MAX)] {
        raw.send(&[frames::get(stream, "/delay/5000"), frames::reset_with(stream, code)].concat()).await;
    }
    charged(&proxy, "reset", 5).await;
    charged(&proxy, "protocol", 0).await;
}

#[tokio::test]
async fn a_breach_that_leaves_the_connection_open_counts_each_time() {
    let upstream = Upstream::start().await;
    for with_companion in [true, false] {
        let proxy = edge_of(slow_errors(100, &["log"]), with_companion).start(&upstream).await;
        let mut raw = proxy.dial().from(PEER).raw(Protocol::Http2).await.unwrap();
        raw.send(&frames::preface()).await;
        for stream in [1, 3, 5] {
            raw.send(&[frames::post(stream, "/", 5), frames::last_data(stream, b"abc")].concat()).await;
        }
        raw.send(&frames::get(7, "/")).await;
        assert!(raw.answered(7).await, "the connection is open");
        charged(&proxy, "protocol", 3).await;
        proxy.assert_never_trapped().await;
    }
}

#[tokio::test]
async fn a_breach_on_a_proxy_s_connection_is_charged_to_nobody() {
    let upstream = Upstream::start().await;
    for (hops, told) in [(None, "the last entry of X-Forwarded-For"), (Some(1), "a trusted proxy")] {
        let proxy = Proxy::with(enforce(json!([slow_errors(1, &["block"])]))).companion();
        let proxy = if let Some(hops) = hops { proxy.use_remote_address(hops) } else { proxy };
        let proxy = proxy.start(&upstream).await;
        for _ in 0..3 {
            let mut raw = proxy.raw().await;
            let behind = frames::get_with(1, "/", &[("x-forwarded-for", "203.0.113.7")]);
            raw.send(&[frames::preface(), behind].concat()).await;
            assert!(raw.answered(1).await, "{told}");
            raw.send(&frames::get_with(3, "/", &[("Upper", "case")])).await;
            raw.closes().await;
        }
        let shared = [("error", "protocol"), ("fate", "shared")];
        proxy.metric_becomes("weir_h2_errors_total", &shared, 3).await;
        charged(&proxy, "protocol", 0).await;
        proxy.metric_becomes("weir_bans_issued_total", &[], 0).await;
    }
}
