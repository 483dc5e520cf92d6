use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const JUDGE: Judge = Judge { factor: 3.0, deviations: 0.0, floor: 50.0, weight: 40, relearn_after: None };

fn terms() -> Terms {
    Terms { judge: JUDGE, span: Span::new(60), warmup: 6 }
}

fn with(judge: Judge) -> Terms {
    Terms { judge, ..terms() }
}

fn taught(counts: &[u32], terms: &Terms) -> Baseline {
    let mut baseline = Baseline::default();
    counts.iter().for_each(|&count| {
        baseline.fold(count, terms);
    });
    baseline
}

#[test]
fn nothing_is_a_surge_before_the_warm_up() {
    let mut baseline = Baseline::default();
    for count in [10, 1_000, 10, u32::MAX, 10, 10] {
        assert_eq!(baseline.threshold(&terms()), f32::INFINITY);
        assert!(!baseline.fold(count, &terms()));
    }
    assert!(baseline.threshold(&terms()).is_finite());
}

#[test]
fn the_threshold_is_the_highest_of_three() {
    let usual = [100, 140, 60, 100, 140, 60, 100, 140, 60];
    let threshold = |judge| taught(&usual, &with(judge)).threshold(&with(judge));
    let baseline = taught(&usual, &terms());
    let (mean, deviation) = (baseline.mean(&terms()), baseline.deviation(&terms()));
    assert!((95.0..105.0).contains(&mean) && (25.0..50.0).contains(&deviation), "{mean} {deviation}");
    assert_eq!(threshold(JUDGE), 3.0 * mean);
    assert_eq!(threshold(Judge { deviations: 10.0, ..JUDGE }), mean + 10.0 * deviation);
    assert_eq!(threshold(Judge { floor: 1_000.0, ..JUDGE }), 1_000.0);
}

#[test]
fn the_threshold_itself_is_no_surge() {
    let mut baseline = taught(&[10; 10], &terms());
    assert!(!baseline.fold(50, &terms()));
    let mut baseline = taught(&[10; 10], &terms());
    assert!(baseline.fold(51, &terms()) && baseline.surged());
}

#[test]
fn a_surge_teaches_nothing_however_long_it_lasts() {
    let mut baseline = taught(&[20; 10], &terms());
    let before = (baseline.mean(&terms()), baseline.deviation(&terms()));
    for _ in 0..100_000 {
        assert!(baseline.fold(200, &terms()));
    }
    assert_eq!((baseline.mean(&terms()), baseline.deviation(&terms())), before);
    assert!(!baseline.fold(20, &terms()) && !baseline.surged());
}

#[test]
fn where_it_may_be_learned_a_surge_that_lasts_begins_a_new_warm_up() {
    let terms = with(Judge { relearn_after: Some(360), ..JUDGE });
    let mut baseline = taught(&[20; 10], &terms);
    assert_eq!((0..360).filter(|_| baseline.fold(100, &terms)).count(), 360);
    assert_eq!((0..6).filter(|_| baseline.fold(100, &terms)).count(), 0);
    assert_eq!(baseline.mean(&terms).round(), 100.0);
    assert!(baseline.fold(301, &terms));
}

#[test]
fn a_pause_ends_a_run_of_surges() {
    let terms = with(Judge { relearn_after: Some(3), ..JUDGE });
    let mut baseline = taught(&[20; 10], &terms);
    for _ in 0..10 {
        assert!(baseline.fold(100, &terms) && baseline.fold(100, &terms));
        baseline.pass(1, &terms);
        assert!(!baseline.surged());
        baseline.fold(20, &terms);
    }
    assert!(baseline.threshold(&terms).is_finite(), "never three in a row");
}

#[test]
fn after_a_night_of_silence_the_key_warms_up_anew() {
    let mut baseline = taught(&[20, 90, 20, 90, 20, 90], &terms());
    baseline.pass(59, &terms());
    assert!(baseline.threshold(&terms()).is_finite());
    baseline.pass(1, &terms());
    assert_eq!(baseline, Baseline::default());
}

#[test]
fn a_steady_key_has_no_deviation_and_a_lone_departure_is_a_share_of_it() {
    let mut baseline = taught(&[100; 200], &terms());
    assert!(baseline.deviation(&terms()) < 0.01);
    baseline.fold(161, &terms());
    assert!((baseline.deviation(&terms()) - 2.0).abs() < 0.05, "61 · 2 / 61");
}

fn anything() -> impl Strategy<Value = Terms> {
    (any::<u16>(), 0u16..20, 0.0f32..10.0, 0.0f32..10.0, 0.0f32..1e6, proptest::option::of(any::<u16>()))
        .prop_map(|(span, warmup, factor, deviations, floor, relearn_after)| Terms {
            judge: Judge { factor, deviations, floor, weight: 1, relearn_after },
            span: Span::new(span),
            warmup,
        })
}

proptest! {
    #[test]
    fn the_deviation_is_the_mean_of_departures(span in 1u16..200, counts in vec(1u32..100_000, 2..200)) {
        let terms = Terms { span: Span::new(span), ..with(Judge { factor: f32::MAX, ..JUDGE }) };
        let (mut baseline, mut departures) = (Baseline::default(), Vec::new());
        for &count in &counts {
            departures.push((f64::from(count) - baseline.mean.mean(&terms.span)).abs());
            baseline.fold(count, &terms);
        }
        let ages = (0..departures.len() as u32 - 1).rev();
        let weights: Vec<f64> = ages.map(|age| terms.span.left_after(age)).collect();
        let sum: f64 = weights.iter().zip(&departures[1..]).map(|(weight, departure)| weight * departure).sum();
        let exact = sum / weights.iter().sum::<f64>();
        let deviation = f64::from(baseline.deviation(&terms));
        prop_assert!((deviation - exact).abs() <= 1e-3 * exact.max(1.0), "{deviation} {exact}");
    }

    #[test]
    fn a_gap_at_once_is_nearly_that_gap_bucket_by_bucket(counts in vec(1u32..10_000, 30..80), gap in 0u32..80) {
        let terms = with(Judge { factor: f32::MAX, ..JUDGE });
        let (mut at_once, mut by_bucket) = (taught(&counts, &terms), taught(&counts, &terms));
        at_once.pass(gap, &terms);
        (0..gap).for_each(|_| { by_bucket.fold(0, &terms); });
        prop_assert_eq!(at_once.mean.taught(), by_bucket.mean.taught());
        let (a, b) = (at_once.deviation(&terms), by_bucket.deviation(&terms));
        prop_assert!(a >= b * 0.999 && a <= b * 1.5, "{} {}", a, b);
    }

    #[test]
    fn no_history_makes_a_threshold_anything_but_a_number_from_the_floor_on(terms in anything(), acts in vec((any::<u32>(), any::<bool>()), 0..60)) {
        let mut baseline = Baseline::default();
        for (number, pass) in acts {
            if pass { baseline.pass(number, &terms) } else { baseline.fold(number, &terms); }
            prop_assert!(baseline.threshold(&terms) >= terms.judge.floor);
            prop_assert!(baseline.deviation(&terms) >= 0.0 && baseline.mean(&terms) >= 0.0);
        }
    }

    #[test]
    fn what_was_kept_comes_back_and_anything_else_is_harmless(terms in anything(), counts in vec(any::<u32>(), 0..40), mean in any::<u64>(), deviation in any::<u32>(), run in any::<u16>()) {
        let baseline = taught(&counts, &terms);
        let (bits, sum, surged) = baseline.to_keep();
        let expected = if baseline.mean.taught() == 0 { Baseline::default() } else { baseline };
        prop_assert_eq!(Baseline::kept(bits, sum, surged, &terms.span), expected);
        let foreign = Baseline::kept(mean, f32::from_bits(deviation), run, &terms.span);
        prop_assert!(foreign.threshold(&terms) >= terms.judge.floor);
    }
}
