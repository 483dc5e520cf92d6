//! The labels of Weir's metrics.

use serde_json::{Value, json};

/// Exactly as envoy/envoy.yaml, which operators copy, defines them.
pub fn stats_tags() -> Value {
    let sample = include_str!("../../envoy/envoy.yaml");
    let after =
        |line: &str, key: &str| line.trim().strip_prefix(key).map(|rest| rest.trim_matches('\'').to_owned());
    let names = sample.lines().filter_map(|line| after(line, "- tag_name: "));
    let patterns = sample.lines().filter_map(|line| after(line, "regex: "));
    let tags: Vec<Value> =
        names.zip(patterns).map(|(name, regex)| json!({ "tag_name": name, "regex": regex })).collect();
    assert!(tags.len() > 3, "envoy/envoy.yaml has another form than expected: {tags:?}");
    tags.into()
}
