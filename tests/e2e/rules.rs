//! Several rules: the first that matches wins, and each applies only to what it names.

use serde_json::json;

use crate::configs::{enforce, served, slow_rule, statuses, with, with_filter};
use crate::harness::{Proxy, Upstream, delete, get, post};

#[tokio::test]
async fn the_first_rule_that_matches_answers() {
    let upstream = Upstream::start().await;
    let (throttle, deny) = (slow_rule("slower", 2, &["throttle"]), slow_rule("out", 2, &["deny"]));
    for (rules, refusal) in [(json!([throttle, deny]), 429), (json!([deny, throttle]), 403)] {
        let proxy = Proxy::with(enforce(rules)).start(&upstream).await;
        assert_eq!(statuses(&mut proxy.http1(), 5, get("/")).await, [200, 200, refusal, refusal, refusal]);
    }
}

#[tokio::test]
async fn every_rule_that_applies_counts_each_request() {
    let upstream = Upstream::start().await;
    let rules = json!([slow_rule("wide", 6, &["throttle"]), slow_rule("narrow", 3, &["deny"])]);
    let proxy = Proxy::with(enforce(rules)).start(&upstream).await;

    // The narrow one refuses from the 4th on; the wide one has counted those too.
    let statuses = statuses(&mut proxy.http1(), 8, get("/")).await;
    assert_eq!(statuses, [200, 200, 200, 403, 403, 403, 429, 429]);
}

#[tokio::test]
async fn a_rule_that_is_switched_off_does_nothing() {
    let upstream = Upstream::start().await;
    let rules =
        json!([with(slow_rule("off", 1, &["deny"]), "enabled", false), slow_rule("on", 3, &["throttle"])]);
    let proxy = Proxy::with(enforce(rules)).start(&upstream).await;
    assert_eq!(statuses(&mut proxy.http1(), 5, get("/")).await, [200, 200, 200, 429, 429]);
}

#[tokio::test]
async fn a_rule_for_methods_leaves_other_methods_alone() {
    let upstream = Upstream::start().await;
    let matching = json!({ "match": { "methods": ["POST", "DELETE"] } });
    let proxy = Proxy::with(enforce(json!([with_filter(slow_rule("r", 5, &["throttle"]), matching)])));
    let proxy = proxy.start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 20, get("/")).await, 20);
    assert_eq!(served(&mut client, 3, post("/")).await, 3);
    assert_eq!(served(&mut client, 10, delete("/")).await, 2);
}

#[tokio::test]
async fn no_spelling_of_a_path_escapes_its_rule() {
    let upstream = Upstream::start().await;
    let matching = json!({ "match": { "path_prefix": "/api/" } });
    let proxy = Proxy::with(enforce(json!([with_filter(slow_rule("r", 1, &["throttle"]), matching)])));
    let proxy = proxy.start(&upstream).await;

    for (mut client, client_address) in [(proxy.http1(), "203.0.113.1"), (proxy.http2(), "203.0.113.2")] {
        assert_eq!(served(&mut client, 1, get("/api/users").client(client_address)).await, 1);
        for path in [
            "/api/other",
            "//api/users",
            "/api//users",
            "/%61pi/users",
            "/%61%70%69/users",
            "/ap%69/users",
            "/./api/users",
            "/x/../api/users",
            "/x/%2e%2E/api/users",
            "/x/%2E./api/users",
            "/x//..//api/users",
            "/../api/users",
            "/api;v=1/users",
            "/api/?query",
        ] {
            let passed = served(&mut client, 1, get(path).client(client_address)).await;
            assert_eq!(passed, 0, "{path} escapes");
        }
        for path in ["/", "/apis", "/API/users", "/x/api/", "/api/../x", "/api%2Fusers", "/x?y=/api/"] {
            assert_eq!(
                served(&mut client, 1, get(path).client(client_address)).await,
                1,
                "{path} is another path"
            );
        }
    }
}

#[tokio::test]
async fn a_rule_for_a_host_knows_it_with_port_and_in_capitals() {
    let upstream = Upstream::start().await;
    let matching = json!({ "match": { "host": "api.example.com" } });
    let proxy = Proxy::with(enforce(json!([with_filter(slow_rule("r", 4, &["throttle"]), matching)])));
    let proxy = proxy.start(&upstream).await;

    let mut client = proxy.http1();
    for host in ["api.example.com", "api.example.com:8080", "API.Example.COM", "api.example.com."] {
        assert_eq!(served(&mut client, 1, get("/").host(host)).await, 1, "{host}");
    }
    assert_eq!(served(&mut proxy.http2(), 3, get("/").host("api.example.com")).await, 0);
    for host in ["example.com", "xapi.example.com", "api.example.com.evil.test"] {
        assert_eq!(served(&mut client, 10, get("/").host(host)).await, 10, "{host}");
    }
}

#[tokio::test]
async fn a_rule_for_a_route_goes_by_the_name_that_envoy_gives_it() {
    let upstream = Upstream::start().await;
    let matching = json!({ "match": { "route": "checkout" } });
    let proxy = Proxy::with(enforce(json!([with_filter(slow_rule("r", 3, &["throttle"]), matching)])));
    let proxy = proxy.route("checkout", "/checkout").start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 10, get("/checkout/pay")).await, 3);
    assert_eq!(served(&mut client, 10, get("/catalogue")).await, 10);
}

#[tokio::test]
async fn envoy_may_switch_the_filter_off_for_a_route() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(enforce(json!([slow_rule("r", 3, &["throttle"])]))).route("open", "/open");
    let proxy = proxy.edit_listener(|listener| {
        let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
        manager["route_config"]["virtual_hosts"][0]["routes"][0]["typed_per_filter_config"] = json!({
            "envoy.filters.http.wasm": {
                "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig",
                "disabled": true,
            },
        });
    });
    let proxy = proxy.start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 10, get("/open/x")).await, 10);
    assert_eq!(served(&mut client, 10, get("/x")).await, 3);
    assert_eq!(served(&mut client, 10, get("/open/x")).await, 10);
}

#[tokio::test]
async fn a_composite_key_counts_each_combination_on_its_own() {
    let upstream = Upstream::start().await;
    let key = json!({ "key": ["client", "header:x-tenant"] });
    let proxy = Proxy::with(enforce(json!([with_filter(slow_rule("r", 2, &["throttle"]), key)])));
    let proxy = proxy.start(&upstream).await;
    let mut client = proxy.http1();
    let of_tenant = |tenant| get("/").header("x-tenant", tenant);

    for address in ["203.0.113.7", "203.0.113.8"] {
        assert_eq!(served(&mut client, 5, of_tenant("red").client(address)).await, 2);
        assert_eq!(served(&mut client, 5, of_tenant("blue").client(address)).await, 2);
    }
    assert_eq!(
        served(&mut client, 10, get("/").client("203.0.113.7")).await,
        10,
        "a part of the key is missing"
    );
}
