//! Paths in one spelling. A server hands `/users//me`, `/users/%6De` and `/users/./me;v=1` to one handler, so a
//! limit that kept them apart could be walked around. One function makes keys and configured patterns alike.
//!
//! By RFC 3986 §6.2.2: unreserved characters are decoded, other triplets are upper-cased, dot segments resolved.
//! Beyond it: `//` collapses, `;params` (raw or as `%3B`) and the query are dropped, bytes that may not stand in a
//! path are percent-encoded, a lone `%` is `%25`. `%2F` stays `%2F`: it is data, not a separator. The function is
//! total and idempotent; one pass over the input, no allocation beyond the caller's buffer.

/// Replaces `out` with the normal form of `path`. It always starts with `/`.
pub fn normalise(path: &[u8], out: &mut Vec<u8>) {
    read(path, Parameters::Dropped, out);
}

/// Replaces `out` with the path as servers read it to whom `;` is a character like any other: for them `/a/..;/b` is
/// below `/a/`, where [`normalise`] reads `/b`. `false`, and nothing, where there is no `;`: then there is one reading.
pub fn normalise_with_parameters(path: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let path = without_query(path);
    let has_parameters = path.contains(&b';') || path.windows(3).any(|t| t.eq_ignore_ascii_case(b"%3B"));
    if has_parameters {
        read(path, Parameters::Kept, out);
    }
    has_parameters
}

/// A path as servers may read it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paths<'a> {
    /// In normal form.
    pub normal: Option<&'a [u8]>,
    /// With its parameters, where it has any.
    pub other: Option<&'a [u8]>,
}

impl Paths<'_> {
    /// Does it hold for one reading? What limits asks so, as it must not be walked around.
    pub fn any(&self, holds: impl FnMut(&[u8]) -> bool) -> bool {
        self.normal.into_iter().chain(self.other).any(holds)
    }

    /// Is there a path, and does it hold for every reading? What exempts asks so, as it must not be walked into.
    pub fn all(&self, holds: impl FnMut(&[u8]) -> bool) -> bool {
        self.normal.is_some() && self.normal.into_iter().chain(self.other).all(holds)
    }
}

/// What becomes of `;` and what follows it in a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameters {
    Dropped,
    Kept,
}

fn read(path: &[u8], parameters: Parameters, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'/');
    let mut segments = without_query(path).split(|&b| b == b'/').peekable();
    while let Some(segment) = segments.next() {
        let start = out.len();
        clean(segment, parameters, out);
        let last = segments.peek().is_none();
        match out.get(start..) {
            Some(b"." | b"") => out.truncate(start),
            Some(b"..") => {
                out.truncate(start);
                drop_last_segment(out);
            }
            _ if !last => out.push(b'/'),
            _ => {}
        }
    }
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|b| matches!(b, b'?' | b'#')).next().unwrap_or_default()
}

/// Appends one segment, decoded where it may be.
fn clean(mut segment: &[u8], parameters: Parameters, out: &mut Vec<u8>) {
    while let Some((&byte, rest)) = segment.split_first() {
        let (byte, rest, escaped) = match (byte, triplet(rest)) {
            (b'%', Some((decoded, rest))) => (decoded, rest, true),
            _ => (byte, rest, false),
        };
        segment = rest;
        match byte {
            b';' if parameters == Parameters::Dropped => return,
            b';' => out.push(b';'),
            _ if is_unreserved(byte) || (!escaped && is_path_mark(byte)) => out.push(byte),
            _ => out.extend_from_slice(percent_encoding::percent_encode_byte(byte).as_bytes()),
        }
    }
}

/// Reads the two hex digits after a `%`.
fn triplet(rest: &[u8]) -> Option<(u8, &[u8])> {
    let (&[high, low], rest) = rest.split_first_chunk::<2>()?;
    let digit = |b: u8| (b as char).to_digit(16);
    Some(((digit(high)? << 4 | digit(low)?) as u8, rest))
}

/// RFC 3986 `unreserved`: encoded or not, these mean the same.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// What else may stand unencoded in a segment: RFC 3986 `sub-delims` (less `;`), `:` and `@`.
fn is_path_mark(byte: u8) -> bool {
    matches!(byte, b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b'=' | b':' | b'@')
}

/// `/a/b/` → `/a/`; `/` stays.
fn drop_last_segment(out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.pop();
        let keep = out.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        out.truncate(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(path: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        normalise(path, &mut out);
        out
    }

    #[test]
    fn every_spelling_of_a_path_is_one_path() {
        for (spelling, path) in [
            ("/users/me", "/users/me"),
            ("/users//me", "/users/me"),
            ("//users///me", "/users/me"),
            ("/users/./me", "/users/me"),
            ("/users/x/../me", "/users/me"),
            ("/users/x/%2e%2E/me", "/users/me"),
            ("/users/%6d%65", "/users/me"),
            ("/users/me?x=/../y", "/users/me"),
            ("/users/me#f", "/users/me"),
            ("/users;v=1/me;a=b;c", "/users/me"),
            ("/users%3Bv=1/me%3ba", "/users/me"),
            ("/users/x/..;/me", "/users/me"),
            ("/users/x/.%2e;y=z/me", "/users/me"),
            ("users/me", "/users/me"),
            ("/../../users/me", "/users/me"),
            ("/users/me/.", "/users/me/"),
            ("/users/me/x/..", "/users/me/"),
            ("/", "/"),
            ("", "/"),
            ("/..", "/"),
            ("*", "/*"),
            ("/a%2fb", "/a%2Fb"),
            ("/a%2f%2e%2e%2fb", "/a%2F..%2Fb"),
            ("/a%zz%", "/a%25zz%25"),
            ("/%252e%252e/a", "/%252e%252e/a"),
            ("/%%32e", "/%252e"),
            ("/a b\\c", "/a%20b%5Cc"),
            ("/caf\u{e9}", "/caf%C3%A9"),
            ("/caf%c3%a9", "/caf%C3%A9"),
            ("/a!$&'()*+,=:@~-._", "/a!$&'()*+,=:@~-._"),
            ("/users/%6De", "/users/me"),
            ("/users/me;jsessionid=1/../me", "/users/me"),
            ("/users/;x/me", "/users/me"),
            ("/users/;/./me", "/users/me"),
            ("/users/.;a/me", "/users/me"),
            ("/users/me%3b%2e%2e", "/users/me"),
            ("/users/me/%2e", "/users/me/"),
            ("/users/me/x/%2e%2e;y", "/users/me/"),
            ("/%75%73%65%72%73/me", "/users/me"),
            ("/%2e%2e/%2e%2e/users/me", "/users/me"),
            ("/users/me?;..", "/users/me"),
            ("/users/me#?x", "/users/me"),
            // What may be another resource stays apart, in one spelling each.
            ("/users/me%00", "/users/me%00"),
            ("/users/me%0a", "/users/me%0A"),
            ("/users/me%20", "/users/me%20"),
            ("/users/me.", "/users/me."),
            ("/USERS/me", "/USERS/me"),
            ("/users%5cme", "/users%5Cme"),
            ("/users\\me", "/users%5Cme"),
            ("/users%c0%afme", "/users%C0%AFme"),
            ("/users%252fme", "/users%252fme"),
            ("/users/...//me", "/users/.../me"),
            ("/users/..%00/me", "/users/..%00/me"),
            ("/users/%u002e%u002e/me", "/users/%25u002e%25u002e/me"),
        ] {
            assert_eq!(String::from_utf8(normal(spelling.as_bytes())).unwrap(), path, "{spelling}");
        }
    }

    #[test]
    fn a_path_with_parameters_has_a_second_reading() {
        for (path, reading) in [
            ("/api/..;/x", Some("/api/..;/x")),
            ("/api/..%3b/../x?y;z", Some("/api/x")),
            ("//a;v=1/./%62", Some("/a;v=1/b")),
            ("/a/b?c;d", None),
            ("/a/b", None),
        ] {
            let mut out = vec![1];
            let found = normalise_with_parameters(path.as_bytes(), &mut out);
            assert_eq!(found.then(|| String::from_utf8(out.clone()).unwrap()).as_deref(), reading, "{path}");
            assert_eq!(out.is_empty(), reading.is_none());
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(path in proptest::collection::vec(
            prop_oneof![Just(b'/'), Just(b'.'), Just(b'%'), Just(b';'), Just(b'2'), Just(b'e'), any::<u8>()], 0..60)) {
            let once = normal(&path);
            prop_assert_eq!(normal(&once), once.clone());
            prop_assert!(once.starts_with(b"/"));
            prop_assert!(once.iter().all(u8::is_ascii_graphic));
        }
    }
}
