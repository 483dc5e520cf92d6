use super::*;
use crate::policy::{Actions, Cause, Mode, Response};
use crate::request::headers::Headers;
use proptest::prelude::*;

fn ruling(action: Action, wait: Nanos) -> Ruling {
    let response = Response { mode: Mode::Enforce, actions: Actions::only(action) };
    let limit = Some(Limit { requests: 200, window: Nanos::from_secs(2), wait });
    Ruling { cause: Cause::Rule(0), response, counted: None, limit }
}

/// The answer and its headers.
fn answer(ruling: &Ruling, pairs: &[(&str, &[u8])]) -> (Reply, Vec<(String, String)>) {
    let mut blob = Pairs::default();
    pairs.iter().for_each(|(name, value)| blob.push(name, value));
    let request = Request { headers: Headers::parse(blob.encode()), ..Request::default() };
    let mut reply = Reply::default();
    assert!(reply.write(ruling, &request));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let headers = Headers::parse(reply.headers.encode()).iter().map(|(n, v)| (text(n), text(v))).collect();
    (reply, headers)
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

#[test]
fn a_throttled_caller_learns_when_to_come_back() {
    let (reply, headers) = answer(&ruling(Action::Throttle, Nanos::from_millis(2_001)), &[]);
    assert_eq!((reply.status, reply.grpc_status), (429, None));
    assert_eq!(header(&headers, "retry-after"), Some("3"));
    assert_eq!(header(&headers, "ratelimit-policy"), Some("\"default\";q=200;w=2"));
    assert_eq!(header(&headers, "ratelimit"), Some("\"default\";r=0;t=3"));
    assert_eq!(header(&headers, "cache-control"), Some("no-store"));
    assert_eq!(reply.body, "Too many requests. Try again in 3 seconds.\n");
}

#[test]
fn a_wait_of_no_time_at_all_is_still_one_second() {
    let (_, headers) = answer(&ruling(Action::Throttle, Nanos::ZERO), &[]);
    assert_eq!(header(&headers, "retry-after"), Some("1"));
}

#[test]
fn a_denied_caller_learns_nothing_about_limits() {
    let (reply, headers) = answer(&ruling(Action::Deny, Nanos::from_secs(3)), &[]);
    assert_eq!(reply.status, 403);
    assert_eq!(header(&headers, "retry-after"), None);
    assert_eq!(header(&headers, "ratelimit"), None);
}

#[test]
fn only_a_ruling_that_refuses_is_an_answer() {
    for action in Action::ALL {
        let answered = Reply::default().write(&ruling(action, Nanos::ZERO), &Request::default());
        assert_eq!(answered, action.refuses(), "{action:?}");
    }
}

#[test]
fn each_action_has_its_status_and_its_word_for_the_access_log() {
    for (action, status) in [
        (Action::Throttle, 429),
        (Action::Challenge, 429),
        (Action::Deny, 403),
        (Action::Block, 403),
        (Action::Close, 403),
    ] {
        let (reply, _) = answer(&ruling(action, Nanos::ZERO), &[]);
        assert_eq!((reply.status, reply.details), (status, &*format!("weir_{}", action.name())));
    }
}

#[test]
fn grpc_callers_get_a_status_and_a_pushback() {
    let grpc: (&str, &[u8]) = ("content-type", b"application/grpc+proto");
    let (reply, headers) = answer(&ruling(Action::Throttle, Nanos(1_500_000_001)), &[grpc]);
    assert_eq!((reply.status, reply.grpc_status), (200, Some(8)));
    assert_eq!(header(&headers, "grpc-retry-pushback-ms"), Some("1501"));
    assert_eq!(header(&headers, "content-type"), None);
    let (reply, _) = answer(&ruling(Action::Deny, Nanos::ZERO), &[grpc]);
    assert_eq!((reply.status, reply.grpc_status), (200, Some(7)));
}

#[test]
fn json_goes_to_those_who_prefer_it() {
    for (accept, json) in [
        ("", false),
        ("*/*", false),
        ("application/json", true),
        ("application/problem+json", true),
        ("application/*", true),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false),
        ("application/json, text/plain, */*", false),
        ("application/json;q=0.9, text/plain;q=0.5", true),
        ("application/json;q=0, */*", false),
        ("text/*;q=0.1, */*", true),
        ("APPLICATION/*", true),
        ("APPLICATION/JSON; charset=utf-8", true),
        ("garbage;;;q=x,,/", false),
    ] {
        let (reply, headers) = answer(&ruling(Action::Deny, Nanos::ZERO), &[("accept", accept.as_bytes())]);
        let is_json = header(&headers, "content-type") == Some("application/problem+json");
        assert_eq!(is_json, json, "{accept:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&reply.body).is_ok(), json, "{}", reply.body);
    }
}

#[test]
fn an_accept_without_end_is_read_at_its_beginning_only() {
    for padding in [",".repeat(60_000), "a/b,".repeat(16), " ".repeat(600)] {
        let accept = format!("{padding}application/json");
        let (_, headers) = answer(&ruling(Action::Throttle, Nanos::ZERO), &[("accept", accept.as_bytes())]);
        assert_eq!(header(&headers, "content-type"), Some("text/plain; charset=utf-8"), "{}", accept.len());
    }
}

#[test]
fn a_script_of_another_origin_can_read_the_refusal() {
    let (_, headers) = answer(&ruling(Action::Throttle, Nanos::ZERO), &[("origin", b"https://app.example")]);
    assert_eq!(header(&headers, "access-control-allow-origin"), Some("https://app.example"));
    assert!(header(&headers, "access-control-expose-headers").unwrap().contains("retry-after"));
}

#[test]
fn an_origin_that_is_none_is_not_given_back() {
    for origin in [&b"x\r\nset-cookie: a=b"[..], b"\xff", b"", &[b'a'; 600]] {
        let (_, headers) = answer(&ruling(Action::Deny, Nanos::ZERO), &[("origin", origin)]);
        assert_eq!(header(&headers, "access-control-allow-origin"), None);
    }
}

proptest! {
    #[test]
    fn the_three_headers_agree_whatever_the_wait(wait: u64, window: u64, requests: u32) {
        let limit = Some(Limit { requests, window: Nanos(window), wait: Nanos(wait) });
        let ruling = Ruling { limit, ..ruling(Action::Throttle, Nanos::ZERO) };
        let (_, headers) = answer(&ruling, &[]);
        let retry: u64 = header(&headers, "retry-after").unwrap().parse().unwrap();
        prop_assert!(retry >= 1 && u128::from(retry) * 1_000_000_000 >= u128::from(wait));
        let suffix = format!(";t={retry}");
        prop_assert!(header(&headers, "ratelimit").unwrap().ends_with(&suffix));
    }

    #[test]
    fn any_accept_and_any_origin_get_an_answer(
        accept in proptest::collection::vec(any::<u8>(), 0..60), origin in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let (reply, _) = answer(&ruling(Action::Throttle, Nanos::ZERO), &[("accept", &accept), ("origin", &origin)]);
        prop_assert_eq!(reply.status, 429);
    }
}
