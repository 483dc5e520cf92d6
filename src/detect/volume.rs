//! Does somebody come too often? Two bands of a count that halves with every tick: above the first a request is held for a
//! while, from the second on refused. One detector twice: *volume* counts a caller on a path, *wallet* a credential, wherever
//! it comes from. How it is counted: [`counts`](crate::exchange::counts).
//!
//! ```text
//! estimate = this event + what came before, halved with each tick that began since
//! ```
//!
//! A caller that sends `n` in every tick comes to less than `2·n`, and to more than `2·n − 1` in time. So half the threshold
//! per tick passes for ever ([`Settings::steady`]), and one less than all of it at once, from rest. What is refused counts
//! too: who goes on as before is refused until it comes less often.

use crate::counters::sketch::Bound;
use crate::identity::subjects::KeyIndex;
use crate::time::Nanos;

/// What can be counted.
const MOST: u32 = 65_535;

/// How a caller is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What is counted.
    pub key: KeyIndex,
    /// The time in which a count halves.
    pub tick: Nanos,
    /// From this estimate on requests are held. The threshold itself: none are.
    pub tarpit_threshold: u32,
    /// From this estimate on they are refused: at least 2.
    pub threshold: u32,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// The request is held.
    Tarpit,
    /// The request is refused.
    Drop,
}

/// Somebody comes too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// What follows.
    pub band: Band,
    /// Time until one request would stay below the band, if none comes before.
    pub wait: Nanos,
}

impl Settings {
    /// Is there a band in which requests are held?
    pub fn holds(&self) -> bool {
        self.tarpit_threshold < self.threshold
    }

    /// What a caller may send in each tick, for ever, and is never refused.
    pub fn steady(&self) -> u32 {
        self.threshold / 2
    }

    /// What a caller's events are counted for.
    pub fn bound(&self) -> Bound {
        Bound { threshold: self.threshold, most: MOST }
    }

    /// The band of an estimate, in which the event that is judged is counted.
    pub fn judge(&self, estimate: u32, now: Nanos) -> Option<Excess> {
        let (band, least) = match estimate {
            _ if estimate >= self.threshold => (Band::Drop, self.threshold),
            _ if estimate >= self.tarpit_threshold => (Band::Tarpit, self.tarpit_threshold),
            _ => return None,
        };
        Some(Excess { band, wait: self.wait(estimate, least, now) })
    }

    /// The ticks that must begin until what is left and one event more are less than `least`.
    fn wait(&self, estimate: u32, least: u32, now: Nanos) -> Nanos {
        let ticks = (1..32).find(|ticks| (estimate >> ticks) + 1 < least).unwrap_or(32);
        until_next(self.tick, now) + self.tick.times(ticks - 1)
    }
}

/// The rest of the tick that `now` is in.
pub(super) fn until_next(tick: Nanos, now: Nanos) -> Nanos {
    let length = tick.0.max(1);
    Nanos(length - now.0 % length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::sketch::Sketch;
    use crate::hash::Key;
    use crate::identity::subjects::Keys;
    use proptest::prelude::*;

    const TICK: Nanos = Nanos::from_secs(1);

    fn settings(tarpit_threshold: u32, threshold: u32) -> Settings {
        Settings { key: Keys::CLIENT, tick: TICK, tarpit_threshold, threshold }
    }

    /// The highest estimate of a caller that sends `per_tick` in every one of `ticks`.
    fn peak(per_tick: u32, ticks: u64) -> u32 {
        let mut sketch = Sketch::new(2, TICK);
        let events = (0..ticks).flat_map(|tick| (0..per_tick).map(move |_| TICK.times(tick)));
        events.map(|now| sketch.observe(Key(7), now).estimate).max().unwrap_or_default()
    }

    #[test]
    fn half_the_threshold_in_every_tick_passes_for_ever_and_one_more_does_not() {
        for threshold in [2, 3, 10, 80, 81, 1_000] {
            let settings = settings(threshold, threshold);
            assert!(peak(settings.steady(), 50) < threshold, "{threshold}");
            assert!(peak(threshold / 2 + 1, 50) >= threshold, "{threshold}");
        }
    }

    #[test]
    fn from_rest_one_less_than_the_threshold_passes_at_once() {
        assert_eq!(settings(40, 80).judge(39, TICK), None);
        assert_eq!(settings(40, 80).judge(40, TICK).unwrap().band, Band::Tarpit);
        assert_eq!(settings(40, 80).judge(79, TICK).unwrap().band, Band::Tarpit);
        assert_eq!(settings(40, 80).judge(80, TICK).unwrap().band, Band::Drop);
        assert_eq!(settings(80, 80).judge(79, TICK), None);
    }

    proptest! {
        #[test]
        fn who_waits_as_long_as_it_is_told_passes(
            events in 2u32..5_000, tarpit in 2u32..100, more in 0u32..100, into in 0u64..1_000_000_000) {
            let settings = settings(tarpit, tarpit + more);
            let now = TICK + Nanos(into);
            let mut sketch = Sketch::new(2, TICK);
            let estimate = (0..events).map(|_| sketch.observe(Key(7), now).estimate).last().unwrap();
            if let Some(excess) = settings.judge(estimate, now) {
                let after = sketch.observe(Key(7), now + excess.wait).estimate;
                let judged = settings.judge(after, now + excess.wait);
                prop_assert!(judged.is_none_or(|then| (then.band, excess.band) == (Band::Tarpit, Band::Drop)));
            }
        }
    }
}
