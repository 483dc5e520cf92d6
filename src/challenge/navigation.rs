//! Can it be challenged? Only a person who goes to a page can: a browser that navigates. Scripts, images, tools and crawlers'
//! questions have nobody who would see the page.

use crate::request::Request;

/// Never challenged, whoever asks.
const NEVER: [&[u8]; 2] = [b"/robots.txt", b"/favicon.ico"];
const NEVER_BELOW: &[u8] = b"/.well-known/";

/// A browser that goes to a page: `GET`, wants HTML, and no script, frame of another protocol or tool speaks for it. Browsers
/// of today say so themselves (`Sec-Fetch-Mode`); of older ones the rest has to do.
pub fn is_navigation(request: &Request, path: Option<&[u8]>) -> bool {
    let header = |name: &str| request.headers.get(name);
    let says = |name: &str, word: &[u8]| header(name).is_none_or(|value| value.eq_ignore_ascii_case(word));
    request.method() == Some(b"GET")
        && wants_html(header("accept").unwrap_or_default())
        && says("sec-fetch-mode", b"navigate")
        && says("sec-fetch-dest", b"document") // in a frame nobody would see the page, nor its cookie be kept
        && header("x-requested-with").is_none()
        && header("upgrade").is_none()
        && header("authorization").is_none()
        && !request.is_grpc()
        && path.is_some_and(|path| !NEVER.contains(&path) && !path.starts_with(NEVER_BELOW))
}

/// `Accept` names HTML. `*/*` alone is what tools and scripts say.
fn wants_html(accept: &[u8]) -> bool {
    let ranges = accept.split(|byte| *byte == b',').take(16);
    let mut names = ranges.filter_map(|range| range.split(|byte| *byte == b';').next());
    names.any(|name| name.trim_ascii().eq_ignore_ascii_case(b"text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::headers::{Headers, Pairs};

    const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    fn is(method: &str, path: &str, headers: &[(&str, &str)]) -> bool {
        let mut pairs = Pairs::default();
        pairs.push(":method", method.as_bytes());
        headers.iter().for_each(|(name, value)| pairs.push(name, value.as_bytes()));
        let request = Request { headers: Headers::parse(pairs.encode()), ..Request::default() };
        is_navigation(&request, Some(path.as_bytes()))
    }

    #[test]
    fn a_browser_that_goes_to_a_page_navigates() {
        assert!(is("GET", "/shop", &[("accept", HTML)]), "an old one");
        let modern = [("accept", HTML), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        assert!(is("GET", "/shop", &modern));
    }

    #[test]
    fn programs_scripts_and_what_pages_load_do_not() {
        for (method, headers) in [
            ("POST", vec![("accept", HTML)]),
            ("HEAD", vec![("accept", HTML)]),
            ("OPTIONS", vec![("accept", HTML)]),
            ("GET", vec![]),
            ("GET", vec![("accept", "*/*")]),
            ("GET", vec![("accept", "application/json")]),
            ("GET", vec![("accept", "image/avif,image/webp,*/*")]),
            ("GET", vec![("accept", HTML), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")]),
            ("GET", vec![("accept", HTML), ("sec-fetch-mode", "no-cors")]),
            ("GET", vec![("accept", HTML), ("sec-fetch-dest", "image")]),
            ("GET", vec![("accept", HTML), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")]),
            ("GET", vec![("accept", HTML), ("x-requested-with", "XMLHttpRequest")]),
            ("GET", vec![("accept", HTML), ("upgrade", "websocket")]),
            ("GET", vec![("accept", HTML), ("authorization", "Bearer t")]),
            ("GET", vec![("accept", HTML), ("content-type", "application/grpc")]),
        ] {
            assert!(!is(method, "/shop", &headers), "{method} {headers:?}");
        }
    }

    #[test]
    fn what_crawlers_and_protocols_read_is_never_challenged() {
        for path in ["/robots.txt", "/favicon.ico", "/.well-known/acme-challenge/x"] {
            assert!(!is("GET", path, &[("accept", HTML)]), "{path}");
        }
        assert!(is("GET", "/robots.txt.html", &[("accept", HTML)]));
    }
}
