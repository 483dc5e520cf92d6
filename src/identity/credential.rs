//! Who the consumer is: the SHA-256 of a credential. Applications take many spellings of one credential for the
//! same, so each is brought to one before it is hashed; else a caller had as many limits as its token has spellings.

use crate::request::Request;
use percent_encoding::percent_decode;
use sha2::{Digest, Sha256};

/// A place in a request where a credential may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A header, by its lower-case name.
    Header(Box<str>),
    /// A cookie.
    Cookie(Box<str>),
    /// A parameter of the query.
    Query(Box<str>),
}

/// SHA-256 of a credential.
pub type Digest256 = [u8; 32];

/// The consumer that the first credential found names.
pub fn consumer(places: &[Credential], request: &Request) -> Option<Digest256> {
    places.iter().find_map(|place| at(place, request))
}

/// SHA-256.
pub fn sha256(value: &[u8]) -> Digest256 {
    Sha256::digest(value).into()
}

fn at(place: &Credential, request: &Request) -> Option<Digest256> {
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

    fn consumer(pairs: &[(&str, &str)]) -> Option<Digest256> {
        let places = [
            Credential::Header("authorization".into()),
            Credential::Header("x-api-key".into()),
            Credential::Cookie("session".into()),
            Credential::Query("api_key".into()),
        ];
        let mut blob = Pairs::default();
        pairs.iter().for_each(|(name, value)| blob.push(name, value.as_bytes()));
        let request = Request { headers: Headers::parse(blob.encode()), ..Request::default() };
        super::consumer(&places, &request)
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
}
