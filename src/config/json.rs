//! Strict JSON as a tree that keeps what serde's own would lose: the order of keys, and keys that stand twice.
//! Depth is bounded by serde_json (128), size by [`super::MAX_BYTES`], so a hostile text costs one error.

use super::error::Cause;
use core::fmt;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`: as if it were not there.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number. One type for all, since Istio delivers `3` as `3.0`.
    Number(f64),
    /// A string.
    Text(Box<str>),
    /// An array.
    List(Vec<Value>),
    /// An object, in the order of the text, repeated keys included.
    Object(Vec<Member>),
}

/// One key of an object, and its value.
pub type Member = (Box<str>, Value);

impl Value {
    /// What it is, as error messages say it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

/// Reads one document. Nothing but white space is the empty object: a filter without configuration.
pub fn parse(text: &[u8]) -> Result<Value, Cause> {
    if text.len() > super::MAX_BYTES {
        return Err(Cause::TooLong);
    }
    let text = core::str::from_utf8(text).map_err(|error| Cause::NotUtf8 {
        line: 1 + text.iter().take(error.valid_up_to()).filter(|&&b| b == b'\n').count(),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text); // editors on Windows write one
    if text.trim().is_empty() {
        return Ok(Value::Object(Vec::new()));
    }
    serde_json::from_str(text).map_err(|error| Cause::Syntax {
        line: error.line(),
        column: error.column(),
        reason: without_position(&error.to_string()).into(),
    })
}

/// serde_json's words without the position that it appends.
fn without_position(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(reason, _)| reason)
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> Cause {
        parse(text).unwrap_err()
    }

    #[test]
    fn order_and_repeated_keys_are_kept() {
        let Ok(Value::Object(members)) = parse(br#"{"b": 1, "a": null, "b": [true, "x"]}"#) else { panic!() };
        let keys: Vec<&str> = members.iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["b", "a", "b"]);
        assert_eq!(members[2].1, Value::List(vec![Value::Bool(true), Value::Text("x".into())]));
    }

    #[test]
    fn whole_numbers_and_doubles_are_one() {
        assert_eq!(parse(b"3"), parse(b"3.0"));
        assert_eq!(parse(b"-3"), parse(b"-3e0"));
    }

    #[test]
    fn nothing_at_all_is_the_empty_configuration() {
        for text in ["", " \n\t ", "\u{feff}", "\u{feff}{}"] {
            assert_eq!(parse(text.as_bytes()), Ok(Value::Object(vec![])), "{text:?}");
        }
    }

    #[test]
    fn a_syntax_error_says_where_it_is() {
        assert!(matches!(refused(b"{\n  \"mode\": observe }"), Cause::Syntax { line: 2, column: 11, .. }));
        assert_eq!(refused(b"{}\n\n\xff"), Cause::NotUtf8 { line: 3 });
        assert!(matches!(refused(b"{} {}"), Cause::Syntax { .. }));
        assert!(matches!(refused(b"1e999"), Cause::Syntax { .. }));
        assert!(matches!(refused("[".repeat(200_000).as_bytes()), Cause::Syntax { column: 128, .. }));
        assert_eq!(refused(&vec![b' '; (1 << 20) + 1]), Cause::TooLong);
    }
}
