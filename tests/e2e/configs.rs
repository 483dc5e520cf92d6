//! The configurations that most stories begin with.

use serde_json::{Value, json};

use crate::harness::{Answer, Ask, Client};

/// Rules in force, everything else at its default.
pub fn enforce(rules: Value) -> Value {
    json!({ "mode": "enforce", "rules": rules })
}

/// A rule that admits `burst` at once, then one every 8 seconds: slow enough for tests to count exactly.
pub fn slow_rule(name: &str, burst: u32, actions: &[&str]) -> Value {
    // An eighth, and so the product, is exact in binary.
    rule(name, 0.125, 8.0 * f64::from(burst), actions)
}

pub fn rule(name: &str, per_second: f64, burst_multiplier: f64, actions: &[&str]) -> Value {
    json!({
        "name": name,
        "filter": { "max_req_rate": per_second, "req_burst_multiplier": burst_multiplier },
        "action": actions,
    })
}

/// A rule with more in its filter.
pub fn with_filter(mut rule: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        rule["filter"][key] = value.clone();
    }
    rule
}

/// A rule with more beside its filter.
pub fn with(mut rule: Value, key: &str, value: impl Into<Value>) -> Value {
    rule[key] = value.into();
    rule
}

/// The statuses of `n` such requests, one after the other.
pub async fn statuses(client: &mut Client, n: usize, ask: Ask) -> Vec<u16> {
    client.send_times(n, ask).await.iter().map(|answer| answer.status.as_u16()).collect()
}

/// How many of `n` such requests are served.
pub async fn served(client: &mut Client, n: usize, ask: Ask) -> usize {
    let served =
        |answer: &&Answer| answer.status == 200 && answer.grpc_status().is_none_or(|status| status == "0");
    client.send_times(n, ask).await.iter().filter(served).count()
}
