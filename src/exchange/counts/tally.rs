//! What a worker has of one key: what the process had counted when it last heard of it, and what it counted since. Both as
//! of one tick, in sixteenths of an event, and halved with each that begins.

use crate::counters::table::Cell;
use crate::time::Nanos;

/// 16 bytes per key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    tick: u32,
    heard: u32,
    pending: u32,
    /// What it comes to at most.
    most: u32,
}

impl Tally {
    /// What was heard, with nothing since.
    pub fn heard(sixteenths: u32, tick: u32, most: u32) -> Tally {
        Tally { tick, heard: sixteenths, pending: 0, most }
    }

    /// As of a later tick. A clock that stands a tick behind is as good as this one.
    #[must_use]
    pub fn at(self, tick: u32) -> Tally {
        let age = tick.saturating_sub(self.tick).min(31);
        Tally { tick: self.tick.max(tick), heard: self.heard >> age, pending: self.pending >> age, ..self }
    }

    /// Counts more, as far as it does not come to more than the most.
    pub fn add(&mut self, sixteenths: u32) {
        let room = self.most.saturating_sub(self.sixteenths());
        self.pending = self.pending.saturating_add(sixteenths.min(room));
    }

    /// What it comes to.
    pub fn sixteenths(&self) -> u32 {
        self.heard.saturating_add(self.pending)
    }

    /// What it comes to beside what the process has: whatever this worker ever heard was counted, also where shared data
    /// has lost it.
    pub fn joined(&self, process: u32) -> u32 {
        process.max(self.heard).saturating_add(self.pending).min(self.most)
    }

    /// Has it come to the most?
    pub fn is_full(&self) -> bool {
        self.sixteenths() >= self.most
    }

    /// The most.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// What is to be told, in sixteenths.
    pub fn pending(&self) -> u32 {
        self.pending
    }
}

impl Cell for Tally {
    /// `now` is a tick: what is left of the count then.
    fn stake(&self, now: Nanos) -> Option<u64> {
        let tick = u32::try_from(now.0).unwrap_or(u32::MAX);
        Some(self.at(tick).sixteenths().into())
    }
}
