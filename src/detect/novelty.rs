//! Are many new callers coming? Whoever attacks from addresses that change shows each of them for the first time. Clients
//! that were not seen before are counted; above a rate, over all workers of the process, each of them has the signal
//! `anomaly:first_sighting`, and those who are known have none.
//!
//! A [`Sketch`] knows who was seen. A client that came more than once is known for the greater part of a day; one that came
//! once, until its place is needed: eight in each line. Each worker has its own, so a client is new once to each worker
//! that it comes to; and to a worker that has just begun everybody is new.
//!
//! ```text
//! rate = own (this second so far + what is left of the one before) + what the others last said of theirs
//! ```

use super::signal::{Evidence, Kind, Signal};
use crate::counters::sketch::{self, Sketch};
use crate::hash::{Key, SubjectHash};
use crate::time::Nanos;

/// When newcomers are worth a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// More of them per second than this.
    pub rate_threshold: u32,
    /// What each of them adds to its score.
    pub weight: u8,
}

/// The time after which the sketch takes a client for one that has not come for long. A quarter of a day is 360 of these.
const TICK: Nanos = Nanos::from_secs(60);

/// Newcomers are counted in windows of this.
const WINDOW: Nanos = Nanos::from_secs(1);

/// One worker's knowledge of who was here.
pub struct Novelty {
    seen: Sketch,
    lines: u32,
    /// The second that runs, by its number, and what came in it and in the one before.
    window: u64,
    current: u32,
    previous: u32,
    /// Newcomers per second of the other workers, as they last said.
    others: u32,
    total: u64,
}

impl Novelty {
    /// Bytes that [`Novelty::new`] allocates.
    pub fn memory_bytes(lines: u32) -> u64 {
        Sketch::memory_bytes(lines)
    }

    /// Knows nobody. `lines` of 64 bytes, rounded up to a power of two.
    pub fn new(lines: u32) -> Novelty {
        let seen = Sketch::new(lines, TICK);
        Novelty { seen, lines, window: 0, current: 0, previous: 0, others: 0, total: 0 }
    }

    /// A request of a client: the signal, if it is one newcomer of too many. `key` is the client's here.
    pub fn observe(
        &mut self,
        settings: &Settings,
        key: Key,
        client: SubjectHash,
        now: Nanos,
    ) -> Option<Signal> {
        if !self.seen.observe(key, now).first {
            return None;
        }
        self.roll(now);
        let rate = self.rate(now).saturating_add(self.others);
        self.current = self.current.saturating_add(1);
        self.total += 1;
        let threshold = settings.rate_threshold.max(1) as f32;
        (rate > settings.rate_threshold).then(|| Signal {
            kind: Kind::FirstSighting,
            weight: settings.weight,
            subject: client,
            evidence: Evidence { count: rate, baseline: 0.0, threshold, factor: rate as f32 / threshold },
        })
    }

    /// This worker's newcomers per second, to be told to the others.
    pub fn tell(&mut self, now: Nanos) -> u32 {
        self.seen.keep_time(now);
        self.roll(now);
        self.rate(now)
    }

    /// What the others told.
    pub fn hear(&mut self, others: u32) {
        self.others = others;
    }

    /// Another size knows nobody.
    pub fn resize(&mut self, lines: u32) {
        if lines != self.lines {
            // The old one goes first: the memory of a module never shrinks, so it must not hold both.
            self.seen = Sketch::new(0, TICK);
            *self = Novelty { total: self.total, ..Novelty::new(lines) };
        }
    }

    /// Forgets everybody: another seed or clock has begun.
    pub fn clear(&mut self) {
        self.seen = Sketch::new(0, TICK);
        *self = Novelty { total: self.total, ..Novelty::new(self.lines) };
    }

    /// First sightings so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How full the sketch is.
    pub fn stats(&self) -> sketch::Stats {
        self.seen.stats()
    }

    /// Begins the second of `now`, if it has not begun.
    fn roll(&mut self, now: Nanos) {
        let window = now.0 / WINDOW.0;
        self.previous = match window.saturating_sub(self.window) {
            0 => return,
            1 => self.current,
            _ => 0,
        };
        (self.window, self.current) = (window, 0);
    }

    /// As if those of the second before had come evenly.
    fn rate(&self, now: Nanos) -> u32 {
        let left = WINDOW.0 - now.0 % WINDOW.0;
        let before = u64::from(self.previous) * left / WINDOW.0;
        self.current.saturating_add(before as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    const SETTINGS: Settings = Settings { rate_threshold: 100, weight: 20 };

    /// So many newcomers in each second, evenly: how many of them had the signal.
    fn flood(novelty: &mut Novelty, from: u64, seconds: u64, per_second: u64) -> u64 {
        let mut signals = 0;
        for n in 0..seconds * per_second {
            let now = Nanos::from_secs(from) + Nanos(n * 1_000_000_000 / per_second);
            let key = mix(from << 32 | n);
            signals += u64::from(novelty.observe(&SETTINGS, Key(key), SubjectHash(key), now).is_some());
        }
        signals
    }

    #[test]
    fn newcomers_have_a_signal_above_the_rate_and_none_at_it() {
        let mut novelty = Novelty::new(4_096);
        assert_eq!(flood(&mut novelty, 10, 20, 100), 0);
        let signals = flood(&mut novelty, 60, 10, 200);
        assert!((1_850..=1_900).contains(&signals), "{signals}: all but the first hundred");
        assert_eq!(novelty.total(), 4_000);
    }

    #[test]
    fn who_is_known_has_no_signal_however_many_newcomers_there_are() {
        let mut novelty = Novelty::new(4_096);
        let known = |novelty: &mut Novelty, at| novelty.observe(&SETTINGS, Key(mix(1)), SubjectHash(1), at);
        known(&mut novelty, Nanos::from_secs(5));
        flood(&mut novelty, 10, 2, 1_000);
        assert_eq!(known(&mut novelty, Nanos::from_secs(12)), None);
    }

    #[test]
    fn what_other_workers_told_counts_and_is_gone_when_they_tell_of_nobody() {
        let mut novelty = Novelty::new(4_096);
        novelty.hear(101);
        assert_eq!(flood(&mut novelty, 10, 1, 10), 10);
        novelty.hear(0);
        assert_eq!(flood(&mut novelty, 20, 1, 10), 0);
        assert_eq!(novelty.tell(Nanos::from_secs(21)), 10);
        assert_eq!(novelty.tell(Nanos::from_secs(30)), 0, "a rate is over when nobody comes");
    }

    #[test]
    fn a_signal_has_the_rate_and_what_it_may_be() {
        let mut novelty = Novelty::new(4_096);
        novelty.hear(300);
        let signal = novelty.observe(&SETTINGS, Key(9 << 40), SubjectHash(9), Nanos::from_secs(5)).unwrap();
        assert_eq!((signal.kind, signal.weight, signal.subject), (Kind::FirstSighting, 20, SubjectHash(9)));
        assert_eq!((signal.evidence.count, signal.evidence.factor), (300, 3.0));
    }
}
