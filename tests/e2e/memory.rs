//! More callers than the tables have room for: memory stays what it is, and what they owe is not forgotten.

use serde_json::{Value, json};

use crate::configs::{enforce, rule, served, slow_rule, with, with_filter};
use crate::harness::{Proxy, Upstream, get};

/// The smallest tables: 4,096 slots, and as much for those who lost theirs.
fn small(rules: Value) -> Value {
    with(enforce(rules), "tables", json!({ "slots": 1_024, "sketch_buckets": 1_024 }))
}

/// Passers-by owe an hour for their one request each, who guesses at the login eight seconds for each of five; its
/// slot goes, as it was not used for longest.
#[tokio::test]
async fn who_lost_its_place_to_ten_thousand_others_still_owes() {
    let upstream = Upstream::start().await;
    let login =
        with_filter(slow_rule("login", 5, &["throttle"]), json!({ "match": { "path_prefix": "/login" } }));
    let hourly = with_filter(
        rule("hourly", 1.0 / 3600.0, 7200.0, &["deny"]),
        json!({ "match": { "path_prefix": "/page" } }),
    );
    let proxy = Proxy::with(small(json!([login, hourly]))).start(&upstream).await;
    let mut client = proxy.http2();

    assert_eq!(served(&mut client, 8, get("/login").client("203.0.113.7")).await, 5);
    proxy.metric_becomes("weir_table_slots_used", &[("table", "limits")], 1).await;
    let memory = proxy.metrics().await.weir("weir_plan_memory_bytes", &[]);
    for n in 0..10_000 {
        let passer_by = format!("10.1.{}.{}", n / 250, n % 250);
        assert_eq!(served(&mut client, 1, get("/page").client(&passer_by)).await, 1);
    }
    proxy.metric_becomes("weir_requests_total", &[], 10_008).await;

    let back = served(&mut client, 8, get("/login").client("203.0.113.7")).await;
    assert!(back <= 2, "{back} of 8, though it owed 40 s some seconds ago");
    let metrics = proxy.metrics().await;
    let of = |name, table| metrics.weir(name, &[("table", table)]).unwrap_or_default();
    assert!(of("weir_table_evictions_total", "limits") > 5_000);
    assert!(of("weir_table_slots_used", "arrears") > 5_000);
    assert_eq!(metrics.weir("weir_plan_memory_bytes", &[]), memory);
    proxy.assert_never_trapped().await;
}
