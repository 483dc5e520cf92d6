//! What detectors that count know: who came how often, whose requests failed, who was seen before.

use crate::config::plan::Plan;
use crate::counters::sketch::Bound;
use crate::detect::Detector;
use crate::detect::novelty::Novelty;
use crate::exchange::counts::{self, Counts};
use crate::hash::{Family, Seed, SubjectHash};
use crate::shared::Store;
use crate::shared::names::Sharded;
use crate::time::Nanos;
use std::rc::Rc;

/// The counts of one worker, of each detector that some plan has: their memory is taken with that.
pub(super) struct Counting<S: Store> {
    store: S,
    seed: Seed,
    epoch: u32,
    /// By [`Detector`].
    limits: [Option<Watch<S>>; 3],
    pub novelty: Option<(Family, Novelty)>,
}

/// What is counted, and by what name its keys go.
struct Watch<S> {
    family: Family,
    counts: Counts<S>,
}

/// Counts of another tick mean nothing in this one, so the tick belongs to the name.
fn family(detector: Detector, tick: Nanos, seed: &Seed, epoch: u32) -> Family {
    Family::new(seed, epoch, detector.name(), &tick.0.to_string())
}

fn newcomers(seed: &Seed, epoch: u32) -> Family {
    Family::new(seed, epoch, "first_sighting", "client")
}

fn kind(detector: Detector) -> Sharded {
    match detector {
        Detector::Volume => Sharded::Volume,
        Detector::Wallet => Sharded::Wallet,
        Detector::Loops => Sharded::Loops,
    }
}

impl<S: Store + Clone> Counting<S> {
    /// Counts nothing yet.
    pub fn new(store: S, seed: &Seed, epoch: u32) -> Self {
        Counting { store, seed: *seed, epoch, limits: [None, None, None], novelty: None }
    }

    /// Takes on plans, latest first. All filters count in the same tables, by the ticks of the latest that has the detector.
    pub fn reconfigure(&mut self, plans: &[Rc<Plan>]) {
        for detector in Detector::ALL {
            let settings = plans.iter().find_map(|plan| plan.counts(detector));
            self.count_by(detector, settings);
        }
        let lines =
            plans.iter().find_map(|plan| plan.detectors.novelty.map(|_| plan.exchange.sketch_buckets));
        match (lines, &mut self.novelty) {
            (None, novelty) => *novelty = None,
            (Some(lines), Some((_, novelty))) => novelty.resize(lines),
            (Some(lines), novelty) => {
                *novelty = Some((newcomers(&self.seed, self.epoch), Novelty::new(lines)));
            }
        }
    }

    fn count_by(&mut self, detector: Detector, settings: Option<counts::Settings>) {
        let (seed, epoch, store) = (self.seed, self.epoch, &self.store);
        let Some(place) = self.limits.get_mut(detector as usize) else { return };
        let Some(settings) = settings else {
            *place = None;
            return;
        };
        let family = family(detector, settings.tick, &seed, epoch);
        match place {
            Some(watch) => {
                watch.family = family;
                watch.counts.reconfigure(settings);
            }
            None => {
                let counts = Counts::new(store.clone(), kind(detector), settings);
                *place = Some(Watch { family, counts });
            }
        }
    }
}

impl<S: Store> Counting<S> {
    /// Takes on the process's seed and epoch, under which nothing is known of anybody.
    pub fn rebind(&mut self, seed: &Seed, epoch: u32) {
        (self.seed, self.epoch) = (*seed, epoch);
        for (detector, watch) in Detector::ALL.into_iter().zip(&mut self.limits) {
            if let Some(Watch { family: name, counts }) = watch {
                *name = family(detector, counts.halving(), seed, epoch);
                counts.clear();
            }
        }
        if let Some((family, novelty)) = &mut self.novelty {
            *family = newcomers(seed, epoch);
            novelty.clear();
        }
    }

    /// Exchanges with the other workers, of which there are so many with this one.
    pub fn publish(&mut self, live: u32, now: Nanos) {
        self.share(live);
        self.limits.iter_mut().flatten().for_each(|watch| watch.counts.publish(now));
    }

    /// Says how many workers share the callers.
    pub fn share(&mut self, live: u32) {
        self.limits.iter_mut().flatten().for_each(|watch| watch.counts.share(live));
    }

    /// Newcomers per second here, to be told to the others.
    pub fn newcomers(&mut self, now: Nanos) -> u32 {
        self.novelty.as_mut().map_or(0, |(_, novelty)| novelty.tell(now))
    }

    /// Newcomers per second at the others.
    pub fn hear(&mut self, newcomers: u32) {
        if let Some((_, novelty)) = &mut self.novelty {
            novelty.hear(newcomers);
        }
    }

    /// The counts of a detector.
    pub fn counts(&self, detector: Detector) -> Option<&Counts<S>> {
        self.limits.get(detector as usize)?.as_ref().map(|watch| &watch.counts)
    }

    /// Who was seen before.
    pub fn novelty(&self) -> Option<&Novelty> {
        self.novelty.as_ref().map(|(_, novelty)| novelty)
    }

    /// The time in which counts of a detector halve: that of the latest filter which has it. `asked`: one filter's own.
    pub fn halving(&self, detector: Detector, asked: Nanos) -> Nanos {
        self.counts(detector).map_or(asked, Counts::halving)
    }

    /// One more event of a subject: what it comes to.
    pub fn observe(&mut self, detector: Detector, subject: SubjectHash, bound: &Bound, now: Nanos) -> u32 {
        let watch = self.limits.get_mut(detector as usize).and_then(Option::as_mut);
        watch.map_or(0, |watch| watch.counts.observe(watch.family.key(subject), bound, now))
    }

    /// What a subject's events come to.
    pub fn look(&self, detector: Detector, subject: SubjectHash, now: Nanos) -> u32 {
        let watch = self.limits.get(detector as usize).and_then(Option::as_ref);
        watch.map_or(0, |watch| watch.counts.look(watch.family.key(subject), now))
    }
}
