//! What a solved puzzle gives: a cookie that satisfies the challenge, and nothing else, for a while.
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 4 | the second since 1970 after which it is over, big-endian |
//! | 5 | 4 | the policy under which it was given |
//! | 9 | 8 | its number, which follows from the puzzle's |
//! | 17 | 8 | [whom it is good for](super::bind) |

use super::Settings;
use super::puzzle::Puzzle;
use super::secret::Secrets;
use super::token;
use crate::request::Request;
use core::net::IpAddr;

const VERSION: u8 = 1;
const KIND: &[u8] = b"clearance";
const BYTES: usize = 25;

/// A clearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clearance {
    /// When it is over, in seconds since 1970.
    pub until: u32,
    /// The same for each answer to one puzzle.
    pub number: u64,
}

/// What a clearance is given to and asked of.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    /// How it is challenged.
    pub settings: &'a Settings,
    /// The keys.
    pub secrets: &'a Secrets,
    /// The request.
    pub request: &'a Request<'a>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
    /// The second since 1970.
    pub now: u32,
}

impl Visit<'_> {
    /// The clearance for a puzzle that was solved, as a cookie's value.
    pub fn clear(&self, puzzle: &Puzzle, out: &mut String) {
        let secret = &self.secrets.current;
        let mut body = [0; BYTES];
        let until = self.now.saturating_add(self.settings.clearance_seconds);
        let fields = [VERSION].into_iter().chain(until.to_be_bytes()).chain(self.settings.version());
        let number = secret.word(&[b"number", &puzzle.number.to_be_bytes()]);
        let bound = self.settings.bind.digest(secret, self.request, self.address);
        let fields = fields.chain(number).chain(bound);
        body.iter_mut().zip(fields).for_each(|(place, byte)| *place = byte);
        token::seal(secret, KIND, &body, out);
    }

    /// The clearance that the request has, if it is good.
    pub fn cleared(&self) -> Option<Clearance> {
        let name = self.settings.bind.cookie(self.address);
        // Of several cookies of the name (other paths, other domains) any may be ours.
        let mut values = self.request.headers.cookies(name);
        values.find_map(|value| self.read(value))
    }

    fn read(&self, value: &[u8]) -> Option<Clearance> {
        let [version, u0, u1, u2, u3, p0, p1, p2, p3, rest @ ..] =
            token::open::<BYTES>(self.secrets, KIND, value)?;
        let (number, bound) = rest.split_first_chunk::<8>()?;
        let until = u32::from_be_bytes([u0, u1, u2, u3]);
        let is_bound = |secret| self.settings.bind.digest(secret, self.request, self.address) == *bound;
        let is_good = version == VERSION
            && self.now < until
            && until <= self.now.saturating_add(self.settings.clearance_seconds).saturating_add(SKEW)
            && [p0, p1, p2, p3] == self.settings.version()
            && self.secrets.iter().any(is_bound);
        is_good.then_some(Clearance { until, number: u64::from_be_bytes(*number) })
    }
}

impl Settings {
    /// What is the same as long as clearances mean the same.
    fn version(&self) -> [u8; 4] {
        let [least, most] = self.difficulty;
        [VERSION, least, most, self.bind as u8]
    }
}

/// Seconds that clocks may differ by.
const SKEW: u32 = 60;
