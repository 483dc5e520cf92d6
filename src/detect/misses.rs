//! Who is challenged again and again and never answers? A program that can't, most likely: that adds to its score.
//!
//! ```text
//! ignored = challenges − answers lately, by client; both halve with each minute
//! ```
//!
//! Each worker counts what it saw, in two [`Sketch`]es of 64 KiB: a client that comes to several has fewer with each.

use super::signal::{Evidence, Kind, Signal};
use crate::counters::sketch::Sketch;
use crate::hash::{Key, SubjectHash};
use crate::time::Nanos;

/// Lines of each sketch: 8,192 clients.
const LINES: u32 = 1_024;

/// A person may close a page, or several, without waiting.
const TOLERATED: u32 = 5;

/// Half a step between the default tiers: by itself it moves nobody from one into the next.
const WEIGHT: u8 = 10;

/// One worker's challenges and answers.
pub struct Misses {
    issued: Sketch,
    answered: Sketch,
}

impl Default for Misses {
    fn default() -> Misses {
        let sketch = || Sketch::new(LINES, Nanos::from_secs(60));
        Misses { issued: sketch(), answered: sketch() }
    }
}

impl Misses {
    /// Bytes that [`Misses::default`] allocates.
    pub fn memory_bytes() -> u64 {
        2 * Sketch::memory_bytes(LINES)
    }

    /// A client was challenged.
    pub fn issue(&mut self, client: SubjectHash, now: Nanos) {
        self.issued.observe(Key(client.0), now);
    }

    /// A client has answered.
    pub fn answer(&mut self, client: SubjectHash, now: Nanos) {
        self.answered.observe(Key(client.0), now);
    }

    /// The signal of a client that ignores challenges.
    pub fn signal(&self, client: SubjectHash, now: Nanos) -> Option<Signal> {
        let key = Key(client.0);
        let ignored = self.issued.estimate(key, now).saturating_sub(self.answered.estimate(key, now));
        let (threshold, factor) = (TOLERATED as f32, ignored as f32 / TOLERATED as f32);
        (ignored > TOLERATED).then_some(Signal {
            kind: Kind::ChallengeIgnored,
            weight: WEIGHT,
            subject: client,
            evidence: Evidence { count: ignored, baseline: 0.0, threshold, factor },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: SubjectHash = SubjectHash(7 << 40);

    #[test]
    fn who_ignores_more_than_a_person_might_has_a_signal_until_it_stops() {
        let mut misses = Misses::default();
        let now = Nanos::from_secs(61);
        for n in 0..8 {
            assert_eq!(misses.signal(CLIENT, now).is_some(), n > TOLERATED, "{n}");
            misses.issue(CLIENT, now);
        }
        assert_eq!(misses.signal(SubjectHash(8 << 40), now), None);
        assert_eq!(misses.signal(CLIENT, Nanos::from_secs(120)), None, "a minute later it is halved");
    }

    #[test]
    fn who_answers_has_none() {
        let mut misses = Misses::default();
        let now = Nanos::from_secs(61);
        for _ in 0..100 {
            misses.issue(CLIENT, now);
            misses.answer(CLIENT, now);
        }
        assert_eq!(misses.signal(CLIENT, now), None);
    }
}
