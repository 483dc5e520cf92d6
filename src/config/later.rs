//! What DESIGN names and this version does not have. A protection that is asked for and missing is refused, never
//! ignored; a value that asks for nothing passes, so that a complete configuration of another version can be read.
//! A version that adds a room takes its lines out.

use super::json::Value;

/// A field that this version does not have.
pub struct Later {
    /// Where it stands, as in [`super::schema`].
    pub path: &'static str,
    /// What this version has no …
    pub what: &'static str,
    /// Does this value (never null) ask for nothing?
    pub asks_nothing: fn(&Value) -> bool,
}

const fn later(path: &'static str, what: &'static str, asks_nothing: fn(&Value) -> bool) -> Later {
    Later { path, what, asks_nothing }
}

/// All of them.
pub static FIELDS: &[Later] = &[
    later("qos", "quality of service", never),
    later("control", "control API", never),
    later("policy.shed", "shedding", |value| has_defaults(value, SHED)),
];

/// Actions that this version can't carry out.
pub const ACTIONS: &[&str] = &["shed"];

/// How the defaults of a section are told from what asks for something.
type Defaults = &'static [(&'static str, fn(&Value) -> bool)];

const SHED: Defaults = &[("answer", |value| is_text(value, "reply"))];

fn never(_: &Value) -> bool {
    false
}

/// Nothing in it, however deep.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Object(members) => members.iter().all(|(_, value)| is_empty(value)),
        _ => false,
    }
}

/// Nothing but defaults and nulls.
fn has_defaults(value: &Value, defaults: Defaults) -> bool {
    let is_default = |name: &str, value| defaults.iter().any(|(other, is)| *other == name && is(value));
    match value {
        Value::Object(members) => {
            members.iter().all(|(name, value)| is_empty(value) || is_default(name, value))
        }
        _ => false,
    }
}

fn is_text(value: &Value, text: &str) -> bool {
    matches!(value, Value::Text(found) if **found == *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{json, schema};

    fn passes(path: &str, text: &str) -> bool {
        let field = FIELDS.iter().find(|field| field.path == path).unwrap();
        (field.asks_nothing)(&json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn what_asks_for_nothing_passes_and_what_asks_for_protection_does_not() {
        assert!(!passes("qos", "{}"));
        assert!(passes("policy.shed", r#"{"answer": "reply"}"#));
        assert!(!passes("policy.shed", r#"{"answer": "close"}"#));
    }

    #[test]
    fn no_field_is_both_built_and_not_built() {
        for later in FIELDS {
            assert!(schema::fields().all(|field| !field.path.starts_with(later.path)), "{}", later.path);
        }
    }
}
