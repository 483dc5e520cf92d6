//! The traffic guard: what a request costs, and a tick.

use divan::Bencher;
use weir::counters::ewma::Span;
use weir::detect::surge::{Judge, Settings, Sizes, Subjects, Surge};
use weir::hash::{Seed, SubjectHash, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

use crate::{At, Events, TICK};

/// One route and so many clients, as usual: route and client are looked at.
#[divan::bench(args = [1, 1_000, 100_000], sample_size = TICK, sample_count = 60)]
fn traffic(bencher: Bencher, clients: u32) {
    let (mut worker, mut events) = warm(clients);
    bencher.bench_local(|| worker.request(events.next()));
}

/// One tick with 10,000 events of so many clients.
#[divan::bench(args = [1, 1_000, 100_000], sample_size = 1, sample_count = 60)]
fn traffic_tick(bencher: Bencher, clients: u32) {
    let event = |worker: &mut Worker, at| {
        worker.request(at);
    };
    crate::bench_tick(bencher, warm(clients), event, |worker, now| worker.guard.tick(now));
}

struct Worker {
    guard: Surge<MemStore>,
    settings: Settings,
}

impl Worker {
    fn request(&mut self, at: At) -> bool {
        let of = [Some(SubjectHash(1)), Some(SubjectHash(mix(at.who.into()))), None, None];
        let signals = self.guard.observe(&self.settings, &Subjects { of, route: None }, true, at.now);
        if at.tick {
            self.guard.tick(at.now);
        }
        signals.is_empty()
    }
}

fn warm(clients: u32) -> (Worker, Events) {
    let judge = Judge { factor: 3.0, deviations: 5.0, floor: 200.0, weight: 40, relearn_after: Some(360) };
    let settings = Settings {
        bucket: Nanos::from_secs(10),
        learning: Span::new(60),
        warmup: 6,
        dimensions: [Some(judge), Some(judge), None, None],
        routes: Box::default(),
    };
    let sizes = Sizes { keys: 200_000, interval: Nanos::from_millis(200) };
    let guard = Surge::new(MemStore::new(), sizes, settings.clone(), &Seed([7; 16]), 0);
    let (mut worker, mut events) = (Worker { guard, settings }, Events::among(clients));
    for _ in 0..5 {
        events.warm_up(|at| {
            worker.request(at);
        });
    }
    (worker, events)
}
