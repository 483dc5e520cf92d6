//! What other workers tell this one at once: that there are new bans to read. Envoy's shared queues wake one root context
//! of one worker each, the last that registered; so every worker that serves has a queue of its own, named by its place
//! in the roster, where the others find its token.
//!
//! A worker registers with its first stream, and again with each tick: another root context may have taken over, and
//! places change hands. A notice that is lost costs its readers no more than the wait for their next exchange.

use super::abi;
use super::{Worker, clock};
use crate::shared::names::QUEUE;

/// Which queue this worker hears: that of this place.
#[derive(Default)]
pub struct Ear {
    place: Option<usize>,
    queue: Option<u32>,
}

/// Notices that are read at once. Each worker sends 100 a second at the most.
const MOST_NOTICES: usize = 1_000;

impl Worker {
    /// Registers where that was not done for the place that this worker has now: with its first stream, that is.
    pub fn listen_at_once(&mut self) {
        if self.ear.place != self.engine.place() {
            self.listen();
        }
    }

    /// Hears the others by the root context that is called, and by the place that this worker has now. One that does
    /// not serve has none.
    pub fn listen(&mut self) {
        self.ear.place = self.engine.place();
        let Some(place) = self.ear.place else { return };
        if let Ok(queue) = abi::register_queue(&format!("{QUEUE}{place:02x}")) {
            self.ear.queue = Some(queue);
            self.engine.set_queue(queue);
            self.hear(queue); // what came while nobody was woken
        }
    }

    /// Reads what is in a queue.
    pub fn hear(&mut self, queue: u32) {
        for _ in 0..MOST_NOTICES {
            let Ok(notice) = abi::dequeue(queue) else { return };
            self.engine.hear(&notice, clock::now());
        }
    }

    /// Has Envoy call this worker again when it has served others, by a notice to itself that says nothing. Where that can't
    /// be, the next tick must do.
    pub fn call_again(&self) {
        if let Some(queue) = self.ear.queue {
            let _ = abi::enqueue(queue, &[]);
        }
    }

    /// Tells the others of new bans, if there are any.
    pub fn notify(&mut self) {
        self.engine.notify(|queue, notice| {
            let _ = abi::enqueue(queue, notice); // who does not hear of it reads it with the next exchange
        });
    }
}
