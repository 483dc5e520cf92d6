//! Where answers go: two paths of Weir's own, on every host.
//!
//! ```text
//! /.weir/challenge/answer?p=TOKEN&n=COUNTER&to=PATH     an answer; without n by who has waited
//! /.weir/challenge/check?r=REASON&to=PATH               comes after it: has the browser kept the cookie?
//! ```
//!
//! `to` is a path on the same origin, percent-encoded; what could lead elsewhere is `/`.

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// The beginning of both.
pub const PREFIX: &str = "/.weir/challenge/";
/// Takes answers.
pub const ANSWER: &str = "/.weir/challenge/answer";
/// Looks for the cookie.
pub const CHECK: &str = "/.weir/challenge/check";

/// A longer way back than this is not found.
const LONGEST: usize = 8_192;

/// What a browser asks of either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask<'a> {
    /// Takes an answer.
    Answer {
        /// The puzzle.
        token: &'a [u8],
        /// The work; `None` from who has waited.
        counter: Option<&'a [u8]>,
    },
    /// Looks for the cookie.
    Check {
        /// What the page showed.
        reason: &'a [u8],
    },
}

impl<'a> Ask<'a> {
    /// Reads the path and query as they were sent. `None`: it is for neither.
    pub fn read(path: &'a [u8]) -> Option<Ask<'a>> {
        let (place, query) = split(path);
        if place == ANSWER.as_bytes() {
            let token = parameter(query, b"p").unwrap_or_default();
            return Some(Ask::Answer { token, counter: parameter(query, b"n") });
        }
        (place == CHECK.as_bytes()).then(|| Ask::Check { reason: parameter(query, b"r").unwrap_or_default() })
    }
}

/// The way back that such a request names: path, query and fragment, in printable ASCII.
pub fn way_back(path: &[u8]) -> String {
    let to = parameter(split(path).1, b"to").map(|to| Cow::from(percent_decode(to))).unwrap_or_default();
    if !is_here(&to) {
        return "/".to_owned();
    }
    let mut out = String::with_capacity(to.len());
    for &byte in &*to {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => {
                out.push_str(percent_encoding::percent_encode_byte(byte));
            }
            b if b.is_ascii_graphic() => out.push(char::from(b)),
            b => out.push_str(percent_encoding::percent_encode_byte(b)),
        }
    }
    out
}

/// Is it on this origin? `//host` and `/\host` are others to browsers, and so are they after control characters, which
/// browsers drop. Back to ourselves would be a loop.
fn is_here(to: &[u8]) -> bool {
    let leaves = matches!(to, [b'/', b'/' | b'\\', ..]);
    let has_control = to.iter().any(u8::is_ascii_control);
    to.first() == Some(&b'/')
        && !leaves
        && !has_control
        && to.len() <= LONGEST
        && !to.starts_with(PREFIX.as_bytes())
}

/// The path and query that were asked for, as `to` takes them.
pub fn encode(path: &[u8], out: &mut String) {
    out.extend(percent_encoding::percent_encode(path, percent_encoding::NON_ALPHANUMERIC));
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let end = path.iter().position(|byte| *byte == b'?').unwrap_or(path.len());
    (path.get(..end).unwrap_or_default(), path.get(end + 1..).unwrap_or_default())
}

fn parameter<'a>(query: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut pairs = query.split(|byte| *byte == b'&');
    pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_and_checks_are_read_and_nothing_else_is() {
        let answer = Ask::read(b"/.weir/challenge/answer?p=tok&n=42&to=%2Fa");
        assert_eq!(answer, Some(Ask::Answer { token: b"tok", counter: Some(b"42") }));
        let waited = Ask::read(b"/.weir/challenge/answer?to=%2Fa&p=tok");
        assert_eq!(waited, Some(Ask::Answer { token: b"tok", counter: None }));
        assert_eq!(Ask::read(b"/.weir/challenge/check?r=1-2"), Some(Ask::Check { reason: b"1-2" }));
        for other in ["/", "/.weir/challenge/", "/.weir/challenge/answers", "/x/.weir/challenge/answer", ""] {
            assert_eq!(Ask::read(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn the_way_back_is_where_one_came_from_or_the_front_door() {
        for (to, back) in [
            ("%2Fshop%3Fa%3D1%26b%3D%2520c%23top", "/shop?a=1&b=%20c#top"),
            ("/plain", "/plain"),
            ("%2Fcaf%C3%A9", "/caf%C3%A9"),
            ("%2F%22%3E%3Cscript%3E", "/%22%3E%3Cscript%3E"),
            ("%2F%2Fevil.example", "/"),
            ("%2F%5Cevil.example", "/"),
            ("%2F%09%2Fevil.example", "/"),
            ("https%3A%2F%2Fevil.example", "/"),
            ("javascript%3Aalert(1)", "/"),
            ("%2F%0D%0Aset-cookie%3A%20a", "/"),
            ("%2F.weir%2Fchallenge%2Fanswer", "/"),
            ("", "/"),
        ] {
            assert_eq!(way_back(format!("/.weir/challenge/answer?p=t&to={to}").as_bytes()), back, "{to}");
        }
        assert_eq!(way_back(b"/.weir/challenge/answer"), "/");
    }

    proptest! {
        #[test]
        fn a_way_back_never_leaves_and_is_a_header_value(path in proptest::collection::vec(any::<u8>(), 0..200)) {
            let back = way_back(&path);
            prop_assert!(back.starts_with('/') && !back.starts_with("//") && !back.starts_with("/\\"));
            prop_assert!(back.bytes().all(|byte| byte.is_ascii_graphic()));
        }

        #[test]
        fn what_was_asked_for_comes_back(path in "/[a-z0-9?&=%./_-]{0,60}") {
            let mut to = String::new();
            encode(path.as_bytes(), &mut to);
            let back = way_back(format!("/.weir/challenge/answer?to={to}").as_bytes());
            prop_assert_eq!(back, if path.starts_with("//") || path.starts_with(PREFIX) { "/".to_owned() } else { path });
        }
    }
}
