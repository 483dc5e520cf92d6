//! The header that says why, for who is to find out: on what is refused and on what passes, and only where it is asked for.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with};
use crate::harness::{Answer, Proxy, Upstream, get, grpc};

const WHY: &str = "x-weir-why";

fn explained(config: Value) -> Value {
    with(config, "policy", json!({ "why_header": "X-Weir-Why" }))
}

fn why(answer: &Answer) -> &str {
    assert_eq!(answer.headers.get_all(WHY).iter().count(), 1, "{answer:#?}");
    answer.header(WHY).unwrap()
}

#[tokio::test]
async fn a_refusal_says_why_where_that_is_asked_for() {
    let upstream = Upstream::start().await;
    let config = explained(enforce(json!([slow_rule("excess", 1, &["throttle"])])));
    let proxy = Proxy::with(config).start(&upstream).await;

    for (mut client, address) in [(proxy.http1(), "203.0.113.1"), (proxy.http2(), "203.0.113.2")] {
        let passed = client.send(get("/").client(address)).await;
        assert_eq!((passed.status.as_u16(), passed.header(WHY)), (200, None), "nothing to say of it");
        let refused = client.send(get("/").client(address)).await;
        assert_eq!(refused.status, 429);
        let expected = format!("action=throttle rule=excess score=0 subject=client:{address}");
        assert_eq!(why(&refused), expected);
    }
    let refused = proxy.http2().send(grpc("/a.B/c").client("203.0.113.1")).await;
    assert_eq!(refused.grpc_status(), Some("8"));
    assert!(why(&refused).contains("rule=excess"), "{refused:#?}");
}

#[tokio::test]
async fn a_request_that_only_would_be_refused_says_so_on_the_upstreams_answer() {
    let upstream = Upstream::start().await;
    let config = json!({ "mode": "observe", "rules": [slow_rule("excess", 1, &["deny"])] });
    let proxy = Proxy::with(explained(config)).start(&upstream).await;

    for (mut client, address) in [(proxy.http1(), "203.0.113.1"), (proxy.http2(), "203.0.113.2")] {
        assert_eq!(served(&mut client, 1, get("/").client(address)).await, 1);
        for path in ["/", "/status/404"] {
            let passed = client.send(get(path).client(address)).await;
            let expected = format!("action=observe:deny rule=excess score=0 subject=client:{address}");
            assert_eq!(why(&passed), expected, "{path}");
        }
    }
    assert_eq!(upstream.requests("/status/404"), 2);
}

#[tokio::test]
async fn a_request_that_was_held_says_so_when_it_is_served() {
    let upstream = Upstream::start().await;
    let policy = json!({ "why_header": WHY, "tarpit": { "delay_ms": 100 } });
    let config = with(enforce(json!([slow_rule("slow", 1, &["tarpit"])])), "policy", policy);
    let proxy = Proxy::with(config).start(&upstream).await;

    let mut client = proxy.http1();
    assert_eq!(served(&mut client, 1, get("/")).await, 1);
    let held = client.send(get("/")).await;
    assert_eq!(held.status, 200);
    assert!(why(&held).starts_with("action=tarpit rule=slow "), "{held:#?}");
}

/// Envoy adds the header to each request's answer before Weir sees it.
#[tokio::test]
async fn the_upstream_cannot_speak_for_weir() {
    let upstream = Upstream::start().await;
    let config = json!({ "mode": "observe", "rules": [slow_rule("excess", 1, &["deny"])] });
    let proxy = Proxy::with(explained(config)).edit_listener(|listener| {
        let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
        let filters = manager["http_filters"].as_array_mut().unwrap();
        let forged = json!({ "append": { "header": { "key": WHY, "value": "forged" } } });
        filters.insert(1, json!({
            "name": "envoy.filters.http.header_mutation",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
                "mutations": { "response_mutations": [forged.clone(), forged] },
            },
        }));
    });
    let proxy = proxy.start(&upstream).await;

    let mut client = proxy.http1();
    let unnoticed = client.send(get("/")).await;
    assert_eq!(
        (unnoticed.status.as_u16(), unnoticed.headers.get(WHY)),
        (200, None),
        "not even where Weir has nothing to say"
    );
    assert!(why(&client.send(get("/")).await).starts_with("action=observe:deny rule=excess "));
}

#[tokio::test]
async fn nobody_is_told_why_unasked() {
    let upstream = Upstream::start().await;
    for mode in ["observe", "enforce"] {
        let config = json!({ "mode": mode, "rules": [slow_rule("excess", 1, &["deny"])] });
        let proxy = Proxy::with(config).start(&upstream).await;
        for answer in proxy.http1().send_times(3, get("/").header(WHY, "please")).await {
            let all = format!("{:?} {:?}", answer.headers, answer.body);
            assert!(!all.contains("excess") && !all.contains("weir-why"), "{all}");
        }
    }
}
