//! The attack: requests by HTTP/2, many in one write, over a few connections, from one thread.
//!
//! A connection whose answers are late waits by itself; the others go on. When all wait, the attack is as fast as
//! answers come, and what it was late by is lost. It costs about a microsecond per request, as most of the
//! machine is to be left to those who are attacked.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::clients;
use super::lane::Lane;
use super::schedule::Schedule;
use super::stop::Stop;

/// Connections at once. Few: what is under way stands in the way of the client that behaves, and costs Envoy memory.
const CONNECTIONS: usize = 8;

/// Requests in one write at most.
const BATCH: u64 = 32;

/// How often the schedule is looked at.
const TICK: Duration = Duration::from_millis(2);

/// Only so much is made up for: an attack that ran after its schedule would be faster than its schedule.
const MADE_UP: Duration = Duration::from_millis(100);

/// No answer for so long: the other side is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was sent and what came back so far.
#[derive(Debug, Default)]
pub struct Tally {
    sent: AtomicU64,
    passed: AtomicU64,
    refused: AtomicU64,
    other: AtomicU64,
}

/// The same at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Each from another client.
    pub sent: u64,
    /// 200.
    pub passed: u64,
    /// 429, 403, 503: whatever a limiter says.
    pub refused: u64,
    /// What neither says.
    pub other: u64,
}

impl Tally {
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            sent: read(&self.sent),
            passed: read(&self.passed),
            refused: read(&self.refused),
            other: read(&self.other),
        }
    }

    pub fn sent(&self, requests: u64) {
        self.sent.fetch_add(requests, Ordering::Relaxed);
    }

    pub fn answered(&self, status: u16) {
        let counter = match status {
            200 => &self.passed,
            429 | 403 | 503 => &self.refused,
            _ => &self.other,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// An attack under way. It ends with its schedule, its clients or the word to stop, whichever is first.
pub struct Attack {
    pub tally: Arc<Tally>,
    thread: JoinHandle<io::Result<()>>,
}

impl Attack {
    /// # Errors
    /// The target is not this machine, or there are not so many clients.
    pub fn start(
        to: SocketAddr,
        clients: Range<u64>,
        schedule: Schedule,
        stop: Stop,
    ) -> Result<Attack, String> {
        if !to.ip().is_loopback() {
            return Err(format!("{to} is not on this machine: nothing else is ever attacked"));
        }
        if clients.end > clients::MOST {
            return Err(format!("there are {} clients, not {}", clients::MOST, clients.end));
        }
        let tally = Arc::new(Tally::default());
        let course = Course { to, clients, schedule, stop, tally: Arc::clone(&tally) };
        let thread = thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(course.run())
        });
        Ok(Attack { tally, thread })
    }

    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for its end, with every answer that was still to come.
    ///
    /// # Errors
    /// A connection was lost before.
    pub fn end(self) -> Result<(), String> {
        match self.thread.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the attack lost a connection: {error}")),
            Err(_) => Err("the attack's thread died".to_owned()),
        }
    }
}

struct Course {
    to: SocketAddr,
    clients: Range<u64>,
    schedule: Schedule,
    stop: Stop,
    tally: Arc<Tally>,
}

impl Course {
    async fn run(self) -> io::Result<()> {
        let (back, mut idle) = unbounded_channel();
        for _ in 0..CONNECTIONS {
            // The receiver lives as long as this function.
            let _ = back.send(Ok(Lane::open(self.to).await?));
        }
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let begin = Instant::now();
        let (mut next, mut lost) = (self.clients.start, 0);
        while next < self.clients.end && begin.elapsed() < self.schedule.lasts() && !self.stop.is_said() {
            let sent_by = |at| self.schedule.sent_by(at);
            let at = begin.elapsed();
            let by_schedule = self.clients.start + sent_by(at) - lost;
            let due = by_schedule.min(next + sent_by(at) - sent_by(at.saturating_sub(MADE_UP)));
            lost += by_schedule - due;
            if next >= due {
                ticks.tick().await;
                continue;
            }
            let Some(lane) = idle.recv().await else { break };
            let batch = next..due.min(next + BATCH).min(self.clients.end);
            next = batch.end;
            tokio::spawn(send(lane?, batch, Arc::clone(&self.tally), back.clone()));
        }
        for _ in 0..CONNECTIONS {
            let Some(lane) = idle.recv().await else { break };
            timeout(PATIENCE, lane?.wait_for_answers(0, &self.tally)).await??;
        }
        Ok(())
    }
}

/// Gives the lane back for more.
async fn send(mut lane: Lane, batch: Range<u64>, tally: Arc<Tally>, back: UnboundedSender<io::Result<Lane>>) {
    let sent = timeout(PATIENCE, lane.send(batch, &tally)).await;
    let _ = back.send(sent.unwrap_or_else(|late| Err(late.into())).map(|()| lane));
}
