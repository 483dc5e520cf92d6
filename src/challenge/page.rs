//! The page that a challenged browser gets: what does it say, and what does it run?
//!
//! One document without any other resource. The script finds the smallest counter `n` for which
//! `SHA-256(token ":" n)` begins with `difficulty` zero bits and takes it to the answer's path; without scripts, a timed
//! refresh goes there where that is open. The texts are in `page.html`, `page.css`, `page.js` and `cookies_off.html`
//! beside this file; they are taken apart once, on first use. A page is then some 60 copies and no allocation but `out`'s.
//!
//! Whatever is put in can't become markup or script: values go into attributes and text alone, escaped, and the script
//! reads them from there.
//!
//! A message (token, `:`, counter) whose last block holds it all is half the work for the browser: choose tokens with
//! `(length + 1) % 64 <= 45`.

use core::fmt::{self, Write as _};
use std::sync::LazyLock;

/// What a page is about.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The signed puzzle: letters, digits, `-` and `_`.
    pub token: &'a str,
    /// Zero bits that the hash has to begin with; each doubles the work.
    pub difficulty: u8,
    /// Path of the endpoint that takes answers: `?p=TOKEN&n=COUNTER&to=URL`, without scripts `?p=TOKEN&to=URL`.
    pub answer: &'a str,
    /// Path and query that were asked for, percent-encoded as one query value. For browsers without scripts: the script
    /// goes by the browser's own URL, which has the fragment too.
    pub to: &'a str,
    /// What the person may tell the operator; the event has the same.
    pub reason: &'a str,
    /// After how many seconds browsers without scripts go on; `None`: scripts are needed.
    pub wait: Option<u32>,
    /// The nonce of the content security policy: letters, digits and `+/-_=`, anything else is left out.
    pub nonce: &'a str,
}

/// Writes the page to the end of `out`.
pub fn write(page: &Page, out: &mut String) {
    static PIECES: LazyLock<Vec<Piece>> = LazyLock::new(|| pieces(include_str!("page.html")));
    write_pieces(&PIECES, page, out);
}

/// Writes the page for a browser that has answered but didn't keep the cookie: what is wrong, what to do, no retry of its
/// own, for that would be a loop.
pub fn write_cookies_off(reason: &str, nonce: &str, out: &mut String) {
    static PIECES: LazyLock<Vec<Piece>> = LazyLock::new(|| pieces(include_str!("cookies_off.html")));
    let page = Page { token: "", difficulty: 0, answer: "", to: "", reason, wait: None, nonce };
    write_pieces(&PIECES, &page, out);
}

/// Writes the value of `Content-Security-Policy` for either page. Nothing loads; what bears the nonce runs, and a worker
/// made of a blob. Where a browser refuses the worker, the script goes on without.
pub fn content_security_policy(nonce: &str, out: &mut String) {
    let nonce = Nonce(nonce);
    let _ = write!(
        out,
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; worker-src blob:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
}

/// A nonce without what could end an attribute, a directive or a header.
struct Nonce<'a>(&'a str);

impl fmt::Display for Nonce<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
        self.0.chars().filter(fits).try_for_each(|c| f.write_char(c))
    }
}

/// A value's place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Token,
    Bits,
    Answer,
    To,
    Reason,
    Wait,
    Nonce,
}

impl Slot {
    fn named(name: &str) -> Option<Slot> {
        Some(match name {
            "token" => Slot::Token,
            "bits" => Slot::Bits,
            "answer" => Slot::Answer,
            "to" => Slot::To,
            "reason" => Slot::Reason,
            "wait" => Slot::Wait,
            "nonce" => Slot::Nonce,
            _ => return None,
        })
    }

    fn write(self, page: &Page, out: &mut String) {
        let _ = match self {
            Slot::Bits => write!(out, "{}", page.difficulty),
            Slot::Wait => page.wait.map_or(Ok(()), |seconds| write!(out, "{seconds}")),
            Slot::Nonce => write!(out, "{}", Nonce(page.nonce)),
            Slot::Token => return escape(page.token, out),
            Slot::To => return escape(page.to, out),
            Slot::Reason => return escape(page.reason, out),
            Slot::Answer => return write_path(page.answer, out),
        };
    }
}

/// A stretch of text as it is sent, and the value that follows it.
#[derive(Debug, Default)]
struct Piece {
    /// `Some(true)`: only where the timed path is open. `Some(false)`: only where it isn't.
    wait: Option<bool>,
    text: String,
    then: Option<Slot>,
}

fn write_pieces(pieces: &[Piece], page: &Page, out: &mut String) {
    for piece in pieces.iter().filter(|piece| piece.wait.is_none_or(|open| open == page.wait.is_some())) {
        out.push_str(&piece.text);
        if let Some(slot) = piece.then {
            slot.write(page, out);
        }
    }
}

/// Takes a document apart, its style and script put in.
fn pieces(document: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for line in lines(document) {
        match line {
            "{{css}}" => lines(include_str!("page.css")).for_each(|line| verbatim(line, &mut pieces)),
            "{{js}}" => lines(include_str!("page.js")).for_each(|line| verbatim(line, &mut pieces)),
            line => markup(line, &mut pieces),
        }
    }
    pieces
}

/// The lines that are sent: without indentation, comments and nothings.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let comment = |line: &str| ["//", "/*", "<!--"].iter().any(|sign| line.starts_with(sign));
    text.lines().map(str::trim).filter(move |line| !line.is_empty() && !comment(line))
}

/// A line of style or script holds no values: those are in the markup.
fn verbatim(line: &str, pieces: &mut Vec<Piece>) {
    let text = open_piece(None, pieces);
    text.push_str(line);
    text.push('\n');
}

/// A line of markup: `?wait` or `?nowait` in front of some, `{{value}}` anywhere.
fn markup(line: &str, pieces: &mut Vec<Piece>) {
    let (wait, line) = match (line.strip_prefix("?wait "), line.strip_prefix("?nowait ")) {
        (Some(line), _) => (Some(true), line),
        (_, Some(line)) => (Some(false), line),
        _ => (None, line),
    };
    let mut parts = line.split("{{");
    open_piece(wait, pieces).push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, text) = part.split_once("}}").unwrap_or_default();
        if let Some(last) = pieces.last_mut() {
            last.then = Slot::named(name);
        }
        open_piece(wait, pieces).push_str(text);
    }
    open_piece(wait, pieces).push('\n');
}

/// The text that goes on: the last piece's, unless a value ended that or it is for other pages.
fn open_piece(wait: Option<bool>, pieces: &mut Vec<Piece>) -> &mut String {
    let goes_on = pieces.last().is_some_and(|last| last.then.is_none() && last.wait == wait);
    let piece = match goes_on {
        true => pieces.pop().unwrap_or_default(),
        false => Piece { wait, ..Piece::default() },
    };
    &mut pieces.push_mut(piece).text
}

/// A path of this site, whatever was given: neither another scheme nor another host.
fn write_path(path: &str, out: &mut String) {
    out.push('/');
    // Browsers take `\` for `/` and skip spaces and control characters, so `/ \t/host` would be a host.
    let is_lead = |c: char| matches!(c, '/' | '\\' | ' ') || c.is_control();
    escape(path.trim_start_matches(is_lead), out);
}

/// Text that is text wherever it stands in HTML, in quotes too. Control characters mean nothing in any value: left out.
fn escape(text: &str, out: &mut String) {
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Page = Page {
        token: "dG9rZW4_-",
        difficulty: 18,
        answer: "/.weir/challenge/answer",
        to: "%2Fshop%3Fa%3D1%26b%3D2",
        reason: "7f3a-90c2",
        wait: Some(5),
        nonce: "bm9uY2U",
    };

    fn text(page: &Page) -> String {
        let mut out = String::new();
        write(page, &mut out);
        out
    }

    fn policy(nonce: &str) -> String {
        let mut out = String::new();
        content_security_policy(nonce, &mut out);
        out
    }

    fn cookies_off(reason: &str, nonce: &str) -> String {
        let mut out = String::new();
        write_cookies_off(reason, nonce, &mut out);
        out
    }

    #[test]
    fn a_page_has_everything_and_stays_small() {
        let text = text(&PLAIN);
        assert!(text.len() <= 12 * 1024, "{} bytes", text.len());
        let main = r#"<main data-token="dG9rZW4_-" data-bits="18" data-answer="/.weir/challenge/answer" data-wait="5">"#;
        assert!(text.contains(main), "{text}");
        assert!(text.contains("Reason id: <code>7f3a-90c2</code>"), "{text}");
        assert!(text.starts_with("<!doctype html>\n<html lang=\"en\">") && text.ends_with("</html>\n"));
        assert!(!text.contains("{{") && !text.contains("}}") && !text.contains("\n?"), "{text}");
        assert!(cookies_off("7f3a-90c2", "n").contains("Reason id: <code>7f3a-90c2</code>"));
    }

    #[test]
    fn comments_and_indentation_stay_here() {
        let text = text(&PLAIN);
        for sign in ["<!--", "//", "/*", "\n\n", "\n "] {
            assert!(!text.contains(sign), "{sign:?} in {text}");
        }
    }

    #[test]
    fn nothing_is_fetched_and_no_engine_is_told_to_forget_the_page() {
        for text in [text(&PLAIN), cookies_off("r", "n")] {
            for sign in
                ["http:", "https:", "src=", "<link", "@import", "url(", "robots", "style=", "onclick="]
            {
                assert!(!text.contains(sign), "{sign:?} in {text}");
            }
        }
    }

    #[test]
    fn without_scripts_the_timed_path_is_followed_where_it_is_open() {
        let open = text(&PLAIN);
        let refresh = "<meta http-equiv=\"refresh\" content=\"5;url=/.weir/challenge/answer\
                       ?p=dG9rZW4_-&amp;to=%2Fshop%3Fa%3D1%26b%3D2\">";
        assert!(open.contains(refresh), "{open}");
        assert!(open.contains("goes on by itself in 5 seconds") && !open.contains("allow JavaScript"));
        let shut = text(&Page { wait: None, ..PLAIN });
        assert!(!shut.contains("http-equiv") && shut.contains("allow JavaScript"), "{shut}");
        assert!(shut.contains("data-wait=\"\""), "{shut}");
    }

    #[test]
    fn whatever_is_put_in_stays_what_it_is() {
        let hostile = "\"><script>alert(1)</script><!--{{nonce}}' onload=x \u{0}\r\n\\</style>\u{2028}é&amp;";
        let page =
            Page { token: hostile, answer: hostile, to: hostile, reason: hostile, nonce: hostile, ..PLAIN };
        for wait in [Some(3), None] {
            let (text, clean) = (text(&Page { wait, ..page }), text(&Page { wait, ..PLAIN }));
            // As many tags, attributes and lines as ever.
            for sign in ['<', '>', '"', '\n', '\''] {
                assert_eq!(text.matches(sign).count(), clean.matches(sign).count(), "{sign:?} in {text}");
            }
            assert!(!text.contains('\u{0}') && !text.contains('\r'));
            assert!(text.contains("{{nonce}}"), "a value is no template");
        }
        let (text, clean) = (cookies_off(hostile, hostile), cookies_off("r", "n"));
        assert_eq!(text.matches('<').count(), clean.matches('<').count());
    }

    #[test]
    fn the_answer_is_always_a_path_of_this_site() {
        for answer in ["//evil.test/x", "/\\evil.test/x", "\t/ /\n/evil.test/x", "evil.test/x"] {
            let text = text(&Page { answer, ..PLAIN });
            assert!(text.contains("data-answer=\"/evil.test/x\"") && text.contains(";url=/evil.test/x?p="));
        }
        assert!(text(&Page { answer: "javascript:alert(1)", ..PLAIN }).contains("url=/javascript:alert(1)?"));
    }

    #[test]
    fn the_policy_allows_what_bears_the_nonce_and_nothing_else() {
        assert_eq!(
            policy("bm9uY2U="),
            "default-src 'none'; script-src 'nonce-bm9uY2U='; style-src 'nonce-bm9uY2U='; worker-src blob:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        assert_eq!(policy("a'; script-src *\r\nx: y"), policy("ascript-srcxy"));
        assert_eq!(text(&PLAIN).matches("nonce=\"bm9uY2U\"").count(), 3);
    }
}
