//! What became of the calls of one run.

use crate::clients::{Call, Path, Who, age};
use crate::guard::Standing;
use weir::time::Nanos;

/// An answer within this time is a good one.
const GOOD: Nanos = Nanos::from_secs(2);

/// The steady part begins so many seconds after the window.
const ONSET: f64 = 15.0;

/// Seconds that an address is a newcomer's.
const NEW: f64 = 30.0;

/// What is looked at: calls sent in that time, in seconds of the run.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub from: f64,
    pub until: f64,
}

/// How a call ended, for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Answered(Nanos),
    Refused,
    /// An error, or nothing for too long.
    Failed,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub offered: u64,
    pub answered: u64,
    pub good: u64,
    pub refused: u64,
    pub held: u64,
}

impl Tally {
    fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Answered(latency) => {
                self.answered += 1;
                self.good += u64::from(latency <= GOOD);
            }
            Fate::Refused => self.refused += 1,
            Fate::Failed => {}
        }
    }

    /// Percent of what was offered. Nothing offered, nothing lost.
    pub fn goodput(&self) -> f64 {
        if self.offered == 0 { 100.0 } else { 100.0 * self.good as f64 / self.offered as f64 }
    }

    pub fn shed(&self) -> f64 {
        100.0 * self.refused as f64 / self.offered.max(1) as f64
    }

    pub fn held(&self) -> f64 {
        100.0 * self.held as f64 / self.offered.max(1) as f64
    }
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    pub ordinary: Tally,
    /// Seconds of work that were forwarded.
    pub work: f64,
    pub stress: f64,
    pub level: f64,
    pub engaged: bool,
    pub hard: bool,
}

pub struct Report {
    window: Window,
    /// By site.
    pub ordinary: Vec<Tally>,
    /// Ordinary callers whose address is new, and came after the window had begun.
    pub newcomers: Tally,
    pub attackers: Tally,
    /// Ordinary callers before the window.
    pub before: Tally,
    /// Ordinary calls by path.
    pub paths: [Tally; Path::COUNT],
    /// From the start of the run on.
    pub seconds: Vec<Second>,
    /// When answered ordinary calls of the first site were sent, and how long they took, in seconds.
    latencies: Vec<(f32, f32)>,
    /// Hard ↔ soft in the steady part.
    pub zone_changes: u32,
    /// How often it engaged, in the whole run.
    pub engagements: u32,
    before_this: Standing,
    pub unreachable: u64,
}

impl Report {
    pub fn new(window: Window, sites: usize) -> Report {
        Report {
            window,
            ordinary: vec![Tally::default(); sites],
            newcomers: Tally::default(),
            attackers: Tally::default(),
            before: Tally::default(),
            paths: [Tally::default(); Path::COUNT],
            seconds: vec![Second::default(); window.until.ceil() as usize + 1],
            latencies: Vec::new(),
            zone_changes: 0,
            engagements: 0,
            before_this: Standing::default(),
            unreachable: 0,
        }
    }

    pub fn offer(&mut self, call: &Call, now: Nanos) {
        if !call.again {
            self.each(call, now, |tally| tally.offered += 1);
        }
    }

    pub fn hold(&mut self, call: &Call, now: Nanos) {
        self.each(call, now, |tally| tally.held += 1);
    }

    pub fn forward(&mut self, call: &Call, now: Nanos) {
        if let Some(second) = self.second(now) {
            second.work += call.work.head + call.work.body;
        }
    }

    /// A call that was sent then has ended so.
    pub fn end(&mut self, call: &Call, sent: Nanos, fate: Fate) {
        self.each(call, sent, |tally| tally.add(fate));
        if let (Fate::Answered(latency), true) = (fate, call.who == Who::Ordinary && call.site == 0)
            && self.is_inside(sent)
        {
            self.latencies.push((sent.as_secs_f64() as f32, latency.as_secs_f64() as f32));
        }
    }

    pub fn watch(&mut self, standing: &Standing, now: Nanos) {
        let before = core::mem::replace(&mut self.before_this, *standing);
        self.engagements += u32::from(standing.engaged && !before.engaged);
        if standing.hard != before.hard
            && self.is_inside(now)
            && now.as_secs_f64() >= self.window.from + ONSET
        {
            self.zone_changes += 1;
        }
        if let Some(second) = self.second(now) {
            (second.engaged, second.hard) = (standing.engaged, standing.hard);
            (second.stress, second.level) = (standing.stress, standing.level);
        }
    }

    fn is_inside(&self, at: Nanos) -> bool {
        at >= Nanos::from_secs_f64(self.window.from) && at < Nanos::from_secs_f64(self.window.until)
    }

    fn second(&mut self, at: Nanos) -> Option<&mut Second> {
        self.seconds.get_mut((at.0 / 1_000_000_000) as usize)
    }

    /// Every tally that a call sent then belongs to.
    fn each(&mut self, call: &Call, sent: Nanos, mut count: impl FnMut(&mut Tally)) {
        let inside = self.is_inside(sent);
        if call.who == Who::Attacker {
            if inside {
                count(&mut self.attackers);
            }
            return;
        }
        if let Some(second) = self.second(sent) {
            count(&mut second.ordinary);
        }
        if inside {
            count(&mut self.ordinary[usize::from(call.site)]);
            count(&mut self.paths[call.path as usize]);
            if age(call, sent) < NEW && call.born >= Nanos::from_secs_f64(self.window.from) {
                count(&mut self.newcomers);
            }
        } else if sent < Nanos::from_secs_f64(self.window.from) {
            count(&mut self.before);
        }
    }

    fn steady(&self) -> core::ops::Range<usize> {
        (self.window.from + ONSET) as usize..self.window.until as usize
    }

    /// The 95th percentile of answered ordinary calls, in ms: of the whole window, and of its steady part.
    pub fn p95(&self) -> [f64; 2] {
        [self.window.from, self.window.from + ONSET].map(|from| self.percentile(0.95, from))
    }

    /// Of ordinary calls of the first site that were sent from then on and answered, in ms. No number if there are none.
    pub fn percentile(&self, share: f64, from: f64) -> f64 {
        let sent_since = self.latencies.iter().filter(|(sent, _)| f64::from(*sent) >= from);
        let mut latencies: Vec<f32> = sent_since.map(|&(_, took)| took).collect();
        let Some(last) = latencies.len().checked_sub(1) else { return f64::NAN };
        let at = (latencies.len() as f64 * share) as usize;
        1000.0 * f64::from(*latencies.select_nth_unstable_by(at.min(last), f32::total_cmp).1)
    }

    /// Percent of the ordinary calls of all sites that were good, in the steady part.
    pub fn steady_goodput(&self) -> f64 {
        let seconds = self.seconds.iter().take(self.steady().end).skip(self.steady().start);
        let (offered, good) = seconds.fold((0, 0), |(offered, good), second| {
            (offered + second.ordinary.offered, good + second.ordinary.good)
        });
        100.0 * good as f64 / offered.max(1) as f64
    }

    /// Percent of all ordinary calls of the first site that were answered within so many ms.
    pub fn within(&self, ms: f64) -> f64 {
        let count = self.latencies.iter().filter(|&&(_, took)| f64::from(took) * 1000.0 <= ms).count();
        100.0 * count as f64 / self.ordinary[0].offered.max(1) as f64
    }

    /// Deviation of the work admitted in a second, over its mean, in the steady part.
    pub fn oscillation(&self) -> f64 {
        let work: Vec<f64> =
            self.seconds.iter().take(self.steady().end).skip(self.steady().start).map(|s| s.work).collect();
        let mean = work.iter().sum::<f64>() / work.len().max(1) as f64;
        let variance = work.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / work.len().max(1) as f64;
        if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
    }

    /// Ordinary calls of a path that were answered each second.
    pub fn served_per_second(&self, path: Path) -> f64 {
        self.paths[path as usize].answered as f64 / (self.window.until - self.window.from)
    }
}
