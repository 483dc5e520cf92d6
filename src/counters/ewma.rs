//! The mean of a key's recent buckets of time: an exponentially weighted moving average, corrected for its start,
//! and aware of gaps.
//!
//! ```text
//! α     = 2 / (span + 1)
//! sum  := (1 − α) · sum + α · count      for every bucket that teaches
//! mean  = sum / (1 − (1 − α)^n)          n = buckets taught
//! gap of g silent buckets: sum := (1 − α)^g · sum, n := n + g; after `span` silent ones in a row: forgotten
//! ```
//!
//! Without the correction the first buckets would count for almost nothing; with it the mean of `n` equal counts is
//! that count from the first on, and the mean of any is a weighted mean of what was seen, never outside its bounds.
//! A bucket that must not teach (a surge) is [skipped](Ewma::skip): it changes nothing but that the key was not
//! silent.
//!
//! Error: `sum` is an f32, so the mean is off by at most 1e-7 × span of itself: 6e-6 for a span of 60, 1e-3 for the
//! longest of 10,000. 8 bytes. Cost: a few multiplications per bucket of time, and two powers to read the mean or
//! to pass a gap of any length. Counts of 2^24 and more lose their last digits; `n` stops at 65,535, where the correction
//! is over.

/// How many buckets a mean remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    buckets: u16,
    keep: f64,
}

impl Span {
    /// The longest span: beyond it the correction would be cut off before it has reached 1.
    pub const MAX: u16 = 10_000;

    /// A span of so many buckets, between 1 and [`Span::MAX`].
    pub fn new(buckets: u16) -> Span {
        let buckets = buckets.clamp(1, Span::MAX);
        Span { buckets, keep: 1.0 - 2.0 / (f64::from(buckets) + 1.0) }
    }

    /// How many buckets.
    pub fn buckets(&self) -> u16 {
        self.buckets
    }

    /// The weight of the last bucket: α.
    pub fn share(&self) -> f64 {
        1.0 - self.keep
    }

    /// The weight of the last `buckets` together: 1 − (1 − α)^buckets.
    pub fn weight_of(&self, buckets: u32) -> f64 {
        1.0 - self.left_after(buckets)
    }

    /// What is left of a bucket's weight `buckets` later: (1 − α)^buckets.
    pub fn left_after(&self, buckets: u32) -> f64 {
        self.keep.powi(i32::try_from(buckets).unwrap_or(i32::MAX))
    }
}

/// One key's mean. See the [module](self) for how it learns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ewma {
    sum: f32,
    taught: u16,
    silent: u16,
}

impl Ewma {
    /// Learns the count of one bucket. 0 is a bucket of silence.
    pub fn teach(&mut self, span: &Span, count: u32) {
        if count == 0 {
            return self.pass(span, 1);
        }
        let sum = f64::from(self.sum) * span.keep + f64::from(count) * span.share();
        *self = Ewma { sum: sum as f32, taught: self.taught.saturating_add(1), silent: 0 };
    }

    /// A bucket that must not teach, though the key was there.
    pub fn skip(&mut self) {
        self.silent = 0;
    }

    /// Passes a gap of silent buckets: as many times [`Ewma::teach`] with 0, at once.
    pub fn pass(&mut self, span: &Span, buckets: u32) {
        let add = |count: u16| u16::try_from(u32::from(count).saturating_add(buckets)).unwrap_or(u16::MAX);
        let silent = add(self.silent);
        if silent >= span.buckets {
            *self = Ewma::default();
        } else if self.taught > 0 {
            let sum = f64::from(self.sum) * span.left_after(buckets);
            *self = Ewma { sum: sum as f32, taught: add(self.taught), silent };
        }
    }

    /// Buckets that taught, silent ones included, since the key was first seen or forgotten.
    pub fn taught(&self) -> u16 {
        self.taught
    }

    /// The sum as it is, uncorrected: how much was seen lately, which a key that was seen but once has little of.
    pub fn lately(&self) -> f32 {
        self.sum
    }

    /// All of it, to be kept elsewhere.
    pub fn to_bits(self) -> u64 {
        u64::from(self.sum.to_bits()) | u64::from(self.taught) << 32 | u64::from(self.silent) << 48
    }

    /// What [`Ewma::to_bits`] made with this span. Of anything that no history leads to, a key that is unknown: the first
    /// bucket that taught had one event at least, and in each that was taught since it lost 1 − α of its weight at most.
    pub fn from_bits(bits: u64, span: &Span) -> Ewma {
        let sum = f32::from_bits(bits as u32);
        let ewma = Ewma { sum, taught: (bits >> 32) as u16, silent: (bits >> 48) as u16 };
        let least = span.share() * span.left_after(ewma.taught.saturating_sub(1).into()) * 0.99;
        let sums = least.min(f32::MIN_POSITIVE.into())..=u32::MAX.into();
        let possible = ewma.taught > 0 && sums.contains(&sum.into()) && ewma.silent < span.buckets;
        if possible { ewma } else { Ewma::default() }
    }

    /// The mean count per bucket; 0 before anything was learned.
    pub fn mean(&self, span: &Span) -> f64 {
        if self.taught == 0 {
            return 0.0;
        }
        f64::from(self.sum) / span.weight_of(self.taught.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn taught(span: &Span, counts: &[u32]) -> Ewma {
        let mut ewma = Ewma::default();
        counts.iter().for_each(|&count| ewma.teach(span, count));
        ewma
    }

    /// Anything that may happen to a mean.
    fn act_on(ewma: &mut Ewma, span: &Span, (number, act): (u32, u8)) {
        match act {
            0 => ewma.teach(span, number),
            1 => ewma.pass(span, number % 100),
            _ => ewma.skip(),
        }
    }

    fn close(a: f64, b: f64, span: u16) -> bool {
        (a - b).abs() <= 1e-7 * f64::from(span.max(10)) * a.abs().max(b.abs())
    }

    #[test]
    fn a_cell_fits_its_share_of_memory() {
        assert_eq!(size_of::<Ewma>(), 8);
    }

    #[test]
    fn a_steady_key_has_its_count_for_a_mean_from_the_first_bucket_on() {
        for span in [1, 2, 60, 1000, Span::MAX] {
            let rule = Span::new(span);
            let mut ewma = Ewma::default();
            for n in 1..100_000 {
                ewma.teach(&rule, 80);
                assert!(close(ewma.mean(&rule), 80.0, span), "{span}, {n}: {}", ewma.mean(&rule));
            }
        }
    }

    #[test]
    fn a_skipped_bucket_teaches_nothing_and_is_no_silence() {
        let span = Span::new(4);
        let mut ewma = taught(&span, &[10, 10]);
        ewma.pass(&span, 3);
        let before = ewma;
        ewma.skip();
        assert_eq!((ewma.mean(&span), ewma.taught()), (before.mean(&span), before.taught()));
        ewma.pass(&span, 3);
        assert_eq!(ewma.taught(), 8, "two runs of three are not one of six");
    }

    #[test]
    fn after_a_span_of_silence_the_key_starts_anew() {
        let span = Span::new(60);
        let mut ewma = taught(&span, &[100; 200]);
        ewma.pass(&span, 59);
        assert!(ewma.mean(&span) > 0.0 && ewma.mean(&span) < 20.0);
        ewma.pass(&span, 1);
        assert_eq!(ewma, Ewma::default());
        assert_eq!(taught(&span, &[7]).mean(&span).round(), 7.0);
    }

    #[test]
    fn silence_before_the_first_event_is_not_learned() {
        let span = Span::new(60);
        assert_eq!(taught(&span, &[0, 0, 0, 9]), taught(&span, &[9]));
    }

    proptest! {
        #[test]
        fn the_mean_is_that_of_the_weights(span in 1u16..200, counts in vec(1u32..1_000_000, 1..300)) {
            let rule = Span::new(span);
            let weight = |age: usize| rule.left_after(age as u32);
            let ages = || (0..counts.len()).rev();
            let total: f64 = ages().map(weight).sum();
            let exact = counts.iter().zip(ages()).map(|(&c, age)| f64::from(c) * weight(age)).sum::<f64>() / total;
            let mean = taught(&rule, &counts).mean(&rule);
            prop_assert!(close(mean, exact, span), "{mean} {exact}");
        }

        #[test]
        fn the_mean_lies_between_the_least_and_the_most(span in any::<u16>(), counts in vec(1u32.., 1..100)) {
            let rule = Span::new(span);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            let mean = taught(&rule, &counts).mean(&rule);
            prop_assert!(mean >= f64::from(*least) * 0.998 && mean <= f64::from(*most) * 1.002, "{mean}");
        }

        #[test]
        fn a_gap_at_once_is_the_same_gap_bucket_by_bucket(span in 2u16..300, counts in vec(1u32..10_000, 1..50), gap in 0u32..400) {
            let rule = Span::new(span);
            let (mut at_once, mut by_bucket) = (taught(&rule, &counts), taught(&rule, &counts));
            at_once.pass(&rule, gap);
            (0..gap).for_each(|_| by_bucket.teach(&rule, 0));
            prop_assert_eq!(at_once.taught(), by_bucket.taught());
            prop_assert!(close(at_once.mean(&rule), by_bucket.mean(&rule), span));
        }

        #[test]
        fn a_mean_is_kept_in_bits_and_no_bits_are_anything_but_a_mean(span in any::<u16>(), acts in vec((any::<u32>(), 0u8..3), 0..60), bits in any::<u64>()) {
            let rule = Span::new(span);
            let mut ewma = Ewma::default();
            acts.iter().for_each(|act| act_on(&mut ewma, &rule, *act));
            prop_assert_eq!(Ewma::from_bits(ewma.to_bits(), &rule), ewma);
            let foreign = Ewma::from_bits(bits, &rule);
            prop_assert!(foreign.mean(&rule).is_finite() && foreign.mean(&rule) >= 0.0);
            prop_assert!(foreign == Ewma::default() || foreign.to_bits() == bits);
        }

        #[test]
        fn no_history_makes_the_mean_anything_but_a_number(span in any::<u16>(), acts in vec((any::<u32>(), 0u8..3), 0..60)) {
            let rule = Span::new(span);
            let mut ewma = Ewma::default();
            for (number, act) in acts {
                act_on(&mut ewma, &rule, (number, act));
                prop_assert!(ewma.mean(&rule).is_finite() && ewma.mean(&rule) >= 0.0);
            }
        }
    }
}
