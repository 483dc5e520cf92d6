//! What is to be solved: a number that nobody has seen, and how hard it is. Bound to nobody.
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 1 | leading zero bits |
//! | 2 | 1 | 1: may be answered without a script, by waiting |
//! | 3 | 4 | seconds since 1970 when it was made, big-endian |
//! | 7 | 8 | its number |

use super::secret::Secrets;
use super::token;
use super::work;
use crate::hash::mix;

const VERSION: u8 = 1;
const KIND: &[u8] = b"puzzle";
const BYTES: usize = 15;

/// A puzzle that is older starts anew.
pub const LASTS: u32 = 600;

/// Who has no script waits so long, in seconds.
pub const WAIT: u32 = 5;

/// A puzzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Puzzle {
    /// Leading zero bits of an answer.
    pub difficulty: u8,
    /// May it be answered by waiting?
    pub by_waiting: bool,
    /// When it was made, in seconds since 1970.
    pub made: u32,
    /// What no other puzzle has.
    pub number: u64,
}

/// Why an answer is none. All of them start a new challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not signed by us, or changed.
    Forged,
    /// Made too long ago, or in the future.
    Expired,
    /// Answered by waiting, and not for long enough, or where that is not allowed.
    Early,
    /// The work is not done.
    Unsolved,
}

impl Fault {
    /// All of them, in the order of the metrics.
    pub const ALL: [Fault; 4] = [Fault::Forged, Fault::Expired, Fault::Early, Fault::Unsolved];

    /// The word of the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Forged => "forged",
            Fault::Expired => "expired",
            Fault::Early => "early",
            Fault::Unsolved => "unsolved",
        }
    }
}

impl Puzzle {
    /// The puzzle as the page has it.
    pub fn seal(&self, secrets: &Secrets, out: &mut String) {
        let mut body = [0; BYTES];
        let fields = [VERSION, self.difficulty, u8::from(self.by_waiting)].into_iter();
        let fields = fields.chain(self.made.to_be_bytes()).chain(self.number.to_be_bytes());
        body.iter_mut().zip(fields).for_each(|(place, byte)| *place = byte);
        token::seal(&secrets.current, KIND, &body, out);
    }

    /// Reads a token back.
    pub fn open(secrets: &Secrets, text: &[u8]) -> Option<Puzzle> {
        let [version, difficulty, by_waiting, m0, m1, m2, m3, number @ ..] =
            token::open::<BYTES>(secrets, KIND, text)?;
        (version == VERSION).then_some(Puzzle {
            difficulty,
            by_waiting: by_waiting == 1,
            made: u32::from_be_bytes([m0, m1, m2, m3]),
            number: u64::from_be_bytes(number),
        })
    }

    /// Checks an answer, at this second: a counter, or none from who has waited.
    ///
    /// # Errors
    /// It is no answer.
    pub fn check(secrets: &Secrets, text: &[u8], counter: Option<&[u8]>, now: u32) -> Result<Puzzle, Fault> {
        let puzzle = Puzzle::open(secrets, text).ok_or(Fault::Forged)?;
        let age = now.saturating_sub(puzzle.made); // another Envoy's clock may be a little ahead
        if age > LASTS || puzzle.made > now.saturating_add(SKEW) {
            return Err(Fault::Expired);
        }
        match counter {
            Some(counter) if work::is_done(text, counter, puzzle.difficulty) => Ok(puzzle),
            Some(_) => Err(Fault::Unsolved),
            None if puzzle.by_waiting && age >= WAIT => Ok(puzzle),
            None => Err(Fault::Early),
        }
    }
}

/// What a page shows, and the event of it: `7f3a-90c2`. The same for a client each time, so that every page has its event.
pub fn reason(client: u64) -> String {
    let [.., a, b, c, d] = mix(client).to_be_bytes();
    format!("{a:02x}{b:02x}-{c:02x}{d:02x}")
}

/// Seconds that clocks may differ by.
const SKEW: u32 = 60;
