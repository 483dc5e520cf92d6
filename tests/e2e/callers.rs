//! Who is who: clients by their address, and whom rules pass over.

use serde_json::{Value, json};

use crate::configs::{enforce, served, slow_rule, with, with_filter};
use crate::harness::{Proxy, Upstream, get};

fn five_each(client: Value) -> Value {
    with(enforce(json!([slow_rule("r", 5, &["throttle"])])), "client", client)
}

#[tokio::test]
async fn another_client_is_untouched() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_each(json!({}))).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 20, get("/").client("203.0.113.7")).await, 5);
    assert_eq!(served(&mut client, 5, get("/").client("203.0.113.8")).await, 5);
    assert_eq!(served(&mut client, 5, get("/").client("2001:db8::7")).await, 5);
}

#[tokio::test]
async fn addresses_of_one_v6_network_are_one_client() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_each(json!({}))).start(&upstream).await;
    let mut client = proxy.http1();

    for address in
        ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::1", "2001:db8::dead:beef", "2001:0DB8::5"]
    {
        assert_eq!(served(&mut client, 1, get("/").client(address)).await, 1, "{address}");
    }
    assert_eq!(served(&mut client, 5, get("/").client("2001:db8::6")).await, 0);
    assert_eq!(served(&mut client, 5, get("/").client("2001:db8:0:1::6")).await, 5);
}

#[tokio::test]
async fn a_v4_address_in_v6_clothes_is_the_same_client() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_each(json!({}))).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 5, get("/").client("203.0.113.7")).await, 5);
    assert_eq!(served(&mut client, 5, get("/").client("::ffff:203.0.113.7")).await, 0);
    assert_eq!(served(&mut client, 5, get("/").client("::ffff:203.0.113.8")).await, 5);
}

#[tokio::test]
async fn the_operator_chooses_how_much_of_an_address_is_a_client() {
    let upstream = Upstream::start().await;
    let prefixes = json!({ "ipv4_prefix": 24, "ipv6_prefix": 48 });
    let proxy = Proxy::with(five_each(prefixes)).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 5, get("/").client("203.0.113.7")).await, 5);
    assert_eq!(served(&mut client, 5, get("/").client("203.0.113.200")).await, 0);
    assert_eq!(served(&mut client, 5, get("/").client("2001:db8::1")).await, 5);
    assert_eq!(served(&mut client, 5, get("/").client("2001:db8:0:ffff::1")).await, 0);
}

#[tokio::test]
async fn no_header_adds_a_bucket_where_the_peer_is_the_client() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_each(json!({}))).use_remote_address(0).start(&upstream).await;
    let mut client = proxy.http1();

    let mut passed = 0;
    for i in 0..20 {
        let forged = get("/")
            .client(&format!("203.0.113.{i}"))
            .header("x-real-ip", &format!("203.0.113.{i}"))
            .header("forwarded", &format!("for=203.0.113.{i}"))
            .header("x-envoy-external-address", &format!("203.0.113.{i}"));
        passed += served(&mut client, 1, forged).await;
    }
    assert_eq!(passed, 5);
}

#[tokio::test]
async fn trusted_addresses_are_never_limited() {
    let upstream = Upstream::start().await;
    let trusted = json!({ "trusted_ips": ["192.0.2.10", "198.51.100.0/24", "2001:db8:7::/48"] });
    let proxy = Proxy::with(five_each(trusted)).start(&upstream).await;
    let mut client = proxy.http1();

    for address in ["192.0.2.10", "198.51.100.77", "2001:db8:7:1::2"] {
        assert_eq!(served(&mut client, 20, get("/").client(address)).await, 20, "{address}");
    }
    assert_eq!(served(&mut client, 20, get("/").client("192.0.2.11")).await, 5);
}

#[tokio::test]
async fn exempt_paths_are_neither_limited_nor_counted() {
    let upstream = Upstream::start().await;
    let exempt = json!([{ "path": "/healthz" }, { "path_prefix": "/internal/", "source": ["10.0.0.0/8"] }]);
    let proxy = Proxy::with(with(five_each(json!({})), "exempt", exempt)).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 20, get("/healthz?probe=1").client("203.0.113.7")).await, 20);
    assert_eq!(served(&mut client, 20, get("/healthz/x").client("203.0.113.7")).await, 5);
    assert_eq!(served(&mut client, 20, get("/healthz").client("203.0.113.7")).await, 20);

    assert_eq!(served(&mut client, 20, get("/internal/x").client("10.1.2.3")).await, 20);
    assert_eq!(served(&mut client, 20, get("/internal/x").client("203.0.113.8")).await, 5);
    assert_eq!(served(&mut client, 20, get("/internal/../x").client("10.1.2.3")).await, 5);
}

#[tokio::test]
async fn a_proxy_that_speaks_for_many_is_never_limited_but_counted_as_suspect() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(five_each(json!({ "proxies": ["10.0.0.0/8"] }))).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 20, get("/").client("10.1.2.3")).await, 20);
    assert_eq!(served(&mut client, 20, get("/").client("203.0.113.7")).await, 5);
    proxy.metric_becomes("weir_identity_suspect_total", &[], 20).await;
    let log = proxy.log();
    assert_eq!(log.lines().filter(|line| line.contains("10.1.2.3")).count(), 1, "it is told once:\n{log}");
}

#[tokio::test]
async fn an_address_that_a_rule_names_has_that_rule_instead_of_the_ordinary_one() {
    let upstream = Upstream::start().await;
    let named = json!({ "rate_limited_ips": ["203.0.113.0/24", "2001:db8::/32"] });
    let rules = json!([
        with_filter(slow_rule("named", 8, &["throttle"]), named),
        slow_rule("ordinary", 3, &["throttle"]),
    ]);
    let proxy = Proxy::with(enforce(rules)).start(&upstream).await;
    let mut client = proxy.http1();

    assert_eq!(served(&mut client, 20, get("/").client("203.0.113.7")).await, 8);
    assert_eq!(served(&mut client, 20, get("/").client("2001:db8:5::1")).await, 8);
    assert_eq!(served(&mut client, 20, get("/").client("198.51.100.7")).await, 3);
}
