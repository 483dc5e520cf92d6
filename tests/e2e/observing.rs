//! Observe mode: everything passes, and what would have been is counted.

use serde_json::json;

use crate::configs::{served, slow_rule, statuses, with};
use crate::harness::{Proxy, Upstream, get};

#[tokio::test]
async fn observe_mode_passes_everything_and_counts_what_it_would_have_done() {
    let upstream = Upstream::start().await;
    for action in ["throttle", "deny"] {
        let config = json!({ "mode": "observe", "rules": [slow_rule("r", 5, &[action])] });
        let proxy = Proxy::with(config).start(&upstream).await;

        assert_eq!(served(&mut proxy.http1(), 20, get("/")).await, 20);

        let observed = [("rule", "r"), ("mode", "observe")];
        proxy.metric_becomes("weir_rules_matched_total", &observed, 15).await;
        let would_be = [("action", action), ("mode", "observe")];
        proxy.metric_becomes("weir_actions_total", &would_be, 15).await;
        let enforced = proxy.metrics().await.weir("weir_actions_total", &[("mode", "enforce")]);
        assert_eq!(enforced.unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn observe_is_the_default() {
    let upstream = Upstream::start().await;
    let proxy = Proxy::with(json!({ "rules": [slow_rule("r", 5, &["deny"])] })).start(&upstream).await;
    assert_eq!(served(&mut proxy.http1(), 20, get("/")).await, 20);
}

#[tokio::test]
async fn an_observing_rule_does_not_hide_an_enforced_one_behind_it() {
    let upstream = Upstream::start().await;
    let watching = with(slow_rule("watching", 1, &["deny"]), "mode", "observe");
    let config = json!({ "mode": "enforce", "rules": [watching, slow_rule("acting", 3, &["throttle"])] });
    let proxy = Proxy::with(config).start(&upstream).await;

    let statuses = statuses(&mut proxy.http1(), 10, get("/")).await;
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
    let matched = "weir_rules_matched_total";
    proxy.metric_becomes(matched, &[("rule", "watching"), ("mode", "observe")], 9).await;
    proxy.metric_becomes(matched, &[("rule", "acting"), ("mode", "enforce")], 7).await;
}

#[tokio::test]
async fn one_rule_may_be_enforced_while_everything_else_observes() {
    let upstream = Upstream::start().await;
    let acting = with(slow_rule("acting", 6, &["throttle"]), "mode", "enforce");
    let config = json!({ "mode": "observe", "rules": [slow_rule("watching", 2, &["deny"]), acting] });
    let proxy = Proxy::with(config).start(&upstream).await;

    assert_eq!(statuses(&mut proxy.http1(), 8, get("/")).await, [200, 200, 200, 200, 200, 200, 429, 429]);
}
