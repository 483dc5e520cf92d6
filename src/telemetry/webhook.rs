//! Events on their way to a service that collects them: whole lines, several in one call, a few calls at a time.
//!
//! Nothing here waits for the service and nothing grows with it: an event that finds [`MAX_WAITING`] bytes before it is
//! dropped, a batch has at most [`MAX_BATCH`] bytes, and while as many calls as may be have no answer the next one waits. A call
//! that failed, or had no answer within [`TIMEOUT`], is not tried again: what it told is in the log as well. All of it is
//! counted.

use crate::time::Nanos;

/// Where events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A cluster of Envoy's.
    pub cluster: Box<str>,
    /// The host to ask for.
    pub authority: Box<str>,
    /// The path to post to.
    pub path: Box<str>,
    /// Calls of all workers together that have no answer yet.
    pub max_concurrent: u32,
}

/// Bytes that may wait to be sent.
pub const MAX_WAITING: usize = 256 * 1024;

/// Bytes of one call, unless a single event is longer.
pub const MAX_BATCH: usize = 64 * 1024;

/// How long an answer may take.
pub const TIMEOUT: Nanos = Nanos::from_secs(5);

/// Events wait so long for others, unless a batch is full.
const GATHER: Nanos = Nanos::from_millis(200);

/// Beyond its timeout Envoy gives an answer, or the call is gone with its filter.
const GONE: Nanos = Nanos::from_secs(10);

/// A call's number in the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// Events of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whole lines.
    pub lines: Vec<u8>,
    /// How many.
    pub events: u32,
}

/// Counts since the worker began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events that the service took: it answered 2xx.
    pub delivered: u64,
    /// Events of calls that it did not take, or that had no answer in time.
    pub failed: u64,
    /// Events that found too many before them.
    pub dropped: u64,
}

impl Stats {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Stats) -> Stats {
        Stats {
            delivered: self.delivered + other.delivered,
            failed: self.failed + other.failed,
            dropped: self.dropped + other.dropped,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Call {
    token: Token,
    events: u32,
    gone: Nanos,
}

/// What waits, and what is on its way.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: Vec<u8>,
    events: u32,
    /// When what waits is due.
    due: Nanos,
    calls: Vec<Call>,
    stats: Stats,
}

impl Outbox {
    /// One more event, as a line without its end.
    pub fn offer(&mut self, line: &str, now: Nanos) {
        if self.waiting.len() + line.len() + 1 > MAX_WAITING {
            self.stats.dropped += 1;
            return;
        }
        if self.waiting.is_empty() {
            self.due = now + GATHER;
        }
        self.waiting.extend_from_slice(line.as_bytes());
        self.waiting.push(b'\n');
        self.events += 1;
    }

    /// The next call to make, if one is due and may be made. `live` workers share what is allowed; each has one.
    pub fn next(&mut self, settings: &Settings, live: u32, now: Nanos) -> Option<Batch> {
        self.expire(now);
        let share = (settings.max_concurrent / live.max(1)).max(1);
        let is_due = now >= self.due || self.waiting.len() >= MAX_BATCH;
        if self.waiting.is_empty() || !is_due || self.calls.len() >= share as usize {
            return None;
        }
        let whole = self.waiting.get(..MAX_BATCH.min(self.waiting.len())).unwrap_or_default();
        let end = whole.iter().rposition(|byte| *byte == b'\n');
        // A line is shorter than a batch; were one not, it goes alone.
        let end = end.or_else(|| self.waiting.iter().position(|byte| *byte == b'\n'))? + 1;
        let lines: Vec<u8> = self.waiting.drain(..end).collect();
        let events = lines.iter().filter(|byte| **byte == b'\n').count() as u32;
        self.events = self.events.saturating_sub(events);
        Some(Batch { lines, events })
    }

    /// A call was made; `None`: the host did not make it.
    pub fn sent(&mut self, events: u32, token: Option<Token>, now: Nanos) {
        match token {
            Some(token) => self.calls.push(Call { token, events, gone: now + TIMEOUT + GONE }),
            None => self.stats.failed += u64::from(events),
        }
    }

    /// A call has its answer: did the service take it?
    pub fn answered(&mut self, token: Token, taken: bool) {
        let Some(at) = self.calls.iter().position(|call| call.token == token) else { return };
        let events = u64::from(self.calls.swap_remove(at).events);
        match taken {
            true => self.stats.delivered += events,
            false => self.stats.failed += events,
        }
    }

    /// The clock is another: what waits is due, and what is on its way has all its time.
    pub fn start_over(&mut self, now: Nanos) {
        self.due = now;
        self.calls.iter_mut().for_each(|call| call.gone = now + TIMEOUT + GONE);
    }

    /// Hands what waits to the one that takes its place. What is on its way is lost with the filter that sent it.
    pub fn succeed(mut self, heir: Option<&mut Outbox>, now: Nanos) -> Stats {
        match heir {
            Some(heir) => {
                let lines = String::from_utf8_lossy(&self.waiting).into_owned();
                lines.lines().for_each(|line| heir.offer(line, now));
            }
            None => self.stats.dropped += u64::from(self.events),
        }
        self.stats.failed += self.calls.iter().map(|call| u64::from(call.events)).sum::<u64>();
        self.stats
    }

    /// Calls without an answer.
    pub fn in_flight(&self) -> u32 {
        self.calls.len() as u32
    }

    /// What happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Gives up what the host will never answer.
    fn expire(&mut self, now: Nanos) {
        let Outbox { calls, stats, .. } = self;
        calls.retain(|call| {
            let lives = now < call.gone;
            stats.failed += if lives { 0 } else { call.events.into() };
            lives
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn settings(max_concurrent: u32) -> Settings {
        Settings { cluster: "siem".into(), authority: "siem".into(), path: "/".into(), max_concurrent }
    }

    const NOW: Nanos = Nanos::from_secs(100);
    const LATER: Nanos = Nanos::from_secs(101);

    fn filled(lines: usize, bytes: usize) -> Outbox {
        let mut outbox = Outbox::default();
        (0..lines).for_each(|_| outbox.offer(&"x".repeat(bytes), NOW));
        outbox
    }

    #[test]
    fn events_wait_for_each_other_and_go_together_as_whole_lines() {
        let mut outbox = filled(3, 10);
        assert_eq!(outbox.next(&settings(8), 1, NOW), None);
        let batch = outbox.next(&settings(8), 1, LATER).unwrap();
        assert_eq!((batch.events, batch.lines.len()), (3, 33));
        assert_eq!(outbox.next(&settings(8), 1, LATER), None);
        outbox.sent(3, Some(Token(7)), LATER);
        outbox.answered(Token(7), true);
        outbox.answered(Token(7), true);
        assert_eq!(outbox.stats(), Stats { delivered: 3, ..Stats::default() });
    }

    #[test]
    fn a_service_that_never_answers_costs_no_more_memory_than_its_bound() {
        let mut outbox = filled(2_000, 1_000);
        let kept = MAX_WAITING / 1_001;
        assert_eq!(outbox.stats().dropped, 2_000 - kept as u64);
        let mut batches = 0;
        while let Some(batch) = outbox.next(&settings(2), 1, LATER) {
            assert!(batch.lines.len() <= MAX_BATCH && batch.lines.ends_with(b"\n"));
            batches += 1;
            outbox.sent(batch.events, Some(Token(batches)), LATER);
        }
        assert_eq!((batches, outbox.in_flight()), (2, 2), "two may be without an answer");
        assert!(
            outbox.next(&settings(2), 1, LATER + TIMEOUT + GONE).is_some(),
            "and are given up in the end"
        );
        assert!(outbox.stats().failed > 0);
    }

    #[test]
    fn workers_share_the_calls_and_each_has_one() {
        for (live, calls) in [(1, 8), (2, 4), (3, 2), (16, 1)] {
            let mut outbox = filled(260, 1_000);
            let mut made = 0;
            while made < 20 && outbox.next(&settings(8), live, LATER).is_some() {
                made += 1;
                outbox.sent(1, Some(Token(made)), LATER);
                (0..60).for_each(|_| outbox.offer(&"x".repeat(1_000), NOW));
            }
            assert_eq!(made, calls, "{live}");
        }
    }

    #[test]
    fn what_waits_is_handed_on_and_what_is_on_its_way_is_lost() {
        let mut old = filled(5, 10);
        old.sent(7, Some(Token(1)), NOW);
        let mut heir = filled(1, 10);
        assert_eq!(old.succeed(Some(&mut heir), NOW).failed, 7);
        assert_eq!(heir.next(&settings(1), 1, LATER).unwrap().events, 6);
        assert_eq!(filled(5, 10).succeed(None, NOW).dropped, 5);
    }

    proptest! {
        #[test]
        fn every_event_is_delivered_failed_dropped_waiting_or_on_its_way(
            acts in vec((0u8..6, 0usize..40_000), 0..200)) {
            let mut outbox = Outbox::default();
            let (mut offered, mut now, mut token) = (0u64, NOW, 0);
            for (act, size) in acts {
                match act {
                    0..=2 => {
                        offered += 1;
                        outbox.offer(&"x".repeat(size), now);
                    }
                    3 => {
                        now = now + Nanos::from_millis(size as u64);
                        if let Some(batch) = outbox.next(&settings(4), 1, now) {
                            token += 1;
                            outbox.sent(batch.events, (size % 3 > 0).then_some(Token(token)), now);
                        }
                    }
                    _ => outbox.answered(Token(size as u32 % 8), act == 4),
                }
                let Stats { delivered, failed, dropped } = outbox.stats();
                let on_its_way: u64 = outbox.calls.iter().map(|call| u64::from(call.events)).sum();
                prop_assert_eq!(offered, delivered + failed + dropped + u64::from(outbox.events) + on_its_way);
                prop_assert!(outbox.waiting.len() <= MAX_WAITING && outbox.in_flight() <= 4);
            }
        }
    }
}
