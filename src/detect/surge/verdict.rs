//! Whether a key is surging now, in the middle of a bucket of time, and how badly.
//!
//! ```text
//! after a quiet bucket   ratio = count / threshold
//! after a surge          ratio = (count + w · p) / (threshold · (e + w))      p = min(the surge's count, 4 · threshold)
//! surging: ratio > 1                                                          e = share of the bucket that has passed
//! ```
//!
//! So a surge is answered from the request on that crosses the threshold, and in the buckets after it from their start,
//! at the rate that it goes on with: `w` (0.05) of a bucket is remembered, so that the first requests of a bucket are
//! neither let through nor judged on next to nothing.
//!
//! A worker knows what the others counted only as of the last time it heard, and its own since. So after a surge the
//! higher of two ratios holds: that of what it knows now, and that of what it knew then (or `w` ago, if that was later).
//! When the flood ends, what is remembered is outweighed after at most 4 · w of a bucket: 20 %.

/// Share of a bucket for which a surge is remembered in the next one.
const CARRY: f32 = 0.05;

/// A surge is remembered as no more than so many times the threshold.
const MOST: f32 = 4.0;

/// What is known of a key in the middle of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Events of this bucket so far.
    pub count: u32,
    /// Those of them of which all workers had told when one last heard …
    pub heard: u32,
    /// … and the share of the bucket that had passed then.
    pub heard_at: f32,
    /// Events of the bucket before, if that was a surge; else 0.
    pub surge: u32,
    /// Events that a whole bucket may have.
    pub threshold: f32,
}

impl View {
    /// How many times what is allowed by now there is, after `elapsed` (0 to 1) of the bucket: above 1 the key is
    /// surging.
    pub fn ratio(&self, elapsed: f32) -> f32 {
        if self.surge == 0 {
            return self.count as f32 / self.threshold;
        }
        let carried = CARRY * (self.surge as f32).min(MOST * self.threshold);
        let pace = |count: u32, elapsed: f32| (count as f32 + carried) / (self.threshold * (elapsed + CARRY));
        let then = self.heard_at.max(elapsed - CARRY).min(elapsed);
        pace(self.count, elapsed).max(pace(self.heard, then))
    }
}

/// What a signal weighs: the more the further a caller is beyond its threshold, for those that may grow.
pub fn weight(usual: u8, ratio: f32, grows: bool) -> u8 {
    let more = match ratio {
        _ if !grows => 0,
        ratio if ratio >= 4.0 => 40,
        ratio if ratio >= 2.0 => 20,
        _ => 0,
    };
    usual.saturating_add(more).clamp(1, 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CALM: View = View { count: 0, heard: 0, heard_at: 0.0, surge: 0, threshold: 100.0 };

    #[test]
    fn a_first_surge_begins_with_the_event_that_crosses_the_threshold() {
        let ratio = |count| View { count, ..CALM }.ratio(0.1);
        assert!(ratio(100) <= 1.0 && ratio(101) > 1.0);
        assert_eq!(ratio(400), 4.0);
    }

    #[test]
    fn a_surge_that_goes_on_is_as_bad_at_every_moment_of_the_next_bucket() {
        for elapsed in [0.0, 0.01, 0.1, 0.5, 1.0] {
            let count = (250.0 * elapsed) as u32;
            let view = View { count, heard: count, heard_at: elapsed, surge: 250, ..CALM };
            assert!((view.ratio(elapsed) - 2.5).abs() < 0.1, "{elapsed}: {}", view.ratio(elapsed));
        }
    }

    #[test]
    fn a_surge_that_has_ended_is_over_after_a_fifth_of_a_bucket_however_bad_it_was() {
        let ended = View { surge: u32::MAX, ..CALM };
        assert!(ended.ratio(0.1) > 1.0);
        assert!(ended.ratio(0.201) <= 1.0);
        let heard = View { heard_at: 0.151, ..ended };
        assert!(heard.ratio(0.152) <= 1.0, "sooner where it was heard of");
    }

    #[test]
    fn what_was_heard_counts_as_of_then_and_no_longer_than_it_is_remembered() {
        let view = View { count: 30, heard: 25, heard_at: 0.1, surge: 250, ..CALM };
        assert!((view.ratio(0.12) - 2.5).abs() < 0.01, "a flood of 250 per bucket");
        assert!(view.ratio(0.3) < 1.5, "that has not gone on");
    }

    #[test]
    fn a_key_that_is_not_known_never_surges() {
        let unknown = View { count: u32::MAX, heard: u32::MAX, threshold: f32::INFINITY, ..CALM };
        for surge in [0, 1, u32::MAX] {
            let ratio = View { surge, ..unknown }.ratio(0.5);
            assert!(ratio.partial_cmp(&1.0) != Some(core::cmp::Ordering::Greater), "{ratio}");
        }
    }

    #[test]
    fn only_callers_weigh_more_the_more_they_send() {
        let weights = |grows| [1.1, 1.99, 2.0, 3.9, 4.0, f32::MAX].map(|ratio| weight(40, ratio, grows));
        assert_eq!(weights(true), [40, 40, 60, 60, 80, 80]);
        assert_eq!(weights(false), [40; 6]);
        assert_eq!((weight(90, 5.0, true), weight(0, 1.5, true), weight(255, 1.5, false)), (100, 1, 100));
    }

    proptest! {
        #[test]
        fn more_events_are_never_less_of_a_surge(count in any::<u32>(), more in any::<u32>(), surge in any::<u32>(), threshold in 1.0f32..1e9, elapsed in 0.0f32..1.0) {
            let view = View { count, heard: count / 2, heard_at: elapsed / 2.0, surge, threshold };
            let later = View { count: count.saturating_add(more), ..view };
            prop_assert!(later.ratio(elapsed) >= view.ratio(elapsed));
        }
    }
}
