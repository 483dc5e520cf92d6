//! What detectors that count have to say: who comes too often, who repeats what fails, who is new.

use super::serving::Serving;
use crate::config::plan::{Armed, Plan};
use crate::detect::novelty::Novelty;
use crate::detect::signal::Signal;
use crate::detect::volume::Band;
use crate::detect::{Detector, loops};
use crate::exchange::counts::{self, Counts};
use crate::hash::{Family, Seed, SubjectHash};
use crate::identity::subjects::{Keys, Subjects};
use crate::policy::{Action, Actions, Cause, Counted, Limit, Response, Ruling, Rulings};
use crate::request::Request;
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
    novelty: Option<(Family, Novelty)>,
}

/// What is counted, and by what name its keys go.
struct Watch<S> {
    family: Family,
    counts: Counts<S>,
}

/// A request whose end is to be learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watched {
    /// The caller and the path.
    pub subject: SubjectHash,
    /// Does its answer fail by a status of its own?
    pub is_grpc: bool,
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

    /// One more event of a subject: what it comes to.
    fn observe(&mut self, detector: Detector, subject: SubjectHash, now: Nanos) -> u32 {
        let watch = self.limits.get_mut(detector as usize).and_then(Option::as_mut);
        watch.map_or(0, |watch| watch.counts.observe(watch.family.key(subject), now))
    }

    /// What a subject's events come to.
    fn look(&self, detector: Detector, subject: SubjectHash, now: Nanos) -> u32 {
        let watch = self.limits.get(detector as usize).and_then(Option::as_ref);
        watch.map_or(0, |watch| watch.counts.look(watch.family.key(subject), now))
    }
}

impl<S: Store> Serving<S> {
    /// The rulings of detectors that answer by themselves compete with those of rules: the more severe one stays. What comes
    /// back is to be learned from, should the request go on to the upstream.
    pub fn limit(
        &mut self,
        plan: &Plan,
        request: &Request,
        subjects: &mut Subjects,
        rulings: &mut Rulings,
        now: Nanos,
    ) -> Option<Watched> {
        for detector in [Detector::Volume, Detector::Wallet] {
            if let Some(ruling) = self.excess(plan, detector, subjects, now) {
                rulings.compete(ruling);
            }
        }
        let breaker = plan.detectors.loops?;
        let subject = attempt(request, subjects)?;
        if let Some(ruling) = self.open(&breaker, subject, now) {
            rulings.compete(ruling);
        }
        Some(Watched { subject, is_grpc: request.is_grpc() })
    }

    /// Somebody comes too often.
    fn excess(
        &mut self,
        plan: &Plan,
        detector: Detector,
        subjects: &mut Subjects,
        now: Nanos,
    ) -> Option<Ruling> {
        let Armed { settings, mode } = plan.bands(detector)?;
        let subject = subjects.get(settings.key)?;
        let estimate = self.counting.observe(detector, subject, now);
        let excess = settings.judge(estimate, now)?;
        let answer = match excess.band {
            Band::Tarpit => Action::Tarpit,
            Band::Drop => Action::Throttle,
        };
        Some(Ruling {
            cause: Cause::Detector(detector),
            response: Response { mode, actions: Actions { log: true, ..Actions::only(answer) } },
            counted: Some(Counted { key: settings.key, subject }),
            limit: Some(Limit { requests: settings.steady(), window: settings.tick, wait: excess.wait }),
        })
    }

    /// Somebody repeats what fails.
    fn open(&self, breaker: &Armed<loops::Settings>, subject: SubjectHash, now: Nanos) -> Option<Ruling> {
        let Armed { settings, mode } = *breaker;
        let failures = self.counting.look(Detector::Loops, subject, now);
        let wait = settings.open(failures, subject, now)?;
        Some(Ruling {
            cause: Cause::Detector(Detector::Loops),
            response: Response { mode, actions: Actions { log: true, ..Actions::only(Action::Shed) } },
            counted: Some(Counted { key: settings.key, subject }),
            limit: Some(Limit { requests: settings.threshold, window: settings.tick, wait }),
        })
    }

    /// An attempt has failed.
    pub fn learn_failure(&mut self, watched: &Watched, now: Nanos) {
        self.counting.observe(Detector::Loops, watched.subject, now);
    }

    /// The client was not seen before, as are many now.
    pub fn newcomer(&mut self, plan: &Plan, subjects: &mut Subjects, now: Nanos) -> Option<Signal> {
        let Armed { settings, .. } = plan.detectors.novelty?;
        let client = subjects.get(Keys::CLIENT)?;
        let (family, novelty) = self.counting.novelty.as_mut()?;
        novelty.observe(&settings, family.key(client), client, now)
    }
}

/// Who asks for what, as a breaker knows it: the client and its credential, as far as each is known, on this host and path.
/// Two who share an address or a credential have each their own.
fn attempt(request: &Request, subjects: &mut Subjects) -> Option<SubjectHash> {
    let [client, consumer] = [Keys::CLIENT, Keys::CONSUMER].map(|key| subjects.get(key));
    client.or(consumer)?;
    let mut hasher = subjects.seed().hasher();
    for part in [client, consumer] {
        hasher.number(part.map_or(0, |subject| subject.0));
    }
    let mut host = [0; MAX_HOST];
    hasher
        .part(0, lower_case(request.authority().unwrap_or_default(), &mut host))
        .part(1, subjects.caller.path?);
    Some(SubjectHash(hasher.finish()))
}

/// No name is longer, and a port.
const MAX_HOST: usize = 264;

/// A host as all who mean it write it.
fn lower_case<'a>(host: &[u8], out: &'a mut [u8; MAX_HOST]) -> &'a [u8] {
    let length = host.len().min(MAX_HOST);
    let (Some(out), Some(host)) = (out.get_mut(..length), host.get(..length)) else { return &[] };
    out.copy_from_slice(host);
    out.make_ascii_lowercase();
    out
}
