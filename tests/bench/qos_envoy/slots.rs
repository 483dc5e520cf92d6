//! The service's capacity: some slots, one queue in front of them, first come first served, no end to it.
//!
//! A slot is a thread, taken for the time that a request is stated to need. For most of it the slot sleeps, as one that
//! waits for a database does; a fiftieth it computes. More would be nearer to some services, but sixteen slots of it, Envoy
//! and the clients share two cores here, and a machine that is short of CPU measures the machine.
//!
//! Who has left is served all the same: few services notice that a caller has gone, and none gets back what it has begun.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// Seconds of work that are done per second.
pub const SLOTS: usize = 16;

/// The part of a service time that is CPU.
const COMPUTING: f64 = 0.02;

struct Job {
    lasts: Duration,
    done: oneshot::Sender<()>,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Slot-seconds that the served requests were stated to need.
    pub stated: f64,
    /// Those that they took.
    pub taken: f64,
}

/// The slots and their queue.
#[derive(Clone)]
pub struct Slots {
    queue: Sender<Job>,
    done: Arc<Done>,
}

/// In nanoseconds.
#[derive(Default)]
struct Done {
    stated: AtomicU64,
    taken: AtomicU64,
}

impl Slots {
    pub fn open() -> Slots {
        let (queue, jobs) = channel();
        let (jobs, done) = (Arc::new(Mutex::new(jobs)), Arc::new(Done::default()));
        for _ in 0..SLOTS {
            let (jobs, done) = (Arc::clone(&jobs), Arc::clone(&done));
            thread::spawn(move || serve(&jobs, &done));
        }
        Slots { queue, done }
    }

    /// Waits for a slot and then for so long.
    pub async fn take(&self, lasts: Duration) {
        let (done, finished) = oneshot::channel();
        if self.queue.send(Job { lasts, done }).is_ok() {
            let _ = finished.await;
        }
    }

    pub fn work(&self) -> Work {
        let seconds = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed) as f64 / 1e9;
        Work { stated: seconds(&self.done.stated), taken: seconds(&self.done.taken) }
    }
}

fn serve(jobs: &Mutex<Receiver<Job>>, done: &Done) {
    // The lock is held while waiting: whoever has it is next.
    while let Ok(Job { lasts, done: tell }) = { jobs.lock().unwrap().recv() } {
        let begin = Instant::now();
        thread::sleep(lasts.mul_f64(1.0 - COMPUTING));
        while begin.elapsed() < lasts {
            spin_loop();
        }
        done.stated.fetch_add(lasts.as_nanos() as u64, Ordering::Relaxed);
        done.taken.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        let _ = tell.send(());
    }
}
