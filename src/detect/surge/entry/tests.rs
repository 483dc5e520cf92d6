use super::*;
use crate::detect::surge::settings::Judge;
use proptest::prelude::*;

fn terms() -> Terms {
    let judge = Judge { factor: 3.0, deviations: 0.0, floor: 50.0, weight: 40, relearn_after: None };
    Terms { judge, span: Span::new(60), warmup: 6 }
}

fn mean(entry: &Entry) -> f32 {
    entry.baseline.mean(&terms()).round()
}

/// An entry that knows ten buckets of 20, at the beginning of bucket 110.
fn known() -> Entry {
    let (mut entry, folds) = (Entry::new(100), &mut Folds::default());
    for bucket in 100..110 {
        entry.add(bucket, 20, &terms(), folds);
    }
    entry.advance(110, &terms(), folds);
    assert_eq!((mean(&entry), entry.previous, entry.open, *folds), (20.0, 20, true, Folds::default()));
    entry
}

#[test]
fn late_events_count_until_their_bucket_is_folded_and_no_longer() {
    let (mut entry, folds) = (known(), &mut Folds::default());
    entry.add(109, 5, &terms(), folds);
    assert_eq!((entry.previous, entry.count, folds.late), (25, 0, 0));
    entry.close(&terms(), folds);
    entry.add(109, 7, &terms(), folds);
    entry.add(108, 1, &terms(), folds);
    assert_eq!((entry.previous, entry.count, folds.late), (25, 0, 8));
}

#[test]
fn a_bucket_is_folded_exactly_once_whoever_comes() {
    let (mut entry, folds) = (known(), &mut Folds::default());
    entry.add(110, 200, &terms(), folds);
    for _ in 0..3 {
        entry.advance(111, &terms(), folds);
        entry.close(&terms(), folds);
    }
    assert_eq!(folds.surges, 1);
    entry.advance(112, &terms(), folds);
    entry.advance(113, &terms(), folds);
    assert_eq!(folds.surges, 1);
}

#[test]
fn a_surge_is_known_before_it_is_folded_and_after() {
    let (mut entry, folds) = (known(), &mut Folds::default());
    entry.add(110, 200, &terms(), folds);
    assert_eq!(entry.surge(&terms()), 0, "that is the bucket before");
    entry.advance(111, &terms(), folds);
    assert_eq!(entry.surge(&terms()), 200);
    entry.close(&terms(), folds);
    assert_eq!((entry.surge(&terms()), mean(&entry)), (200, 20.0));
    entry.advance(112, &terms(), folds);
    assert_eq!(entry.surge(&terms()), 0);
}

#[test]
fn a_gap_is_as_many_empty_buckets_and_its_last_one_is_still_open() {
    for gap in 2..50 {
        let (mut at_once, mut by_bucket, folds) = (known(), known(), &mut Folds::default());
        at_once.add(110, 20, &terms(), folds);
        by_bucket.add(110, 20, &terms(), folds);
        at_once.advance(110 + gap, &terms(), folds);
        (0..gap).for_each(|n| by_bucket.advance(111 + n, &terms(), folds));
        let close = |a: f32, b: f32| (a - b).abs() < 1e-3;
        assert!(close(at_once.baseline.mean(&terms()), by_bucket.baseline.mean(&terms())), "{gap}");
        assert_eq!((at_once.previous, at_once.open, at_once.count), (0, true, 0));
        at_once.add(109 + gap, 3, &terms(), folds);
        assert_eq!((at_once.previous, folds.late), (3, 0));
    }
}

#[test]
fn what_was_seen_lately_is_what_an_entry_is_worth() {
    let worth = |entry: &Entry, bucket| worth_of(&entry.record(Key(1)), bucket);
    let one_off = Entry { count: 1, ..Entry::new(110) };
    assert!(worth(&known(), 110) > 5.0 * worth(&one_off, 110), "it has no event in this bucket yet");
    assert_eq!((worth(&one_off, 110), worth(&one_off, 111)), (1.0, 0.5));
    let foreign = [0xff; ENTRY_BYTES];
    assert!(worth_of(&foreign, 110) >= 0.0);
}

proptest! {
    #[test]
    fn an_entry_comes_back_as_it_was(bucket in any::<u32>(), count in any::<u32>(), previous in any::<u32>(), open in any::<bool>(), key in any::<u64>()) {
        let entry = Entry { bucket, count, previous, open, ..known() };
        let record = entry.record(Key(key));
        prop_assert_eq!((key_of(&record), bucket_of(&record)), (Key(key), bucket));
        prop_assert_eq!(Entry::read(&record, &terms().span), entry);
    }

    #[test]
    fn no_bytes_and_no_order_of_buckets_trap(bytes in any::<[[u8; 12]; 3]>(), adds in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..20)) {
        let mut entry = Entry::read(bytes.as_flattened(), &terms().span);
        let folds = &mut Folds::default();
        for (bucket, events) in adds {
            entry.add(bucket, events, &terms(), folds);
            entry.advance(entry.bucket.saturating_add(events % 3), &terms(), folds);
            entry.close(&terms(), folds);
            prop_assert!(entry.baseline.threshold(&terms()) >= 50.0);
        }
    }
}
