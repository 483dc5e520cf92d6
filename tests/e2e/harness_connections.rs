//! The harness itself, below HTTP: addresses, TLS, fingerprints, networks, connections and streams that break off.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::harness::{
    Builder, Dial, Ending, Load, Lost, Protocol, Proxy, Tried, Update, Upstream, frames, get, tls,
};

/// Slow enough that a test is over before it answers.
const SLOW: &str = "/delay/5000";

/// Envoy takes one connection, and closes every later one before it shakes hands.
fn one_connection(listener: &mut Value) {
    let filters = listener["filter_chains"][0]["filters"].as_array_mut().unwrap();
    filters.insert(0, json!({
        "name": "envoy.filters.network.local_ratelimit",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "one",
            "token_bucket": { "max_tokens": 1, "fill_interval": "3600s" },
        },
    }));
}

fn maybe_with_tls(tls: bool) -> Builder {
    let proxy = Proxy::with("{}");
    if tls { proxy.tls() } else { proxy }
}

#[tokio::test]
async fn a_client_has_the_address_and_the_network_that_it_connects_from() {
    let upstream = Upstream::start().await;
    let table = [("127.0.0.4/30", 64500), ("127.0.0.5/32", 4_200_000_000), ("2001:db8::/32", 64502)];
    let proxy = Proxy::with("{}").use_remote_address(0).geoip(&table);
    let proxy = proxy.fingerprint_state("weir.ja4", "of my own").start(&upstream).await;

    proxy.http1().from("127.0.0.4").send(get("/")).await;
    proxy.dial().from("127.0.0.5").http2().send(get("/")).await;
    proxy.dial().from("127.0.0.6").streams().await.unwrap().finish(&get("/")).await.unwrap();
    let mut raw = proxy.dial().from("127.0.0.8").raw(Protocol::Http1).await.unwrap();
    raw.send(b"GET / HTTP/1.1\r\nhost: weir.test\r\n\r\n").await;
    assert_eq!(raw.answer().await.unwrap().status, 200);
    assert_eq!(proxy.dial().from("127.1.2.3").ask_anew(1, &get("/")).await, [Tried::Answered(200)]);
    let load = Load::new(get("/")).from("127.0.0.7").offered_per_second(10.0);
    assert_eq!(load.run(proxy.address(), Duration::from_millis(50)).await.count(200), 1);

    let seen: Vec<_> = proxy.access_log(6).await.into_iter().map(|l| (l.client.unwrap(), l.asn)).collect();
    let expected = [
        ("127.0.0.4", Some("64500")),
        ("127.0.0.5", Some("4200000000")),
        ("127.0.0.6", Some("64500")),
        ("127.0.0.8", None),
        ("127.1.2.3", None),
        ("127.0.0.7", Some("64500")),
    ];
    assert_eq!(seen, expected.map(|(client, asn)| (client.to_owned(), asn.map(str::to_owned))));
    assert!(proxy.access_log(6).await.iter().all(|line| line.ja4.as_deref() == Some("of my own")));
}

#[tokio::test]
async fn every_tls_client_gets_through_and_its_fingerprints_are_in_the_access_log() {
    const OTHER: &str = "ECDHE-ECDSA-AES128-GCM-SHA256";
    let upstream = Upstream::start().await;
    let proxy = Proxy::with("{}").tls().use_remote_address(0).start(&upstream).await;
    let from = "127.0.0.9";

    for _ in 0..2 {
        assert_eq!(proxy.http1().send(get("/")).await.text(), "hello");
        assert_eq!(proxy.http2().from(from).send(get("/")).await.status, 200);
        assert_eq!(proxy.dial().from(from).openssl(get("/")).await, Tried::Answered(200));
        assert_eq!(proxy.dial().openssl_with(OTHER, get("/")).await, Tried::Answered(200));
    }
    let lines = proxy.access_log(8).await;
    assert_eq!(lines[1].client.as_deref(), Some(from));
    assert_eq!(lines[2].client.as_deref(), Some(from));
    let ja3: Vec<&str> = lines.iter().map(|line| line.ja3.as_deref().unwrap()).collect();
    let ja4: Vec<&str> = lines.iter().map(|line| line.ja4.as_deref().unwrap()).collect();
    assert!(ja3.iter().all(|hash| hash.len() == 32), "{ja3:?}");
    assert!(ja4.iter().all(|text| text.len() == 36), "{ja4:?}");
    assert_eq!(ja4[..4], ja4[4..], "the same client has the same JA4");
    assert_eq!(ja3[2..4], ja3[6..8], "the same client has the same JA3, if it is OpenSSL");
    assert_eq!(HashSet::<&&str>::from_iter(&ja4).len(), 4, "each client has its own: {ja4:?}");
    assert_eq!(HashSet::<&&str>::from_iter(&ja3[..4]).len(), 4, "each client has its own: {ja3:?}");

    assert_eq!(proxy.dial().shake_and_drop(5).await, 5);
    let mut streams = proxy.streams().await;
    assert_eq!(streams.finish(&get("/")).await, Some(200));
    let mut raw = proxy.dial().raw(Protocol::Http2).await.unwrap();
    raw.send(&[frames::preface(), frames::get(1, "/")].concat()).await;
    assert!(raw.answered(1).await);
    let load = Load::new(get("/")).tls().protocol(Protocol::Http2).offered_per_second(10.0);
    assert_eq!(load.run(proxy.address(), Duration::from_millis(50)).await.count(200), 1);
}

#[tokio::test]
async fn a_connection_refused_before_the_handshake_is_told_from_others() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with("{}").tls().edit_listener(one_connection).start(&upstream).await;
    let mut first = proxy.http1();
    assert_eq!(first.attempt(get("/")).await, Tried::Answered(200));

    assert_eq!(proxy.http1().attempt(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(proxy.http2().attempt(get("/")).await, Tried::ClosedInHandshake);
    assert_eq!(proxy.dial().openssl(get("/")).await, Tried::ClosedInHandshake);
    assert!(matches!(proxy.dial().streams().await, Err(Lost::InHandshake)));
    assert_eq!(proxy.dial().shake_and_drop(20).await, 0);
    assert_eq!(proxy.dial().ask_anew(2, &get("/")).await, [Tried::ClosedInHandshake; 2]);
    let refused = proxy.connection_log(26).await;
    assert!(refused.iter().all(|line| line.ja4.is_some()), "{refused:#?}");

    assert_eq!(first.attempt(get("/")).await, Tried::Answered(200));
    assert_eq!((first.opened(), first.is_closed()), (1, false));
    assert_eq!(upstream.total(), 2);
}

#[tokio::test]
async fn a_plaintext_connection_that_is_refused_gets_no_answer() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with("{}").edit_listener(one_connection).start(&upstream).await;

    let tried = proxy.dial().ask_anew(20, &get("/")).await;
    assert_eq!(tried.iter().filter(|tried| **tried == Tried::Answered(200)).count(), 1, "{tried:?}");
    assert_eq!(tried.iter().filter(|tried| **tried == Tried::ClosedUnanswered).count(), 19, "{tried:?}");
    assert_eq!(proxy.http2().attempt(get("/")).await, Tried::ClosedUnanswered);
    assert_eq!(proxy.streams().await.ending().await, Ending::Closed);
    proxy.dial().open_and_drop(20).await;
    proxy.connection_log(42).await;
}

#[tokio::test]
async fn a_client_knows_when_the_proxy_closes_its_connection() {
    let upstream = Upstream::start().await;
    for tls in [false, true] {
        let mut proxy = maybe_with_tls(tls).start(&upstream).await;
        let (mut http1, mut http2, mut streams) = (proxy.http1(), proxy.http2(), proxy.streams().await);
        assert_eq!(http1.send(get("/")).await.text(), "hello");
        assert_eq!(http2.send(get("/")).await.text(), "hello");
        assert_eq!(streams.finish(&get("/")).await, Some(200));
        assert!(!http1.is_closed() && !http2.is_closed() && !streams.is_closed());

        // Without time to drain the update ends every connection.
        assert_eq!(proxy.reconfigure(json!({ "mode": "observe" })).await, Update::Accepted);
        http1.closes().await;
        http2.closes().await;
        assert_eq!(streams.ending().await, Ending::Closed);

        assert_eq!(http1.send(get("/")).await.text(), "hello");
        assert_eq!((http1.opened(), http1.is_closed()), (2, false));
    }
}

#[tokio::test]
async fn streams_end_as_the_test_wills() {
    let upstream = Upstream::start().await;
    for tls in [false, true] {
        let proxy = maybe_with_tls(tls).start(&upstream).await;
        let mut streams = proxy.streams().await;

        assert_eq!(streams.finish(&get("/")).await, Some(200));
        assert_eq!(streams.reset_at_once(10, &get(SLOW)).await, 10);
        assert_eq!(streams.reset_after_headers(&get("/late/5000")).await, Some(200));
        assert_eq!(streams.finish(&get("/late/10")).await, Some(200));
        let lines = proxy.access_log(13).await;
        let resets = |path: &str| {
            lines
                .iter()
                .filter(|l| l.path.as_deref() == Some(path) && l.flags.as_deref() == Some("DR"))
                .count()
        };
        assert_eq!([SLOW, "/late/5000", "/late/10", "/"].map(resets), [10, 1, 0, 0], "{lines:#?}");
        assert!(lines.iter().all(|line| line.connection == lines[0].connection));

        let open = streams.leave_open(&get(SLOW)).await;
        assert!(open.is_some() && !streams.is_closed());
        // Envoy's own limit of early resets.
        streams.reset_at_once(400, &get(SLOW)).await;
        assert_eq!(streams.ending().await, Ending::Closed);
    }
}

#[tokio::test]
async fn the_error_that_ends_a_connection_is_known() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let streams = Dial::to(server.local_addr().unwrap()).streams().await.unwrap();
    let (mut accepted, _) = server.accept().await.unwrap();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let goaway = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
    accepted.write_all(&[&settings[..], &goaway].concat()).await.unwrap();
    assert_eq!(streams.ending().await, Ending::GoAway(11));
}

#[tokio::test]
async fn illegal_frames_end_a_connection_with_their_error() {
    let upstream = Upstream::start().await;
    for tls in [false, true] {
        let proxy = maybe_with_tls(tls).start(&upstream).await;
        let mut raw = proxy.dial().raw(Protocol::Http2).await.unwrap();
        raw.send(&[frames::preface(), frames::get(1, SLOW), frames::reset(1), frames::get(3, "/")].concat())
            .await;
        assert!(raw.answered(3).await);
        raw.send(&[frames::get(5, SLOW), frames::get(7, SLOW), frames::data(0, b"illegal")].concat()).await;
        assert_eq!(raw.goaway().await, Some(frames::PROTOCOL_ERROR));

        let lines = proxy.access_log(4).await;
        let flags = |flags| lines.iter().filter(|line| line.flags.as_deref() == flags).count();
        assert_eq!([None, Some("DR"), Some("DPE")].map(flags), [1, 1, 2], "{lines:#?}");

        let mut raw = proxy.dial().raw(Protocol::Http2).await.unwrap();
        raw.send(&[frames::preface(), frames::get_with(1, "/", &[("Upper", "case")])].concat()).await;
        assert!(!raw.answered(1).await);
    }
}

#[tokio::test]
async fn a_tls_listener_gets_half_a_handshake_plain_text_or_nothing() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with("{}").tls().start(&upstream).await;

    let silent = proxy.dial().silent(5).await;
    let mut half = proxy.raw().await;
    half.send(&tls::hello()[..100]).await;
    let mut plain = proxy.raw().await;
    plain.send(b"GET / HTTP/1.1\r\nhost: weir.test\r\n\r\n").await;
    assert!(plain.answer().await.is_none());
    assert_eq!(proxy.dial().plain().http1().attempt(get("/")).await, Tried::ClosedUnanswered);
    let lines = proxy.connection_log(2).await;
    assert!(lines.iter().all(|line| line.ja4.is_none() && line.failure.is_some()), "{lines:#?}");

    assert_eq!(proxy.http1().send(get("/")).await.status, 200);
    drop((silent, half));
    proxy.dial().open_and_drop(5).await;
    let ended = proxy.connection_log(14).await;
    // Envoy numbers a connection when its ClientHello has been read.
    assert_eq!(ended.iter().filter(|line| line.connection == 0).count(), 11, "{ended:#?}");
    assert_eq!(Dial::to(proxy.address()).tls().http1().attempt(get("/")).await, Tried::Answered(200));
}
