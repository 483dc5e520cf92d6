//! Writes JSON objects of flat fields. Values may be any bytes that a client sent.

use core::fmt::Write;

/// An object being written. [`Object::end`] closes it.
pub struct Object<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Object<'a> {
    /// Begins an object at the end of `out`.
    pub fn begin(out: &'a mut String) -> Object<'a> {
        out.push('{');
        Object { out, first: true }
    }

    /// A text field. What is not UTF-8 shows as U+FFFD.
    pub fn text(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.name(name);
        string(value, self.out);
        self
    }

    /// A number field.
    pub fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.name(name);
        let _ = write!(self.out, "{value}");
        self
    }

    /// A number field with at most three decimals; null where it is none.
    pub fn decimal(&mut self, name: &str, value: f32) -> &mut Self {
        self.name(name);
        let rounded = (f64::from(value) * 1000.0).round() / 1000.0;
        let _ = if rounded.is_finite() { write!(self.out, "{rounded}") } else { write!(self.out, "null") };
        self
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push('}');
    }

    fn name(&mut self, name: &str) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        string(name.as_bytes(), self.out);
        self.out.push(':');
    }
}

/// Writes a JSON string. Besides what JSON demands, it escapes DEL and the C1 controls and line separators:
/// a client must not be able to move a cursor or break a line in an operator's terminal.
fn string(value: &[u8], out: &mut String) {
    out.push('"');
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        if !chunk.invalid().is_empty() {
            out.push('\u{fffd}');
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_make_one_line_that_reads_back(value in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut out = String::new();
            let mut object = Object::begin(&mut out);
            object.text("a", &value).number("b", 7);
            object.end();
            let read: serde_json::Value = serde_json::from_str(&out).unwrap();
            let lossy = String::from_utf8_lossy(&value);
            prop_assert_eq!(read["a"].as_str(), Some(&*lossy));
            prop_assert!(!out.chars().any(char::is_control));
        }
    }
}
