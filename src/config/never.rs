//! Who is never banned: subjects as events and the README write them, `client:203.0.113.7`.

use super::addresses;
use super::error::{Cause, Shown};
use super::fingerprints;
use super::json::Value;
use super::known::Known;
use super::read::Section;
use super::units::text;
use crate::detect::rules::Listed;
use crate::identity::Method;
use crate::identity::credential::Digest256;
use crate::identity::prefixes::Prefixes;
use crate::policy::ban::Never;
use ipnet::IpNet;

/// Looked through at every ban.
const MOST: usize = 4_096;

/// One subject.
#[derive(Debug, PartialEq)]
enum Subject {
    Client(IpNet),
    Consumer(Digest256),
    Network(u32),
    /// By the method at this place.
    Print(usize, Box<[u8]>),
}

/// Reads `never`.
pub fn read(ban: &Section, known: Known) -> Never {
    let subject = |value: &Value| match subject(text(value)?, known)? {
        Subject::Consumer(_) if !known.consumers => Err(Cause::NoConsumer),
        Subject::Network(_) if !known.networks => Err(Cause::NoNetwork),
        subject => Ok(subject),
    };
    let (mut clients, mut consumers, mut networks) = (Vec::new(), Vec::new(), Vec::new());
    let mut prints = Vec::new();
    for subject in ban.list("never", MOST, subject) {
        match subject {
            Subject::Client(addresses) => clients.push(addresses),
            Subject::Consumer(digest) => consumers.push(digest),
            Subject::Network(number) => networks.push(number),
            Subject::Print(place, value) => prints.push(Listed { place, values: Box::new([value]) }),
        }
    }
    Never {
        clients: Prefixes::new(clients),
        consumers: consumers.into(),
        networks: networks.into(),
        prints: prints.into(),
    }
}

fn subject(text: &str, known: Known) -> Result<Subject, Cause> {
    let subject = match text.split_once(':') {
        Some(("client", addresses)) => return addresses::read(addresses).map(Subject::Client),
        Some(("network", number)) => self::number(number).map(Subject::Network),
        Some(("consumer", digest)) => self::digest(digest).map(Subject::Consumer),
        Some((name, value)) if let Some(method) = known.supplied(name) => {
            let Method { place, layout, .. } = method?;
            return fingerprints::value(*layout, value).map(|value| Subject::Print(*place, value));
        }
        _ => None,
    };
    subject.ok_or_else(|| Cause::Subject { found: Shown::new(text) })
}

/// `64500`, or `AS64500`.
fn number(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("AS").unwrap_or(text);
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// `sha256:` and 64 hex digits in any case.
fn digest(text: &str) -> Option<Digest256> {
    let hex = text.strip_prefix("sha256:")?.as_bytes();
    let mut digest = Digest256::default();
    let (pairs, rest) = hex.as_chunks::<2>();
    for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    (pairs.len() == digest.len() && rest.is_empty()).then_some(digest)
}

fn nibble(hex: u8) -> Option<u8> {
    char::from(hex).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fingerprint_is_a_subject_where_its_method_is_known() {
        let ja4 = "t13d1516h2_8daaf6152771_e5627efa2ab1";
        let read = subject(&format!("ja4:{}", ja4.to_uppercase()), Known::all());
        assert_eq!(read, Ok(Subject::Print(1, ja4.as_bytes().into())));
        assert!(matches!(subject("JA4:a", Known::all()), Err(Cause::Fingerprint { .. })));
        assert!(matches!(
            subject("JA3:a", Known { fingerprints: &[], ..Known::all() }),
            Err(Cause::NoFingerprint { .. })
        ));
    }

    #[test]
    fn each_kind_of_subject_is_read() {
        assert_eq!(
            subject("client:203.0.113.7", Known::all()),
            Ok(Subject::Client("203.0.113.7/32".parse().unwrap()))
        );
        assert_eq!(
            subject("client:2001:db8::/64", Known::all()),
            Ok(Subject::Client("2001:db8::/64".parse().unwrap()))
        );
        assert_eq!(subject("network:64500", Known::all()), Ok(Subject::Network(64_500)));
        assert_eq!(subject("network:AS64500", Known::all()), Ok(Subject::Network(64_500)));
        let digest = format!("consumer:sha256:{}{}", "00".repeat(31), "aF");
        let mut expected = [0; 32];
        expected[31] = 0xaf;
        assert_eq!(subject(&digest, Known::all()), Ok(Subject::Consumer(expected)));
    }

    #[test]
    fn what_is_nobody_is_refused() {
        let long = format!("consumer:sha256:{}", "0".repeat(66));
        let odd = format!("consumer:sha256:{}", "0".repeat(65));
        let short = format!("consumer:sha256:{}", "0".repeat(62));
        let no_hex = format!("consumer:sha256:{}", "g".repeat(64));
        for text in [
            "",
            "203.0.113.7",
            "network:",
            "network:AS",
            "network:+1",
            "network:4294967296",
            "network:-",
            "route:a",
            "consumer:a",
            &long,
            &odd,
            &short,
            &no_hex,
        ] {
            assert!(matches!(subject(text, Known::all()), Err(Cause::Subject { .. })), "{text}");
        }
        assert!(matches!(subject("client:a", Known::all()), Err(Cause::Address { .. })));
        assert!(matches!(subject("client:10.0.0.1/8", Known::all()), Err(Cause::HostBits { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_somebody_or_is_refused(
            kind in "client:|network:|consumer:sha256:|",
            text in "[0-9a-fAS:./]{0,70}|.{0,70}",
        ) {
            let _ = subject(&format!("{kind}{text}"), Known::all());
        }
    }
}
