//! What detectors that count have to say: who comes too often, who repeats what fails, who is new.

use super::serving::Serving;
use crate::config::plan::{Armed, Plan};
use crate::counters::sketch::Bound;
use crate::detect::signal::Signal;
use crate::detect::volume::Band;
use crate::detect::{Detector, loops, volume};
use crate::hash::SubjectHash;
use crate::identity::subjects::{Keys, Subjects};
use crate::policy::{Action, Actions, Cause, Counted, Limit, Response, Ruling, Rulings};
use crate::request::Request;
use crate::shared::Store;
use crate::time::Nanos;

/// A request whose end is to be learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watched {
    /// The caller and the path.
    pub subject: SubjectHash,
    /// What failures are counted for.
    pub bound: Bound,
    /// Does its answer fail by a status of its own?
    pub is_grpc: bool,
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
        let subject = breaker.settings.whose(attempt(request, subjects)?);
        if let Some(ruling) = self.open(&breaker, subject, now) {
            rulings.compete(ruling);
        }
        Some(Watched { subject, bound: breaker.settings.bound(), is_grpc: request.is_grpc() })
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
        let settings = volume::Settings { tick: self.counting.halving(detector, settings.tick), ..settings };
        let subject = subjects.get(settings.key)?;
        let estimate = self.counting.observe(detector, subject, &settings.bound(), now);
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
        let settings =
            loops::Settings { tick: self.counting.halving(Detector::Loops, settings.tick), ..settings };
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
        self.counting.observe(Detector::Loops, watched.subject, &watched.bound, now);
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
