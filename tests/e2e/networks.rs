//! The number of a client's network, which the operator's Envoy looks up, is a key like others.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with, with_filter};
use crate::harness::{Proxy, Upstream, get};

/// A filter before Weir writes the number into a filter state: here from a header, in earnest from a database.
fn number_from_header(listener: &mut Value) {
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    let filters = manager["http_filters"].as_array_mut().unwrap();
    filters.insert(0, json!({
        "name": "envoy.filters.http.set_filter_state",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config",
            "on_request_headers": [{
                "object_key": "weir.asn",
                "factory_key": "envoy.string",
                "format_string": { "text_format_source": { "inline_string": "%REQ(x-asn)%" }, "omit_empty_values": true },
                "skip_if_empty": true,
            }],
        },
    }));
}

fn by_network(action: &str) -> Value {
    let rule = with_filter(slow_rule("network", 4, &[action]), json!({ "key": "network" }));
    with(enforce(json!([rule])), "network", json!({ "asn": { "filter_state": "weir.asn" } }))
}

#[tokio::test]
async fn all_addresses_of_a_network_have_one_limit() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(by_network("throttle")).workers(2).edit_listener(number_from_header);
    let proxy = proxy.start(&upstream).await;

    let mut passed = [0, 0];
    for host in 1..=10 {
        for (passed, number) in passed.iter_mut().zip(["64500", "64501"]) {
            let ask = get("/").client(&format!("203.0.113.{host}")).header("x-asn", number);
            *passed += served(&mut proxy.http1(), 1, ask).await;
        }
    }
    assert_eq!(passed, [4, 4]);
    assert_eq!(served(&mut proxy.http1(), 10, get("/")).await, 10, "of no known network");
    let garbage = get("/").header("x-asn", "AS-64500 and more");
    assert_eq!(served(&mut proxy.http1(), 10, garbage).await, 10, "no number, no network");
    proxy.metric_becomes("weir_facts_missing_total", &[("fact", "key")], 20).await;
    proxy.assert_never_trapped().await;
}

#[tokio::test]
async fn a_network_may_be_banned() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(by_network("block")).edit_listener(number_from_header).start(&upstream).await;
    let of = |number: &str| get("/").header("x-asn", number);

    assert_eq!(served(&mut proxy.http1(), 10, of("64500").client("203.0.113.1")).await, 4);
    assert_eq!(served(&mut proxy.http1(), 1, of("64500").client("198.51.100.1")).await, 0);
    assert_eq!(served(&mut proxy.http1(), 4, of("64501").client("203.0.113.1")).await, 4);
    let bans = proxy.events_where(1, "a ban", |event| event["event.action"] == "ban").await;
    assert_eq!(bans[0]["weir.subject"], "network:64500", "{bans:#?}");
}
