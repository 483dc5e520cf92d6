//! Words, names and patterns: each function reads one value as one thing.

use super::error::{Cause, HostFault, Shown};
use super::json::Value;
use super::known::Known;
use super::nearest::nearest;
use super::read::Section;
use super::units::text;
use super::{later, schema};
use crate::detect::rules::Host;
use crate::identity::key::Part;
use crate::policy::{Action, Mode};
use crate::request::path::normalise;
use core::net::Ipv6Addr;

/// A field name or an identifier that is longer is a mistake, and would be looked up at every request.
const LONGEST: usize = 128;

/// `observe` or `enforce`.
pub fn mode(value: &Value) -> Result<Mode, Cause> {
    let word = text(value)?;
    let mode = [Mode::Observe, Mode::Enforce].into_iter().find(|mode| mode.name() == word);
    mode.ok_or_else(|| unknown_word(word, schema::MODES))
}

/// One action of a rule.
pub fn rule_action(value: &Value) -> Result<Action, Cause> {
    action(text(value)?, schema::RULE_ACTIONS)
}

/// The action of a tier.
pub fn tier_action(value: &Value) -> Result<Action, Cause> {
    action(text(value)?, schema::TIER_ACTIONS)
}

fn action(word: &str, known: &'static [&'static str]) -> Result<Action, Cause> {
    let action = Action::ALL.into_iter().find(|action| action.name() == word && known.contains(&word));
    action.ok_or_else(|| match later::ACTIONS.contains(&word) {
        true => Cause::WordNotBuilt { found: Shown::new(word), known },
        false => unknown_word(word, known),
    })
}

/// A word for a surge factor.
pub fn sensitivity(value: &Value) -> Result<f64, Cause> {
    let word = text(value)?;
    let mut factors = schema::SENSITIVITIES.iter().zip(schema::SENSITIVE_FACTORS);
    let factor = factors.find(|(name, _)| **name == word).map(|(_, factor)| factor);
    factor.ok_or_else(|| unknown_word(word, schema::SENSITIVITIES))
}

/// One part of a key.
pub fn key_part(value: &Value, known: Known) -> Result<Part, Cause> {
    let word = text(value)?;
    match word.split_once(':') {
        Some(("header", name)) => header_name(name).map(Part::Header),
        Some(("cookie", name)) => cookie_name(name).map(Part::Cookie),
        _ => match word {
            "client" => Ok(Part::Client),
            "consumer" if !known.consumers => Err(Cause::NoConsumer),
            "consumer" => Ok(Part::Consumer),
            "network" if !known.networks => Err(Cause::NoNetwork),
            "network" => Ok(Part::Network),
            "route" => Ok(Part::Route),
            "path" => Err(Cause::PathOfRule),
            _ if let Some(method) = known.supplied(word) => method.cloned().map(Part::Fingerprint),
            _ => Err(unknown_word(word, schema::KEYS)),
        },
    }
}

/// One part of a volume's key, which may be the path.
pub fn volume_part(value: &Value, known: Known) -> Result<Part, Cause> {
    if *value == Value::Text("path".into()) {
        return Ok(Part::Path);
    }
    key_part(value, known).map_err(|cause| match cause {
        Cause::UnknownWord { .. } => unknown_word(text(value).unwrap_or_default(), schema::VOLUME_KEYS),
        other => other,
    })
}

/// Reports the parts that stand in a key twice.
pub fn refuse_repeated_parts(section: &Section, parts: &[Part]) {
    refuse_repeated(section, "key", parts, |part| match part {
        Part::Client => "client".to_owned(),
        Part::Consumer => "consumer".to_owned(),
        Part::Route => "route".to_owned(),
        Part::Network => "network".to_owned(),
        Part::Path => "path".to_owned(),
        Part::Fingerprint(method) => method.name.to_string(),
        Part::Header(name) => format!("header:{name}"),
        Part::Cookie(name) => format!("cookie:{name}"),
    });
}

/// Reports the items that stand in a list twice, each by its word.
pub fn refuse_repeated<T: PartialEq>(
    section: &Section,
    name: &str,
    items: &[T],
    word: impl Fn(&T) -> String,
) {
    for (i, item) in items.iter().enumerate() {
        if items.iter().take(i).any(|earlier| earlier == item) {
            section.refuse_field(name, Cause::Repeated { found: Shown::new(&word(item)) });
        }
    }
}

/// The name of a cluster in Envoy's configuration.
pub fn cluster(value: &Value) -> Result<Box<str>, Cause> {
    name(text(value)?, 1_024, |b| !b.is_ascii_control(), "the name of a cluster as in Envoy's configuration")
}

/// The host that a cluster's name means: that of Istio's `outbound|80||siem.soc.svc` is its end. Of a name that no host can
/// have, one that any server takes.
pub fn authority_of(cluster: &str) -> Box<str> {
    let host = cluster.rsplit('|').next().unwrap_or_default();
    let is_host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if !host.is_empty() && host.bytes().all(is_host) { host.into() } else { "webhook".into() }
}

/// A path to ask for, with its query if it has one.
pub fn target(value: &Value) -> Result<Box<str>, Cause> {
    let text = text(value)?;
    let allowed = "a path like /events, of printable ASCII without spaces";
    if !text.starts_with('/') {
        return Err(Cause::PathRelative { found: Shown::new(text) });
    }
    name(text, 1_024, |b| b.is_ascii_graphic(), allowed)
}

/// A word that is none of those that are known.
pub fn unknown_word(word: &str, known: &'static [&'static str]) -> Cause {
    Cause::UnknownWord { found: Shown::new(word), nearest: nearest(word, known.iter().copied()), known }
}

/// A rule's name, which becomes a metric's label.
pub fn rule_name(value: &Value) -> Result<Box<str>, Cause> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    name(text(value)?, 64, is_plain, "1 to 64 of the characters A–Z a–z 0–9 _ -")
}

/// A header's name, in the lower case in which Envoy keeps it.
pub fn header(value: &Value) -> Result<Box<str>, Cause> {
    header_name(text(value)?)
}

fn header_name(text: &str) -> Result<Box<str>, Cause> {
    let name = name(text, LONGEST, is_token, "a header's name like x-api-key")?;
    Ok(name.to_ascii_lowercase().into())
}

/// A cookie's name: case matters.
pub fn cookie(value: &Value) -> Result<Box<str>, Cause> {
    cookie_name(text(value)?)
}

fn cookie_name(text: &str) -> Result<Box<str>, Cause> {
    name(text, LONGEST, is_token, "a cookie's name like session")
}

/// The name of a query parameter, decoded.
pub fn query(value: &Value) -> Result<Box<str>, Cause> {
    name(text(value)?, LONGEST, |_| true, "the name of a query parameter like api_key")
}

/// The name of a route in Envoy's configuration.
pub fn route(value: &Value) -> Result<Box<str>, Cause> {
    route_name(text(value)?)
}

/// The name of a route, where it is a key.
pub fn route_name(text: &str) -> Result<Box<str>, Cause> {
    name(text, 1_024, |_| true, "the name of a route as in Envoy's configuration")
}

/// The name of a method of fingerprints, which becomes a key and a metric's label: no other word of keys.
pub fn method_of_fingerprints(text: &str) -> Result<Box<str>, Cause> {
    const TAKEN: &[&str] = &["client", "consumer", "network", "route", "path", "header", "cookie"];
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let allowed = "JA3, JA4, or a name of 1 to 32 of A–Z a–z 0–9 _ - that is no other key";
    match TAKEN.contains(&text) {
        true => Err(Cause::Name { found: Shown::new(text), allowed }),
        false => name(text, 32, is_plain, allowed),
    }
}

/// The name of a filter state, or of a field in it. NUL stands between the parts of a property's path.
pub fn state(value: &Value) -> Result<Box<str>, Cause> {
    name(text(value)?, LONGEST, |b| b != 0, "a name like weir.asn, without NUL")
}

/// The name of a response header that Weir may set: one that means nothing to proxies and clients.
pub fn response_header(value: &Value) -> Result<Box<str>, Cause> {
    let text = text(value)?;
    match meaning(&text.to_ascii_lowercase()) {
        Some(why) => Err(Cause::HeaderTaken { found: Shown::new(text), why }),
        None => header_name(text),
    }
}

fn meaning(name: &str) -> Option<&'static str> {
    const FRAMING: &[&str] = &[
        "connection",
        "content-encoding",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    const MEANING: &[&str] = &[
        "alt-svc",
        "cache-control",
        "content-type",
        "date",
        "etag",
        "expires",
        "location",
        "proxy-authenticate",
        "ratelimit",
        "ratelimit-policy",
        "retry-after",
        "server",
        "vary",
        "www-authenticate",
    ];
    const FAMILIES: &[&str] =
        &["access-control-", "content-security-", "cookie", "grpc-", "set-cookie", "strict-", "x-envoy-"];
    match name {
        _ if name.starts_with(':') => Some("pseudo headers are the proxy's"),
        _ if FRAMING.contains(&name) => Some("it says how the answer is transferred"),
        _ if MEANING.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family)) => {
            Some("it has a meaning to clients or proxies")
        }
        _ => None,
    }
}

fn name(
    text: &str,
    longest: usize,
    may_have: impl Fn(u8) -> bool,
    allowed: &'static str,
) -> Result<Box<str>, Cause> {
    let is_sound = (1..=longest).contains(&text.len()) && text.bytes().all(may_have);
    is_sound.then(|| text.into()).ok_or_else(|| Cause::Name { found: Shown::new(text), allowed })
}

/// RFC 9110 `tchar`.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A method. They are case-sensitive, and a rule for `get` would never see a request.
pub fn method(value: &Value) -> Result<Box<str>, Cause> {
    let method = name(text(value)?, 32, is_token, "a method like GET")?;
    match method.bytes().any(|b| b.is_ascii_lowercase()) {
        true => Err(Cause::MethodCase { upper: Shown::new(&method.to_ascii_uppercase()) }),
        false => Ok(method),
    }
}

/// A path, or the beginning of one, in the normal form that requests are compared in. Spelling is normalised; what
/// would come out as a shorter path than was written (`/.`, `/a;v=1`) is refused, since it would fit much more.
pub fn path(value: &Value) -> Result<Box<[u8]>, Cause> {
    let text = text(value)?;
    let found = || Shown::new(text);
    if !text.starts_with('/') {
        return Err(Cause::PathRelative { found: found() });
    }
    if text.contains(['?', '#']) {
        return Err(Cause::PathWithQuery { found: found() });
    }
    let mut normal = Vec::new();
    normalise(text.as_bytes(), &mut normal);
    match has_more_segments(text.as_bytes(), &normal) {
        true => {
            Err(Cause::PathReadAs { found: found(), normal: Shown::new(&String::from_utf8_lossy(&normal)) })
        }
        false => Ok(normal.into()),
    }
}

/// Does `text` have parameters or dot segments, which its normal form has lost?
fn has_more_segments(text: &[u8], normal: &[u8]) -> bool {
    let decoded: Vec<u8> = percent_encoding::percent_decode(text).collect();
    let has_parameters = decoded.contains(&b';');
    let count = |path: &[u8]| path.split(|&b| b == b'/').filter(|segment| !segment.is_empty()).count();
    has_parameters || count(text) != count(normal)
}

/// `www.example.com`, or `*.example.com` for every host below it.
pub fn host(value: &Value) -> Result<Host, Cause> {
    let text = text(value)?;
    let fault = |fault| Cause::Host { found: Shown::new(text), fault };
    let lower = text.to_ascii_lowercase();
    let name = lower.strip_suffix('.').unwrap_or(&lower); // requests lose it too
    let (is_suffix, name) = match name.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, name),
    };
    match host_fault(name, is_suffix) {
        Some(found) => Err(fault(found)),
        None if is_suffix => Ok(Host::Under(format!(".{name}").into())),
        None => Ok(Host::Exactly(name.into())),
    }
}

fn host_fault(name: &str, is_suffix: bool) -> Option<HostFault> {
    let literal = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if literal.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()) && !is_suffix {
        return None;
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    match name {
        _ if name.contains('/') => Some(HostFault::Url),
        _ if name.contains('*') => Some(HostFault::Wildcard),
        _ if name.contains(':') => Some(HostFault::Port),
        _ if !name.is_ascii() => Some(HostFault::NotAscii),
        _ if name.len() <= 253 && name.split('.').all(is_label) => None,
        _ => Some(HostFault::NotAName),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn the_words_of_the_table_are_the_words_of_the_types() {
        let of_tiers =
            Action::ALL.into_iter().map(Action::name).filter(|word| !later::ACTIONS.contains(word));
        assert_eq!(schema::TIER_ACTIONS, of_tiers.collect::<Vec<_>>());
        assert!(schema::RULE_ACTIONS.iter().all(|word| rule_action(&value(word)).is_ok()));
        assert!(schema::SENSITIVITIES.iter().all(|word| sensitivity(&value(word)).is_ok()));
        assert_eq!(schema::MODES, [Mode::Observe, Mode::Enforce].map(Mode::name));
        assert!(schema::MODES.iter().all(|word| mode(&value(word)).is_ok()));
        assert!(schema::KEYS.iter().all(|word| key_part(&value(word), Known::all()).is_ok()));
        assert!(
            later::ACTIONS
                .iter()
                .all(|word| matches!(rule_action(&value(word)), Err(Cause::WordNotBuilt { .. })))
        );
        assert!(schema::VOLUME_KEYS.iter().all(|word| volume_part(&value(word), Known::all()).is_ok()));
        assert_eq!(key_part(&value("path"), Known::all()), Err(Cause::PathOfRule));
    }

    #[test]
    fn a_cluster_is_asked_for_by_the_host_in_its_name() {
        for (cluster, host) in [
            ("siem", "siem"),
            ("outbound|80||siem.soc.svc", "siem.soc.svc"),
            ("a b", "webhook"),
            ("a|", "webhook"),
        ] {
            assert_eq!(&*authority_of(cluster), host, "{cluster}");
        }
        assert!(cluster(&value("a\nb")).is_err());
    }

    #[test]
    fn header_names_are_lower_case_and_cookie_names_are_kept() {
        assert_eq!(key_part(&value("header:X-Tenant"), Known::all()), Ok(Part::Header("x-tenant".into())));
        assert_eq!(key_part(&value("cookie:Session"), Known::all()), Ok(Part::Cookie("Session".into())));
        for bad in ["header:", "header:a b", "header::path", "cookie:a=b", "header:é"] {
            assert!(matches!(key_part(&value(bad), Known::all()), Err(Cause::Name { .. })), "{bad}");
        }
        assert!(matches!(key_part(&value("header"), Known::all()), Err(Cause::UnknownWord { .. })));
    }

    #[test]
    fn a_path_is_kept_in_the_form_that_requests_are_compared_in() {
        for (text, normal) in
            [("/a", "/a"), ("/A%2fb/", "/A%2Fb/"), ("/%61", "/a"), ("//a///b", "/a/b"), ("/.well", "/.well")]
        {
            assert_eq!(path(&value(text)), Ok(normal.as_bytes().into()), "{text}");
        }
    }

    #[test]
    fn a_pattern_that_would_fit_more_than_it_says_is_refused() {
        for text in ["/.", "/..", "/a/../b", "/a/%2e", "/a;v=1", "/a%3Bv/b", "/;/", "/a/."] {
            assert!(matches!(path(&value(text)), Err(Cause::PathReadAs { .. })), "{text}");
        }
        assert!(matches!(path(&value("a")), Err(Cause::PathRelative { .. })));
        assert!(matches!(path(&value("")), Err(Cause::PathRelative { .. })));
        assert!(matches!(path(&value("/a?b")), Err(Cause::PathWithQuery { .. })));
    }

    #[test]
    fn a_host_is_a_name_or_all_names_below_one() {
        assert_eq!(host(&value("WWW.example.com.")), Ok(Host::Exactly("www.example.com".into())));
        assert_eq!(host(&value("*.example.com")), Ok(Host::Under(".example.com".into())));
        assert_eq!(host(&value("[2001:db8::1]")), Ok(Host::Exactly("[2001:db8::1]".into())));
        for (text, found) in [
            ("example.com:443", HostFault::Port),
            ("https://example.com", HostFault::Url),
            ("example.com/a", HostFault::Url),
            ("*", HostFault::Wildcard),
            ("*.*.com", HostFault::Wildcard),
            ("bücher.example", HostFault::NotAscii),
            ("", HostFault::NotAName),
            ("*.", HostFault::Wildcard),
            ("a..b", HostFault::NotAName),
            ("a b", HostFault::NotAName),
        ] {
            assert_eq!(
                host(&value(text)),
                Err(Cause::Host { found: Shown::new(text), fault: found }),
                "{text}"
            );
        }
    }

    #[test]
    fn a_method_in_small_letters_would_never_fit() {
        assert_eq!(method(&value("GET")), Ok("GET".into()));
        assert_eq!(method(&value("get")), Err(Cause::MethodCase { upper: Shown::new("GET") }));
        assert!(matches!(method(&value("GET POST")), Err(Cause::Name { .. })));
    }

    #[test]
    fn a_header_that_means_something_is_not_for_saying_why() {
        assert_eq!(response_header(&value("X-Weir-Why")), Ok("x-weir-why".into()));
        for taken in [":status", "Content-Length", "connection", "set-cookie", "set-cookie2", "grpc-status"] {
            assert!(matches!(response_header(&value(taken)), Err(Cause::HeaderTaken { .. })), "{taken}");
        }
        assert!(matches!(response_header(&value("a b")), Err(Cause::Name { .. })));
    }

    #[test]
    fn a_state_has_no_nul_which_would_end_its_name() {
        assert_eq!(state(&value("weir.asn")), Ok("weir.asn".into()));
        assert!(state(&value("")).is_err() && state(&value("a\0b")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_or_is_refused(text in any::<String>()) {
            let value = value(&text);
            let _ = (key_part(&value, Known::all()), method(&value), host(&value), rule_name(&value), rule_action(&value));
            let _ = (response_header(&value), state(&value), sensitivity(&value));
            if let Ok(path) = path(&value) {
                let mut again = Vec::new();
                normalise(&path, &mut again);
                prop_assert_eq!(&*path, &*again);
            }
        }
    }
}
