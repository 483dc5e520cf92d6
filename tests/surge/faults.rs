//! What goes wrong costs accuracy, and makes nobody surge who is as usual.

use crate::process::*;
use weir::detect::surge::Dimension::Source;
use weir::detect::surge::entry::ENTRY_BYTES;
use weir::shared::mem::Faults;
use weir::shared::names::{ShardName, Sharded};

fn shards() -> impl Iterator<Item = String> {
    (0..256).map(|n| ShardName::new(Sharded::Traffic, n).as_str().to_owned())
}

fn steady(n: u64) -> Vec<Flow> {
    (0..n).map(|n| Flow::source(n, 8.0)).collect()
}

fn found(process: &mut Process, flows: &[Flow]) -> usize {
    let surge: Vec<Flow> = flows.iter().map(|flow| flow.at(60.0)).collect();
    let mut found = vec![false; flows.len()];
    process.run(&surge, 2 * BUCKET, |met| found[met.flow] |= met.surges(Source));
    found.into_iter().filter(|found| *found).count()
}

#[test]
fn lost_and_refused_writes_cost_little() {
    let lost = Faults { lose_writes: 10_000, ..Faults::NONE };
    let refused = Faults { refuse_writes: 200_000, ..Faults::NONE };
    for faults in [lost, refused] {
        for workers in [1, 4, 16] {
            let mut process = Process::new(workers);
            process.store.inject(faults);
            let flows = steady(20);
            assert_eq!(process.signals(&flows, 60 * BUCKET), 0, "{faults:?}, {workers}");
            assert!(found(&mut process, &flows) >= 19, "{faults:?}, {workers}");
        }
    }
}

#[test]
fn wiped_shards_are_learned_anew() {
    for workers in [1, 4, 16] {
        let mut process = Process::new(workers);
        let flows = steady(20);
        for _ in 0..10 {
            assert_eq!(process.signals(&flows, 4 * BUCKET + 3), 0);
            shards().for_each(|shard| process.store.wipe(&shard));
        }
        assert_eq!(process.signals(&flows, 10 * BUCKET), 0);
        assert_eq!(found(&mut process, &flows), 20);
    }
}

#[test]
fn a_store_that_takes_nothing_leaves_everybody_in_peace() {
    let mut process = Process::new(2);
    process.store.inject(Faults { refuse_writes: 1_000_000, ..Faults::NONE });
    assert_eq!(process.signals(&steady(5), 30 * BUCKET), 0);
    assert_eq!(process.signals(&[Flow::source(1, 100.0)], BUCKET), 0, "nobody knows what is usual");
}

/// Every number of every entry, each at its worst: a steady client is left in peace again after a bucket.
#[test]
fn no_absurd_number_makes_an_innocent_surge_for_long() {
    for at in (8..ENTRY_BYTES).step_by(2) {
        for byte in [0x00, 0x7f, 0x80, 0xff] {
            let mut process = Process::new(2);
            process.signals(&[Flow::source(1, 8.0)], 20 * BUCKET);
            for shard in shards() {
                if let Some(mut bytes) = process.store.peek(&shard) {
                    bytes.chunks_exact_mut(ENTRY_BYTES).for_each(|entry| entry[at..at + 2].fill(byte));
                    process.store.overwrite(&shard, &bytes);
                }
            }
            process.signals(&[Flow::source(1, 8.0)], 3 * BUCKET);
            assert_eq!(process.signals(&[Flow::source(1, 8.0)], 20 * BUCKET), 0, "{at}: {byte:x}");
        }
    }
}

#[test]
fn steps_of_the_clock_make_no_surge_and_no_trap() {
    for step in [3_600.0, 86_400.0, 1e9, 1e10] {
        let mut process = Process::new(2);
        process.signals(&steady(3), 20 * BUCKET);
        for worker in &mut process.workers {
            worker.tick(weir::time::Nanos(process.now + (step * SECOND as f64).min(1e19) as u64));
        }
        process.now = process.now.saturating_add((step * SECOND as f64) as u64).min(u64::MAX / 2);
        for _ in 0..500 {
            assert!(process.request(0, [None, Some(1), None, None], true).is_empty(), "{step}");
        }
    }
}

/// A clock that stands still is one long bucket: what comes in it is counted together.
#[test]
fn a_clock_that_stands_still_or_begins_anew_traps_nobody() {
    let mut process = Process::new(1);
    process.signals(&steady(1), 20 * BUCKET);
    let surging =
        (0..1_000).filter(|_| !process.request(0, [None, Some(0), None, None], true).is_empty()).count();
    assert!(surging.abs_diff(1_000 - 240) < 5, "80 a bucket are usual: {surging}");
    process.now = 5 * SECOND;
    assert_eq!(
        (0..200).filter(|_| !process.request(0, [None, Some(0), None, None], true).is_empty()).count(),
        0
    );
}
