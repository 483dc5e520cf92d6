//! What a counter counts by: a composite of typed parts, hashed so that no two composites alias, and written so
//! that an operator can read it. Secrets are never written: credentials, headers and cookies show as SHA-256.

use super::{Credential, Settings, Source};
use crate::hash::{Seed, SubjectHash, Typed};
use crate::request::Request;
use core::fmt::Write;
use core::net::IpAddr;
use percent_encoding::percent_decode;
use sha2::{Digest, Sha256};

/// What a rule's bucket belongs to: one part, or several together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpec(pub Box<[Part]>);

impl KeySpec {
    /// Counted by client, the default.
    pub fn client() -> KeySpec {
        KeySpec(Box::new([Part::Client]))
    }

    /// Does it need this part?
    pub fn has(&self, part: &Part) -> bool {
        self.0.contains(part)
    }
}

/// One part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The client's network.
    Client,
    /// The caller's credential.
    Consumer,
    /// The route.
    Route,
    /// A header's first value, by lower-case name.
    Header(Box<str>),
    /// A cookie's value.
    Cookie(Box<str>),
}

/// SHA-256 of a credential.
pub type Digest256 = [u8; 32];

/// The caller of one request, as far as somebody asked. The credential is hashed at most once.
pub struct Caller<'a> {
    settings: &'a Settings,
    request: &'a Request<'a>,
    /// Where it comes from.
    pub source: Source,
    consumer: Option<Option<Digest256>>,
}

impl<'a> Caller<'a> {
    /// Looks at the address; everything else waits until a key needs it.
    pub fn of(settings: &'a Settings, request: &'a Request<'a>) -> Caller<'a> {
        Caller { settings, request, source: Source::of(settings, request), consumer: None }
    }

    /// The consumer: the first credential found, as SHA-256.
    pub fn consumer(&mut self) -> Option<Digest256> {
        *self.consumer.get_or_insert_with(|| {
            let places = self.settings.consumer.iter();
            places.map(|place| credential(place, self.request)).find(Option::is_some).flatten()
        })
    }

    /// The hash of the subject that `spec` names in this request; `None` when a part is missing.
    pub fn subject(&mut self, spec: &KeySpec, seed: &Seed) -> Option<SubjectHash> {
        let mut hasher = seed.hasher();
        for part in &spec.0 {
            self.hash_part(part, &mut hasher)?;
        }
        Some(SubjectHash(hasher.finish()))
    }

    fn hash_part(&mut self, part: &Part, hasher: &mut Typed) -> Option<()> {
        match part {
            Part::Client => match (self.source.client()?.network, self.source.client()?.prefix) {
                (IpAddr::V4(v4), prefix) => hasher.part(1, &v4.octets()).number(prefix.into()),
                (IpAddr::V6(v6), prefix) => hasher.part(2, &v6.octets()).number(prefix.into()),
            },
            Part::Consumer => hasher.part(3, &self.consumer()?),
            Part::Route => hasher.part(4, self.request.route?),
            Part::Header(name) => hasher.part(5, name.as_bytes()).part(5, self.request.headers.get(name)?),
            Part::Cookie(name) => {
                hasher.part(6, name.as_bytes()).part(6, &self.request.headers.cookie(name)?)
            }
        };
        Some(())
    }

    /// Writes the subject that `spec` names: `client:203.0.113.7`, `consumer:sha256:…`, parts joined by ` `.
    pub fn describe(&mut self, spec: &KeySpec, out: &mut String) {
        for (i, part) in spec.0.iter().enumerate() {
            if i > 0 {
                out.push(' ');
            }
            self.describe_part(part, out);
        }
    }

    fn describe_part(&mut self, part: &Part, out: &mut String) {
        let headers = self.request.headers;
        match part {
            Part::Client => {
                out.push_str("client:");
                if let Some(client) = self.source.client() {
                    let _ = write!(out, "{}", client.network);
                    let full = if client.network.is_ipv4() { 32 } else { 128 };
                    if client.prefix < full {
                        let _ = write!(out, "/{}", client.prefix);
                    }
                }
            }
            Part::Consumer => describe_secret("consumer", self.consumer(), out),
            Part::Route => {
                let route = self.request.route.unwrap_or_default();
                let _ = write!(out, "route:{}", String::from_utf8_lossy(route));
            }
            Part::Header(name) => describe_named("header", name, headers.get(name), out),
            Part::Cookie(name) => describe_named("cookie", name, headers.cookie(name).as_deref(), out),
        }
    }
}

fn describe_named(kind: &str, name: &str, value: Option<&[u8]>, out: &mut String) {
    let _ = write!(out, "{kind}:");
    describe_secret(name, value.map(sha256), out);
}

fn describe_secret(name: &str, digest: Option<Digest256>, out: &mut String) {
    let _ = write!(out, "{name}:sha256:");
    for byte in digest.iter().flatten() {
        let _ = write!(out, "{byte:02x}");
    }
}

fn sha256(value: &[u8]) -> Digest256 {
    Sha256::digest(value).into()
}

fn credential(place: &Credential, request: &Request) -> Option<Digest256> {
    match place {
        Credential::Header(name) if &**name == "authorization" => {
            request.headers.all(name).find_map(authorization)
        }
        Credential::Header(name) => request.headers.all(name).find_map(plain),
        Credential::Cookie(name) => plain(&request.headers.cookie(name)?),
        Credential::Query(name) => query_parameter(request.path()?, name),
    }
}

fn plain(value: &[u8]) -> Option<Digest256> {
    let value = value.trim_ascii();
    (!value.is_empty()).then(|| sha256(value))
}

/// `Bearer x`, `bearer  x` and `BEARER x` are one credential to every server (RFC 9110 §11.1: the scheme is
/// case-insensitive), so they must be one consumer. The usual spelling hashes as it was sent.
fn authorization(value: &[u8]) -> Option<Digest256> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return None;
    }
    let Some(space) = value.iter().position(u8::is_ascii_whitespace) else { return Some(sha256(value)) };
    let (scheme, rest) = value.split_at_checked(space)?;
    let mut digest = Sha256::new();
    for (i, byte) in scheme.iter().enumerate() {
        digest.update([if i == 0 { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }]);
    }
    digest.update(b" ");
    match scheme.eq_ignore_ascii_case(b"basic") {
        true => base64(rest).for_each(|symbol| digest.update([symbol])),
        false => digest.update(rest.trim_ascii_start()),
    }
    Some(digest.finalize().into())
}

/// The one spelling (RFC 4648 §3.5) of base64 that many decoders take in any number of others: they skip what is no
/// symbol, take both alphabets, need no padding, and ignore the last symbol's spare bits.
fn base64(text: &[u8]) -> impl Iterator<Item = u8> {
    let symbols = text.iter().take_while(|&&b| b != b'=').filter_map(|&b| match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => Some(b),
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        _ => None,
    });
    let count = symbols.clone().count();
    let (whole, spare, padding) = match count % 4 {
        2 => (count, 0b1111, 2),
        3 => (count, 0b11, 1),
        left => (count - left, 0, 0), // a single symbol is no byte
    };
    let symbols = symbols.take(whole).enumerate();
    let symbols = symbols.map(move |(at, s)| if at + 1 == whole { without_bits(s, spare) } else { s });
    symbols.chain(core::iter::repeat_n(b'=', padding))
}

/// The base64 symbol whose value is that of `symbol` less some bits.
fn without_bits(symbol: u8, bits: usize) -> u8 {
    const SYMBOLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = SYMBOLS.iter().position(|&s| s == symbol);
    value.and_then(|value| SYMBOLS.get(value & !bits)).copied().unwrap_or(symbol)
}

/// The first query parameter of this name, percent-decoded: another encoding of a key is no new consumer.
fn query_parameter(path: &[u8], name: &str) -> Option<Digest256> {
    let start = path.iter().position(|&b| b == b'?')? + 1;
    let query = path.get(start..)?.split(|&b| b == b'#').next()?;
    query.split(|&b| b == b'&').find_map(|pair| {
        let equals = pair.iter().position(|&b| b == b'=')?;
        let (key, value) = (pair.get(..equals)?, pair.get(equals + 1..)?);
        let is_it = percent_decode(key).eq(name.bytes());
        (is_it && !value.is_empty()).then(|| {
            let mut digest = Sha256::new();
            percent_decode(value).for_each(|byte| digest.update([byte]));
            digest.finalize().into()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::headers::{Headers, Pairs};

    const SEED: Seed = Seed([3; 16]);

    fn settings() -> Settings {
        Settings {
            consumer: Box::new([
                Credential::Header("authorization".into()),
                Credential::Header("x-api-key".into()),
                Credential::Cookie("session".into()),
                Credential::Query("api_key".into()),
            ]),
            ..Settings::default()
        }
    }

    fn with<T>(source: &str, pairs: &[(&str, &str)], check: impl Fn(&mut Caller) -> T) -> T {
        let mut blob = Pairs::default();
        pairs.iter().for_each(|(name, value)| blob.push(name, value.as_bytes()));
        let headers = Headers::parse(blob.encode());
        let request = Request { source: Some(source.as_bytes()), headers, ..Request::default() };
        check(&mut Caller::of(&settings(), &request))
    }

    fn consumer(pairs: &[(&str, &str)]) -> Option<Digest256> {
        with("192.0.2.1:1", pairs, |caller| caller.consumer())
    }

    fn described(spec: &KeySpec, source: &str, pairs: &[(&str, &str)]) -> String {
        with(source, pairs, |caller| {
            let mut out = String::new();
            caller.describe(spec, &mut out);
            out
        })
    }

    #[test]
    fn the_first_place_that_has_a_credential_names_the_consumer() {
        let key = Some(sha256(b"k1"));
        assert_eq!(consumer(&[("x-api-key", "k1"), ("cookie", "session=s")]), key);
        assert_eq!(consumer(&[("cookie", "session=k1")]), key);
        assert_eq!(consumer(&[(":path", "/a?b=c&api_key=k1#x")]), key);
        assert_eq!(consumer(&[("x-api-key", "  "), ("cookie", "other=1")]), None);
    }

    #[test]
    fn another_encoding_of_a_key_is_no_new_consumer() {
        for path in ["/?api_key=k1", "/?api%5Fkey=k1", "/?x&api_key=k%31", "/?api_key=%6b1&api_key=k2"] {
            assert_eq!(consumer(&[(":path", path)]), Some(sha256(b"k1")), "{path}");
        }
        assert_eq!(consumer(&[(":path", "/?api_key=")]), None);
    }

    #[test]
    fn another_encoding_of_a_cookie_is_no_new_consumer() {
        for cookie in
            ["session=k1", "session=%6b1", "%73ession=k%31", "session=\"k1\"", "a=b; session = k1 ;c=d"]
        {
            assert_eq!(consumer(&[("cookie", cookie)]), Some(sha256(b"k1")), "{cookie}");
        }
    }

    #[test]
    fn an_empty_credential_hides_no_other_of_its_name() {
        let key = Some(sha256(b"k1"));
        assert_eq!(consumer(&[("x-api-key", ""), ("x-api-key", "k1")]), key);
        assert_eq!(consumer(&[("cookie", "session=; session=k1")]), key);
        assert_eq!(consumer(&[("cookie", "session=\"\""), ("cookie", "session=k1")]), key);
        assert_eq!(consumer(&[("authorization", " "), ("authorization", "k1")]), key);
    }

    #[test]
    fn the_spelling_of_the_scheme_is_no_new_consumer() {
        let token = Some(sha256(b"Bearer abc"));
        for spelling in ["Bearer abc", "bearer abc", "BEARER   abc ", " Bearer\tabc"] {
            assert_eq!(consumer(&[("authorization", spelling)]), token, "{spelling:?}");
        }
        assert_ne!(consumer(&[("authorization", "Bearer ABC")]), token);
    }

    #[test]
    fn the_spelling_of_base64_is_no_new_consumer() {
        for (usual, others) in [
            ("dXNlcjpwYXNz", vec!["dXNl cjpwYXNz", "dXNl!cjpwYXNz", "dXNlcjpwYXNz=x", "dXNlcjpwYXNzA"]),
            ("dTpw_w==".replace('_', "/").as_str(), vec!["dTpw/w", "dTpw_w==", "dTpw/x==", "d.T.p.w_w="]),
            ("dTpwPz8=", vec!["dTpwPz8", "dTpwPz9=", "dTpw Pz8==="]),
        ] {
            let token = Some(sha256(format!("Basic {usual}").as_bytes()));
            for spelling in others.into_iter().chain([usual]) {
                assert_eq!(consumer(&[("authorization", &format!("basic {spelling}"))]), token, "{spelling}");
            }
        }
    }

    #[test]
    fn a_subject_is_missing_when_one_of_its_parts_is() {
        let spec = KeySpec(Box::new([Part::Client, Part::Header("x-tenant".into())]));
        let subject = |source: &str, pairs: &[(&str, &str)]| with(source, pairs, |c| c.subject(&spec, &SEED));
        assert!(subject("192.0.2.1:1", &[("x-tenant", "a")]).is_some());
        assert_eq!(subject("192.0.2.1:1", &[]), None);
        assert_eq!(subject("garbage", &[("x-tenant", "a")]), None);
        assert_eq!(
            subject("192.0.2.1:1", &[("x-tenant", "a")]),
            subject("192.0.2.1:2", &[("x-tenant", "a")])
        );
        assert_ne!(
            subject("192.0.2.1:1", &[("x-tenant", "a")]),
            subject("192.0.2.1:1", &[("x-tenant", "b")])
        );
    }

    #[test]
    fn a_header_and_a_cookie_of_equal_name_and_value_are_two_subjects() {
        let header = KeySpec(Box::new([Part::Header("id".into())]));
        let cookie = KeySpec(Box::new([Part::Cookie("id".into())]));
        let pairs = [("id", "7"), ("cookie", "id=7")];
        let subject = |spec| with("192.0.2.1:1", &pairs, |caller| caller.subject(spec, &SEED));
        assert_ne!(subject(&header), subject(&cookie));
    }

    #[test]
    fn a_described_subject_shows_the_network_and_never_a_secret() {
        assert_eq!(described(&KeySpec::client(), "203.0.113.7:9", &[]), "client:203.0.113.7");
        assert_eq!(described(&KeySpec::client(), "[2001:db8::7]:9", &[]), "client:2001:db8::/64");
        let spec = KeySpec(Box::new([Part::Consumer, Part::Header("x-t".into()), Part::Cookie("c".into())]));
        let text = described(
            &spec,
            "203.0.113.7:9",
            &[("x-api-key", "hush"), ("x-t", "hush"), ("cookie", "c=hush")],
        );
        assert!(text.starts_with("consumer:sha256:") && text.contains(" header:x-t:sha256:"), "{text}");
        assert!(!text.contains("hush"), "{text}");
    }
}
