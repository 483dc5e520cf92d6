//! Does a caller repeat what fails? An agent or a script that tries again at once, and again, keeps a failing service from
//! getting up. Per caller and path the upstream's failures are counted; from a threshold on the breaker is *open*: the
//! caller is told in words to wait, and the upstream sees none of it.
//!
//! Failures count up to the threshold and not further, and halve with every tick that begins, so that a breaker closes with
//! the next tick after the last failure. While the service still fails, half a threshold of attempts reaches it per tick.
//! Only what the upstream answered is a failure: a refusal of our own keeps nothing open.

use super::volume::until_next;
use crate::counters::sketch::Bound;
use crate::hash::{SubjectHash, mix};
use crate::identity::subjects::KeyIndex;
use crate::time::Nanos;

/// When a breaker opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// By what a caller and path are shown.
    pub key: KeyIndex,
    /// The time in which failures halve.
    pub tick: Nanos,
    /// So many failures open it.
    pub threshold: u32,
}

impl Settings {
    /// What failures are counted for: what is above the threshold would outlast them.
    pub fn bound(&self) -> Bound {
        Bound { threshold: self.threshold, most: self.threshold }
    }

    /// Whose failures: those of filters with other thresholds are counted apart, as they stop elsewhere.
    pub fn whose(&self, attempt: SubjectHash) -> SubjectHash {
        SubjectHash(mix(attempt.0 ^ u64::from(self.threshold)))
    }

    /// The time after which to try again, if the breaker is open with so many failures: when it has closed, and up to half
    /// a tick later, so that callers who began together don't come back together.
    pub fn open(&self, failures: u32, subject: SubjectHash, now: Nanos) -> Option<Nanos> {
        let jitter = mix(subject.0 ^ now.0) % (self.tick.0 / 2).max(1);
        (failures >= self.threshold).then(|| until_next(self.tick, now) + Nanos(jitter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::subjects::Keys;

    const SETTINGS: Settings = Settings { key: Keys::CLIENT, tick: Nanos::from_secs(10), threshold: 20 };

    #[test]
    fn it_opens_at_the_threshold_and_not_before() {
        let now = Nanos::from_secs(103);
        assert_eq!(SETTINGS.open(19, SubjectHash(1), now), None);
        assert!(SETTINGS.open(20, SubjectHash(1), now).is_some());
    }

    #[test]
    fn callers_are_sent_to_different_times_after_it_has_closed_and_none_further_than_half_a_tick() {
        let now = Nanos::from_secs(103);
        let mut waits: Vec<u64> = (0..100)
            .filter_map(|n| SETTINGS.open(20, SubjectHash(n), now))
            .map(|wait| wait.as_secs_ceil())
            .collect();
        assert!(waits.iter().all(|seconds| (7..=12).contains(seconds)), "{waits:?}");
        waits.sort_unstable();
        waits.dedup();
        assert!(waits.len() >= 5, "{waits:?}");
    }
}
