//! The counters: what they need they allocate when they are made, and nothing after it, full or not.

use super::allocations;
use weir::counters::arrears::Arrears;
use weir::counters::bucket::{Charge, Quota};
use weir::counters::ewma::{Ewma, Span};
use weir::counters::histogram::Sliding;
use weir::counters::price::Pace;
use weir::counters::sketch::Sketch;
use weir::counters::table::{Cell, Table};
use weir::hash::{Key, mix};
use weir::time::Nanos;

const EVENTS: u64 = 100_000;

#[derive(Clone, Copy, Default)]
struct Until(Nanos);

impl Cell for Until {
    fn stake(&self, now: Nanos) -> Option<u64> {
        Some((self.0 - now).0)
    }
}

/// Many more keys than there is room for, and the time of each.
fn flood() -> impl Iterator<Item = (Key, Nanos)> {
    (0..EVENTS).map(|n| (Key(mix(n + 1)), Nanos::from_secs(1000) + Nanos(n * 1_000_000)))
}

#[test]
fn a_table_allocates_nothing() {
    let mut table: Table<Until> = Table::new(8, 1000);
    let allocated = allocations(|| {
        for (key, now) in flood() {
            if let Ok(placed) = table.insert(key, u64::MAX, now) {
                table.put(placed.slot, Until(now + Nanos::from_secs(5)));
            }
            table.sweep(2, now);
        }
        table.clear();
    });
    assert_eq!((allocated, table.stats().tracked), (0, EVENTS));
}

#[test]
fn a_sketch_allocates_nothing() {
    let mut sketch = Sketch::new(64, Nanos::from_secs(1));
    let allocated = allocations(|| {
        for (key, now) in flood() {
            sketch.observe(key, now);
            sketch.observe(Key(7 << 40), now);
        }
    });
    assert_eq!((allocated, sketch.stats().used), (0, 64 * 8));
}

#[test]
fn arrears_allocate_nothing() {
    let pace = Pace::of(&Quota { interval: Nanos::from_secs(1), burst: 3, charge: Charge::Every });
    let mut arrears = Arrears::new(64);
    let allocated = allocations(|| {
        for (key, now) in flood() {
            arrears.put(key, now + Nanos::from_secs(9 << (key.0 % 4)), pace, now);
            arrears.take(Key(key.0 ^ 1 << 30), now);
            arrears.sweep(now);
        }
    });
    assert!(allocated == 0 && arrears.stats().evictions > 0);
}

#[test]
fn means_and_percentiles_allocate_nothing() {
    let (span, mut mean) = (Span::new(60), Ewma::default());
    let mut sliding = Sliding::new(Nanos::from_millis(200));
    let allocated = allocations(|| {
        for (key, now) in flood() {
            mean.teach(&span, key.0 as u32);
            sliding.record(Nanos(key.0 >> 30).as_secs_f64(), now);
            if now.0.is_multiple_of(200_000_000) {
                sliding.latest(60.0, 5, now).percentile(0.95);
            }
        }
    });
    assert_eq!(allocated, 0);
}
