//! What a counter counts by: a composite of typed parts, hashed so that no two composites alias, and written so
//! that an operator can read it. Secrets are never written: credentials, headers and cookies show as SHA-256.

use super::credential::{Digest256, consumer, sha256};
use super::{Method, Settings, Source};
use crate::hash::{Seed, SubjectHash, Typed};
use crate::request::Request;
use crate::request::fingerprint::Fingerprints;
use core::fmt::Write;
use core::net::IpAddr;

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
    /// The network that the client's address belongs to, by its number (ASN).
    Network,
    /// The route.
    Route,
    /// The caller's software, by one method.
    Fingerprint(Method),
    /// A header's first value, by lower-case name.
    Header(Box<str>),
    /// A cookie's value.
    Cookie(Box<str>),
    /// The path, in normal form.
    Path,
}

/// The caller of one request, as far as somebody asked. The credential is hashed at most once.
pub struct Caller<'a> {
    settings: &'a Settings,
    request: &'a Request<'a>,
    /// Where it comes from.
    pub source: Source,
    /// What it asks for, in normal form, where that is known.
    pub path: Option<&'a [u8]>,
    consumer: Option<Option<Digest256>>,
}

impl<'a> Caller<'a> {
    /// Looks at the address; everything else waits until a key needs it.
    pub fn of(settings: &'a Settings, request: &'a Request<'a>) -> Caller<'a> {
        Caller { settings, request, source: Source::of(settings, request), path: None, consumer: None }
    }

    /// The same, asking for this path.
    #[must_use]
    pub fn at(self, path: Option<&'a [u8]>) -> Caller<'a> {
        Caller { path, ..self }
    }

    /// What is known of the request.
    pub fn request(&self) -> &'a Request<'a> {
        self.request
    }

    /// The consumer: the first credential found, as SHA-256.
    pub fn consumer(&mut self) -> Option<Digest256> {
        *self.consumer.get_or_insert_with(|| consumer(&self.settings.consumer, self.request))
    }

    /// The number of the client's network, where the host knows it.
    pub fn network(&self) -> Option<u32> {
        self.request.network.and_then(number)
    }

    /// What is known of the caller's software.
    pub fn fingerprints(&self) -> &'a Fingerprints {
        self.request.fingerprints
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
                (IpAddr::V4(v4), prefix) => hasher.part(cut(1, prefix), &v4.octets()),
                (IpAddr::V6(v6), prefix) => hasher.part(cut(2, prefix), &v6.octets()),
            },
            Part::Consumer => hasher.part(3, &self.consumer()?),
            Part::Route => hasher.part(4, self.request.route?),
            Part::Network => hasher.part(7, &self.network()?.to_le_bytes()),
            Part::Fingerprint(method) => {
                hasher.part(8, method.name.as_bytes()).part(8, self.request.fingerprints.get(method.place)?)
            }
            Part::Header(name) => hasher.part(5, name.as_bytes()).part(5, self.request.headers.get(name)?),
            Part::Cookie(name) => {
                hasher.part(6, name.as_bytes()).part(6, &self.request.headers.cookie(name)?)
            }
            Part::Path => hasher.part(9, self.path?),
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
            Part::Network => {
                let _ = write!(out, "network:{}", self.network().unwrap_or_default());
            }
            Part::Route => {
                let route = self.request.route.unwrap_or_default();
                let _ = write!(out, "route:{}", String::from_utf8_lossy(route));
            }
            Part::Fingerprint(method) => {
                let value = self.request.fingerprints.get(method.place).unwrap_or_default();
                let _ = write!(out, "{}:{}", method.name, String::from_utf8_lossy(value));
            }
            Part::Header(name) => describe_named("header", name, headers.get(name), out),
            Part::Cookie(name) => describe_named("cookie", name, headers.cookie(name).as_deref(), out),
            Part::Path => {
                let path = self.path.unwrap_or_default();
                let shown = path.get(..MAX_SHOWN).unwrap_or(path);
                let _ = write!(out, "path:{}", String::from_utf8_lossy(shown));
            }
        }
    }
}

/// Bytes of a path that are shown of a subject.
const MAX_SHOWN: usize = 200;

/// `64500` or `AS64500`, as look-ups write it. Any other text, such as the `-` of an address that is in no list, is none.
fn number(text: &[u8]) -> Option<u32> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix(b"AS").unwrap_or(text);
    let is_number = (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

fn describe_named(kind: &str, name: &str, value: Option<&[u8]>, out: &mut String) {
    let _ = write!(out, "{kind}:");
    describe_secret(name, value.map(sha256), out);
}

/// The type of an address that is cut to `prefix` bits: networks of different sizes are different subjects.
fn cut(kind: u16, prefix: u8) -> u16 {
    kind | u16::from(prefix) << 8
}

fn describe_secret(name: &str, digest: Option<Digest256>, out: &mut String) {
    let _ = write!(out, "{name}:sha256:");
    for byte in digest.iter().flatten() {
        let _ = write!(out, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::credential::Credential;
    use crate::request::headers::{Headers, Pairs};

    const SEED: Seed = Seed([3; 16]);

    fn settings() -> Settings {
        Settings { consumer: Box::new([Credential::Header("x-api-key".into())]), ..Settings::default() }
    }

    fn with<T>(source: &str, pairs: &[(&str, &str)], check: impl Fn(&mut Caller) -> T) -> T {
        let mut blob = Pairs::default();
        pairs.iter().for_each(|(name, value)| blob.push(name, value.as_bytes()));
        let headers = Headers::parse(blob.encode());
        let request = Request { source: Some(source.as_bytes()), headers, ..Request::default() };
        check(&mut Caller::of(&settings(), &request))
    }

    fn described(spec: &KeySpec, source: &str, pairs: &[(&str, &str)]) -> String {
        with(source, pairs, |caller| {
            let mut out = String::new();
            caller.describe(spec, &mut out);
            out
        })
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
