//! What is wrong with a configuration: every cause with its data, and in words that say what to do about it.

use super::place::Place;
use super::schema::TABLES_BYTES;
use super::sizes::Share;
use core::cell::Cell;
use core::fmt::{self, Display};
use ipnet::IpNet;

/// One error: where, and what.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    place: Box<str>,
    cause: Cause,
}

impl Error {
    /// The way to the value: `rules[3].filter.max_req_rate`; `configuration` for the whole.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What is wrong there.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.cause)
    }
}

/// All errors of one configuration, in the order in which they were found. Displayed one per line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    listed: Vec<Error>,
    unlisted: usize,
}

impl Errors {
    /// How many there are, those included that are not listed.
    pub fn len(&self) -> usize {
        self.listed.len() + self.unlisted
    }

    /// None: never so in an `Err`.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The listed ones.
    pub fn iter(&self) -> core::slice::Iter<'_, Error> {
        self.listed.iter()
    }
}

impl Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, error) in self.listed.iter().enumerate() {
            write!(f, "{}{error}", if i > 0 { "\n" } else { "" })?;
        }
        match self.unlisted {
            0 => Ok(()),
            n => write!(f, "\nand {n} more"),
        }
    }
}

impl std::error::Error for Errors {}

/// Where errors are collected while a configuration is read.
#[derive(Default)]
pub struct Report(Cell<Errors>);

impl Report {
    /// A page or two for a person, and a bound on what one configuration can write into a log.
    const LISTED: usize = 100;

    /// Adds one.
    pub fn add(&self, place: &Place, cause: Cause) {
        self.add_with(place, || cause);
    }

    /// Adds one whose cause takes work: a hostile text may have a hundred thousand unknown keys.
    pub fn add_with(&self, place: &Place, cause: impl FnOnce() -> Cause) {
        let mut errors = self.0.take();
        if errors.listed.len() < Self::LISTED {
            errors.listed.push(Error { place: place.to_string().into(), cause: cause() });
        } else {
            errors.unlisted += 1;
        }
        self.0.set(errors);
    }

    /// All of them; `None` for none.
    pub fn finish(self) -> Option<Errors> {
        Some(self.0.into_inner()).filter(|errors| !errors.is_empty())
    }
}

/// A piece of the operator's text as a message quotes it: escaped, and cut where it is long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(Box<str>);

impl Shown {
    const CHARS: usize = 60;

    /// Keeps the beginning of `text`.
    pub fn new(text: &str) -> Shown {
        match text.chars().nth(Self::CHARS) {
            Some(_) => Shown(text.chars().take(Self::CHARS).chain(['…']).collect()),
            None => Shown(text.into()),
        }
    }
}

impl Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A number as a person writes it, where 1e300 would have three hundred zeros.
struct Plain(f64);

impl Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            0.0 => f.write_str("0"),
            number if (1e-6..1e15).contains(&number.abs()) => write!(f, "{number}"),
            number => write!(f, "{number:e}"),
        }
    }
}

/// What can be wrong. Each is something that the operator can mend.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // a variant is documented by its sentence in `Display`, its fields are the sentence's data
pub enum Cause {
    // the text
    TooLong,
    NotUtf8 { line: usize },
    Syntax { line: usize, column: usize, reason: Box<str> },
    // the shape
    WrongKind { found: &'static str, expected: &'static str },
    Twice,
    Unknown { nearest: Option<&'static str>, known: Box<[&'static str]> },
    NotBuilt { what: &'static str, section: bool },
    Missing { write: &'static str },
    Empty { write: &'static str },
    TooMany { found: usize, most: usize },
    OneOf { names: &'static [&'static str], found: usize },
    Both { names: [&'static str; 2] },
    TooLarge { shares: Box<[Share]>, bytes: u64 },
    Repeated { found: Shown },
    // numbers
    OutOfRange { found: f64, min: f64, max: f64, unit: &'static str },
    NotWhole { found: f64 },
    RateSyntax { found: Shown },
    RateNotPositive,
    RateOutOfRange,
    BurstTooLarge { found: f64, most: u32 },
    AboveField { found: u32, most: u32, field: &'static str },
    Falling { least: u32, most: u32 },
    NoRate,
    // words
    UnknownWord { found: Shown, nearest: Option<&'static str>, known: &'static [&'static str] },
    WordNotBuilt { found: Shown, known: &'static [&'static str] },
    NoConsumer,
    PathOfRule,
    NoNetwork,
    NoFingerprint { method: Shown },
    NotOfConnections { what: &'static str },
    FieldOfHeader,
    Fingerprint { found: Shown, expected: &'static str },
    Subject { found: Shown },
    // names and patterns
    Name { found: Shown, allowed: &'static str },
    NameTaken { rule: usize },
    ScoreTaken { tier: usize },
    HeaderTaken { found: Shown, why: &'static str },
    MethodCase { upper: Shown },
    PathRelative { found: Shown },
    PathWithQuery { found: Shown },
    PathReadAs { found: Shown, normal: Shown },
    Host { found: Shown, fault: HostFault },
    // addresses
    Address { found: Shown },
    HostBits { found: Shown, network: IpNet },
    BothFamilies { found: Shown },
}

/// What is wrong with a host pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum HostFault {
    Url,
    Port,
    Wildcard,
    NotAscii,
    NotAName,
}

impl Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Cause::TooLong => {
                write!(f, "has more than {} bytes; merge the networks of its lists", super::MAX_BYTES)
            }
            Cause::NotUtf8 { line } => write!(f, "line {line} is not UTF-8; save the text as UTF-8"),
            Cause::Syntax { line, column, reason } => {
                write!(f, "line {line}, column {column}: {reason}; this is not JSON yet")
            }
            Cause::WrongKind { found, expected } => write!(f, "is {found}; write {expected}"),
            Cause::Twice => f.write_str("stands here twice; keep one"),
            Cause::Unknown { nearest: Some(name), .. } => write!(f, "is unknown; did you mean {name}?"),
            Cause::Unknown { nearest: None, known } if known.is_empty() => f.write_str("is unknown; remove it"),
            Cause::Unknown { nearest: None, known } => {
                write!(f, "is unknown; remove it, or use one of {}", known.join(", "))
            }
            Cause::NotBuilt { what, section } => {
                let it = if *section { "the section" } else { "it" };
                write!(f, "this version of Weir has no {what}; remove {it}")
            }
            Cause::Missing { write } => write!(f, "is missing; {write}"),
            Cause::Empty { write } => write!(f, "is empty; {write}"),
            Cause::TooMany { found, most } => write!(f, "has {found} entries; at most {most} are possible"),
            Cause::Both { names: [a, b] } => write!(f, "has both {a} and {b}, which say the same thing; keep one"),
            Cause::TooLarge { shares, bytes } => {
                for (i, share) in shares.iter().enumerate() {
                    write!(f, "{}{share}", if i > 0 { ", " } else { "" })?;
                }
                let (bytes, most) = (bytes.div_ceil(1 << 20), TABLES_BYTES >> 20);
                write!(f, ", rounded up, take {bytes} MiB of each worker; at most {most} MiB are possible, so lower one")
            }
            Cause::OneOf { names, found: 0 } => write!(f, "needs one of {}", names.join(", ")),
            Cause::OneOf { names, found } => {
                write!(f, "has {found} of {}; keep one, and make an entry of each other", names.join(", "))
            }
            Cause::Repeated { found } => write!(f, "{found} is in the list already; remove one"),
            Cause::OutOfRange { found, min, max, unit } => {
                let space = if unit.is_empty() { "" } else { " " };
                write!(f, "is {}; write a number from {min} to {max}{space}{unit}", Plain(*found))
            }
            Cause::NotWhole { found } => write!(f, "is {}; write a whole number", Plain(*found)),
            Cause::RateSyntax { found } => {
                write!(f, "{found} is no rate; write a number per second, or a string like \"6/m\" with s, m, h or d")
            }
            Cause::RateNotPositive => f.write_str(
                "would refuse everything; write a rate above 0, or \"enabled\": false to switch the rule off",
            ),
            Cause::RateOutOfRange => f.write_str("is out of range; write a rate from \"1/d\" to \"1000000/s\""),
            Cause::BurstTooLarge { found, most } => {
                write!(f, "makes a burst of {}; lower it so that rate × multiplier is at most {most}", Plain(*found))
            }
            Cause::AboveField { found, most, field } => {
                write!(f, "is {found}, which is above {field}; write at most {most}, or raise {field}")
            }
            Cause::Falling { least, most } => {
                write!(f, "falls from {least} to {most}; write the lesser number first")
            }
            Cause::NoRate => f.write_str("counts nothing; set max_req_rate, max_conn_rate or max_h2_error_rate, or list fingerprints"),
            Cause::UnknownWord { found, nearest: Some(word), .. } => {
                write!(f, "{found} is unknown; did you mean \"{word}\"?")
            }
            Cause::UnknownWord { found, nearest: None, known } => {
                write!(f, "{found} is unknown; use one of {}", known.join(", "))
            }
            Cause::WordNotBuilt { found, known } => {
                write!(f, "this version of Weir has no {found}; use one of {}", known.join(", "))
            }
            Cause::NoConsumer => f.write_str(
                "needs consumers, but nothing says where credentials are; add \"consumer\": {\"from\": [{\"header\": \"authorization\"}]}",
            ),
            Cause::PathOfRule => f.write_str(
                "\"path\" is no key of a rule; count by path in the section volume, or let the rule match a path_prefix",
            ),
            Cause::NoNetwork => f.write_str(
                "needs networks, but nothing says where their numbers come from; add \"network\": {\"asn\": {\"filter_state\": \"weir.asn\"}}",
            ),
            Cause::NoFingerprint { method } => write!(
                f,
                "needs fingerprints by {method}, but nothing says where they come from; add \"fingerprints\": {{{method}: {{\"filter_state\": \"…\"}}}} with the filter state in which Envoy has them",
            ),
            Cause::NotOfConnections { what } => write!(
                f,
                "{what} is known of requests, and max_conn_rate counts connections before their first; count requests in a rule of their own",
            ),
            Cause::FieldOfHeader => f.write_str("belongs to a filter state, and a header has no fields; remove it"),
            Cause::Fingerprint { found, expected } => write!(f, "{found} is no such fingerprint; write {expected}"),
            Cause::Subject { found } => write!(
                f,
                "{found} is nobody; write client:203.0.113.7, client:10.0.0.0/8, network:64500, JA4: and a fingerprint, or consumer:sha256: and 64 hex digits",
            ),
            Cause::Name { found, allowed } => write!(f, "{found} can't be used; write {allowed}"),
            Cause::NameTaken { rule } => {
                write!(f, "is the name of rules[{rule}] too; names tell rules apart, so change one")
            }
            Cause::ScoreTaken { tier } => {
                write!(f, "is the score of tiers[{tier}] too; one score has one action, so change one")
            }
            Cause::HeaderTaken { found, why } => {
                write!(f, "{found} can't be used: {why}; write a name of its own like x-weir-why")
            }
            Cause::MethodCase { upper } => write!(f, "methods are case-sensitive; write {upper}"),
            Cause::PathRelative { found } => write!(f, "{found} is no path; begin it with /"),
            Cause::PathWithQuery { found } => {
                write!(f, "{found} has a query or fragment, and paths are compared without; remove it")
            }
            Cause::PathReadAs { found, normal } => {
                write!(f, "{found} is the same as {normal} to a server; write {normal} if that is meant")
            }
            Cause::Host { found, fault } => write!(f, "{found} is no host; {}", fault.mending()),
            Cause::Address { found } => {
                write!(f, "{found} is no address or network; write one like 192.0.2.10, 10.0.0.0/8 or 2001:db8::/32")
            }
            Cause::HostBits { found, network } => write!(
                f,
                "{found} is one address with a network's length; did you mean {network}? For the address alone drop the length",
            ),
            Cause::BothFamilies { found } => {
                write!(f, "{found} spans IPv4 and IPv6 addresses; list the networks of each apart")
            }
        }
    }
}

impl HostFault {
    fn mending(self) -> &'static str {
        match self {
            HostFault::Url => "drop the scheme and the path",
            HostFault::Port => "drop the port: hosts are compared without",
            HostFault::Wildcard => {
                "* stands only at the beginning, as in *.example.com; for every host leave host out"
            }
            HostFault::NotAscii => "write an international name in its xn-- form",
            HostFault::NotAName => "write a name like www.example.com or *.example.com",
        }
    }
}
