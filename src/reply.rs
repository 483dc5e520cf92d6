//! A decision as an answer: status, headers, body. Pure; the host sends it.
//!
//! `Retry-After`, `RateLimit` and `RateLimit-Policy` come from the bucket that refused and agree: the time in
//! `RateLimit` is `Retry-After`, and at that moment the bucket has a token (draft-ietf-httpapi-ratelimit-headers-10).

use crate::challenge::answer::Answered;
use crate::challenge::page::{self, Page};
use crate::policy::{Action, Limit, Ruling};
use crate::request::Request;
use crate::request::headers::Pairs;
use crate::time::Nanos;
use core::fmt::Write as _;
use std::io::Write as _;

/// An answer in place of the upstream's. Keeps its buffers between uses.
#[derive(Debug, Default)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// gRPC status, for gRPC callers; they read the body as its message.
    pub grpc_status: Option<u8>,
    /// Response headers.
    pub headers: Pairs,
    /// Body.
    pub body: String,
    /// What Envoy's access log shows as response code details.
    pub details: &'static str,
}

/// A throttle always has its limit; this is what the answer would say without.
const NO_LIMIT: Limit = Limit { requests: 0, window: Nanos::ZERO, wait: Nanos::ZERO };

/// What Envoy's access log shows as response code details.
fn details(action: Action) -> &'static str {
    match action {
        Action::Log | Action::Tarpit => "",
        Action::Throttle => "weir_throttle",
        Action::Challenge => "weir_challenge",
        Action::Shed => "weir_shed",
        Action::Deny => "weir_deny",
        Action::Block => "weir_block",
        Action::Close => "weir_close",
    }
}

/// gRPC `RESOURCE_EXHAUSTED`, `UNAVAILABLE` and `PERMISSION_DENIED`.
const GRPC_EXHAUSTED: u8 = 8;
const GRPC_UNAVAILABLE: u8 = 14;
const GRPC_DENIED: u8 = 7;

impl Reply {
    /// Answers a request that a ruling refuses. `false`: the ruling lets it pass.
    pub fn write(&mut self, ruling: &Ruling, request: &Request) -> bool {
        self.headers.clear();
        self.body.clear();
        match ruling.answer() {
            Action::Log | Action::Tarpit => return false,
            Action::Throttle | Action::Challenge => self.throttle(&ruling.limit.unwrap_or(NO_LIMIT), request),
            Action::Shed => self.shed(&ruling.limit.unwrap_or(NO_LIMIT), request),
            Action::Deny | Action::Block | Action::Close => self.deny(request),
        }
        self.details = details(ruling.answer());
        self.headers.push("cache-control", b"no-store");
        self.allow_origin(request);
        true
    }

    fn throttle(&mut self, limit: &Limit, request: &Request) {
        let Limit { requests, window, wait } = *limit;
        let seconds = wait.as_secs_ceil().max(1);
        let window = window.as_secs_ceil().max(1);
        self.number("retry-after", format_args!("{seconds}"));
        self.number("ratelimit-policy", format_args!("\"default\";q={requests};w={window}"));
        self.number("ratelimit", format_args!("\"default\";r=0;t={seconds}"));
        if request.is_grpc() {
            self.number("grpc-retry-pushback-ms", format_args!("{}", wait.0.div_ceil(1_000_000).max(1)));
            return self.grpc(GRPC_EXHAUSTED, format_args!("too many requests, retry in {seconds} s"));
        }
        self.status = 429;
        self.grpc_status = None;
        let plural = if seconds == 1 { "" } else { "s" };
        self.body(
            request,
            "Too Many Requests",
            None,
            format_args!("Too many requests. Try again in {seconds} second{plural}."),
        );
    }

    /// For a caller that repeats what fails: a person reads the sentence, a program the header and the number, an agent any
    /// of them.
    fn shed(&mut self, limit: &Limit, request: &Request) {
        let seconds = limit.wait.as_secs_ceil().max(1);
        self.number("retry-after", format_args!("{seconds}"));
        if request.is_grpc() {
            self.number(
                "grpc-retry-pushback-ms",
                format_args!("{}", limit.wait.0.div_ceil(1_000_000).max(1)),
            );
            return self.grpc(
                GRPC_UNAVAILABLE,
                format_args!(
                    "the service keeps failing these requests: do not retry before {seconds} s have passed"
                ),
            );
        }
        self.status = 503;
        self.grpc_status = None;
        let plural = if seconds == 1 { "" } else { "s" };
        self.body(
            request,
            "Service Unavailable",
            Some(seconds),
            format_args!(
                "The service keeps failing your requests to this path, so this one was not passed on: do not retry now, wait {seconds} second{plural} and then try once."
            ),
        );
    }

    fn number(&mut self, name: &str, value: core::fmt::Arguments) {
        self.headers.push_with(name, |out| {
            let _ = out.write_fmt(value);
        });
    }

    /// The page that asks a browser to prove itself.
    pub fn challenge(&mut self, page: &Page, status: u16) {
        self.begin(status, "weir_challenge");
        self.html(page.nonce);
        page::write(page, &mut self.body);
    }

    /// What a browser gets that brings an answer.
    pub fn answer(&mut self, answered: &Answered) {
        match answered {
            Answered::Cleared { cookie, to } => {
                self.redirect(to);
                self.headers.push("set-cookie", cookie.as_bytes());
            }
            Answered::Back { to } => self.redirect(to),
            Answered::NoCookies { reason } => {
                self.begin(403, "weir_challenge_cookies");
                self.html("0");
                page::write_cookies_off(reason, "0", &mut self.body);
            }
        }
    }

    fn redirect(&mut self, to: &str) {
        self.begin(303, "weir_challenge_answer");
        self.headers.push("location", to.as_bytes());
        self.headers.push("cache-control", b"no-store");
        self.headers.push("referrer-policy", b"no-referrer");
    }

    fn begin(&mut self, status: u16, details: &'static str) {
        self.headers.clear();
        self.body.clear();
        (self.status, self.grpc_status, self.details) = (status, None, details);
    }

    fn html(&mut self, nonce: &str) {
        let mut policy = String::new();
        page::content_security_policy(nonce, &mut policy);
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", &policy),
            ("cache-control", "no-store"),
            ("vary", "cookie, accept, sec-fetch-mode"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
        ] {
            self.headers.push(name, value.as_bytes());
        }
    }

    fn deny(&mut self, request: &Request) {
        if request.is_grpc() {
            return self.grpc(GRPC_DENIED, format_args!("this request was refused"));
        }
        self.status = 403;
        self.grpc_status = None;
        self.body(request, "Forbidden", None, format_args!("This request was refused."));
    }

    /// A gRPC status travels in an HTTP 200; Envoy makes the trailers.
    fn grpc(&mut self, status: u8, message: core::fmt::Arguments) {
        self.status = 200;
        self.grpc_status = Some(status);
        let _ = self.body.write_fmt(message);
    }

    /// Problem details (RFC 9457) for those who ask for JSON, with the seconds to wait where that is all they can do; else a
    /// sentence.
    fn body(&mut self, request: &Request, title: &str, wait: Option<u64>, detail: core::fmt::Arguments) {
        let status = self.status;
        if wants_json(request.headers.get("accept").unwrap_or_default()) {
            self.headers.push("content-type", b"application/problem+json");
            let _ = write!(
                self.body,
                r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}""#
            );
            if let Some(seconds) = wait {
                let _ = write!(self.body, r#","retry_after":{seconds}"#);
            }
            self.body.push_str("}\n");
        } else {
            self.headers.push("content-type", b"text/plain; charset=utf-8");
            let _ = writeln!(self.body, "{detail}");
        }
    }

    /// Lets a script of another origin read why it was refused; without this a browser tells it "failed to fetch".
    /// The answer holds nothing that is the user's, so every origin may read it.
    fn allow_origin(&mut self, request: &Request) {
        let Some(origin) = request.headers.get("origin").filter(|origin| is_plain(origin)) else { return };
        self.headers.push("access-control-allow-origin", origin);
        self.headers.push("access-control-allow-credentials", b"true");
        self.headers.push("access-control-expose-headers", b"retry-after, ratelimit, ratelimit-policy");
        self.headers.push("vary", b"origin");
    }
}

/// An origin is short printable ASCII (RFC 6454 §7); anything else is not given back.
fn is_plain(origin: &[u8]) -> bool {
    !origin.is_empty() && origin.len() <= 512 && origin.iter().all(u8::is_ascii_graphic)
}

/// How much of `Accept` is read; browsers send some 150 bytes and ten ranges. A refused client must not make its
/// refusal costly: reading 60 KB of commas took fifty times as long as all the rest.
const ACCEPT_BYTES: usize = 512;
const ACCEPT_RANGES: usize = 16;

/// Does `Accept` prefer JSON to text? Ties go to text, which is what a person at a terminal sees.
fn wants_json(accept: &[u8]) -> bool {
    let accept = accept.get(..ACCEPT_BYTES).unwrap_or(accept);
    let mentions = |word: &[u8]| accept.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !mentions(b"json") && !mentions(b"ion/*") && !mentions(b"text/*") {
        return false; // a browser or a plain client: every range that fits JSON fits text as well
    }
    let weight = |types: &[&str]| types.iter().map(|t| accept_weight(accept, t)).max().unwrap_or(0);
    weight(&["application/problem+json", "application/json"]) > weight(&["text/plain", "text/html"])
}

/// How much `Accept` wants a media type, in thousandths; the most specific range decides (RFC 9110 §12.5.1).
fn accept_weight(accept: &[u8], media_type: &str) -> u16 {
    let whole_family = |range: &str| {
        range.strip_suffix("/*").is_some_and(|family| media_type.split('/').next() == Some(family))
    };
    let mut best = (0u8, 0u16);
    let ranges = accept.split(|&b| b == b',').take(ACCEPT_RANGES);
    for range in ranges.filter_map(|range| core::str::from_utf8(range).ok()) {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let specificity = match &*name {
            name if name == media_type => 3,
            "*/*" => 1,
            name if whole_family(name) => 2,
            _ => continue,
        };
        let quality =
            parts.find_map(|p| p.strip_prefix("q=").or(p.strip_prefix("Q="))).map_or(1000, thousandths);
        if specificity > best.0 {
            best = (specificity, quality);
        }
    }
    best.1
}

fn thousandths(quality: &str) -> u16 {
    quality.parse::<f32>().map_or(0, |q| (q.clamp(0.0, 1.0) * 1000.0) as u16)
}

#[cfg(test)]
mod tests;
