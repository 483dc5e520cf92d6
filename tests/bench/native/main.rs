//! What the engine's parts cost natively: `make bench`. In Envoy the same code runs inside V8, and host calls come
//! on top: `make bench-envoy` measures that.
//!
//! Time is virtual, 20 µs from event to event (50,000 per second), and each sample is 10,000 events: the 200 ms
//! between two ticks. So a sample holds exactly one tick: *mean* and *median* include its share, and
//! [`engine::tick`](engine) says what it is.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_types,
    reason = "a program for developers: it may stop at a surprise, and the rivals keep maps"
)]

mod engine;
mod parts;
mod surge;

use weir::time::Nanos;

/// Events between two ticks.
const TICK_EVENTS: u64 = 10_000;

/// `TICK_EVENTS` as divan's attribute wants it.
const TICK: u32 = TICK_EVENTS as u32;

/// Time from event to event: `TICK_EVENTS` make `workers.exchange_ms`'s default.
const STEP: Nanos = Nanos(20_000);

fn main() {
    // `cargo test --all-targets` runs benches too, without this word.
    if std::env::args().any(|argument| argument == "--bench") {
        divan::main();
    }
}

/// Events, the time at which they happen, and whose they are.
struct Events {
    count: u64,
    now: Nanos,
    among: u64,
}

/// One event.
#[derive(Clone, Copy)]
struct At {
    who: u32,
    now: Nanos,
    tick: bool,
}

impl Events {
    /// Events of so many subjects. First each of them in turn, then at random.
    fn among(subjects: u32) -> Events {
        Events { count: 0, now: Nanos::from_secs(1000), among: subjects.into() }
    }

    fn next(&mut self) -> At {
        let who = if self.count < self.among { self.count } else { weir::hash::mix(self.count) % self.among };
        self.count += 1;
        self.now = self.now + STEP;
        At { who: who as u32, now: self.now, tick: self.count.is_multiple_of(TICK_EVENTS) }
    }

    /// Events until every subject was there and a worker that lives alone knows that it does (after five seconds).
    fn warm_up(&mut self, mut event: impl FnMut(At)) {
        for _ in 0..self.among.max(5 * TICK_EVENTS * 5).next_multiple_of(TICK_EVENTS) {
            let at = self.next();
            event(at);
        }
    }
}

/// One tick after a tick's events: each iteration finds them done already, by the input of the next.
fn bench_tick<W>(
    bencher: divan::Bencher,
    (mut worker, mut events): (W, Events),
    event: impl Fn(&mut W, At),
    tick: impl Fn(&mut W, Nanos),
) {
    let worker = std::cell::RefCell::new(&mut worker);
    let inputs = || {
        let mut last = events.now;
        for _ in 0..TICK_EVENTS {
            let at = events.next();
            last = at.now;
            event(&mut worker.borrow_mut(), At { tick: false, ..at });
        }
        last
    };
    bencher.with_inputs(inputs).bench_local_values(|now| tick(&mut worker.borrow_mut(), now));
}
