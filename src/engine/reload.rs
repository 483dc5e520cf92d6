//! Plans come and go while requests run: what is kept, what is made, what is forgotten.

use super::serving::Serving;
use super::{Engine, Instance, InstanceId, Scratch};
use crate::config::plan::{Origin, Plan, Supply};
use crate::detect::rules::Rules;
use crate::hash::{Family, Seed};
use crate::identity::subjects::Memos;
use crate::shared::Store;
use crate::telemetry::metrics::{Metrics, Series};
use crate::telemetry::webhook::Outbox;
use crate::time::Nanos;
use core::cmp::Reverse;
use std::rc::Rc;

impl<S: Store + Clone> Engine<S> {
    /// Puts a plan in force beside those that are, for the filter of this name. A reload configures the new plan, then
    /// retires the old one: in between, each request is judged by the plan of the configuration that Envoy sent it
    /// through, and a plan that Envoy drops again (its listener was refused for another reason) has judged nobody.
    /// Buckets keep their balance.
    pub fn configure(&mut self, name: &str, plan: Plan, now: Nanos) -> InstanceId {
        let now = self.read_clock(now);
        self.configured += 1;
        let mut instance = Instance {
            number: self.configured,
            name: name.into(),
            needs: plan.needs(),
            memos: Memos::new(&plan.keys),
            methods: digest(&plan.fingerprints),
            series: series(&plan, &mut self.metrics),
            plan: Rc::new(plan),
            rules: Rules::default(),
            outbox: Outbox::default(),
        };
        if let Some(serving) = &self.serving {
            instance.bind(serving);
        }
        let id = self.install(instance);
        self.take_on_latest(now);
        id
    }

    /// Ends a plan: no request comes for it any more. Where another one took its place, buckets of rules that no plan
    /// names any more go. Where none did, the module itself may be going, and its successor counts on in the ledger.
    pub fn retire(&mut self, id: InstanceId, now: Nanos) {
        let now = self.read_clock(now);
        let Some(mut gone) = self.instances.get_mut(id.0).and_then(Option::take) else { return };
        self.take_on_latest(now);
        self.hand_on_events(&mut gone, now);
        let mut others = self.instances.iter().flatten();
        if others.any(|other| other.name == gone.name && other.number > gone.number) {
            self.forget_rules_that_went(&gone);
        }
    }

    /// Is no plan in force?
    pub fn is_idle(&self) -> bool {
        self.instances.iter().all(Option::is_none)
    }

    fn install(&mut self, instance: Instance) -> InstanceId {
        match self.instances.iter_mut().enumerate().find(|(_, place)| place.is_none()) {
            Some((index, place)) => {
                *place = Some(instance);
                InstanceId(index)
            }
            None => {
                self.instances.push(Some(instance));
                InstanceId(self.instances.len() - 1)
            }
        }
    }

    /// All instances share what they know: the latest says how.
    fn take_on_latest(&mut self, now: Nanos) {
        let plans = self.plans();
        if let Some(serving) = &mut self.serving {
            serving.reconfigure(&plans, now);
        }
    }

    /// The plans in force, latest first.
    pub(super) fn plans(&self) -> Vec<Rc<Plan>> {
        let mut instances: Vec<_> = self.instances.iter().flatten().collect();
        instances.sort_unstable_by_key(|instance| Reverse(instance.number));
        instances.into_iter().map(|instance| Rc::clone(&instance.plan)).collect()
    }

    fn forget_rules_that_went(&mut self, gone: &Instance) {
        let Some(serving) = &mut self.serving else { return };
        let in_use = |tag: &u16| {
            let mut families = self.instances.iter().flatten().flat_map(|instance| instance.rules.families());
            families.any(|family| family.tag() == *tag) || serving.names.claim_tags().contains(tag)
        };
        let mut tags: Vec<u16> = gone.rules.families().iter().map(Family::tag).collect();
        tags.retain(|tag| !in_use(tag));
        if !tags.is_empty() {
            serving.exchange.forget(&tags);
        }
    }

    pub(super) fn instance(&self, id: InstanceId) -> Option<&Instance> {
        self.instances.get(id.0)?.as_ref()
    }

    /// Names the rules' buckets under the process's seed and epoch.
    pub(super) fn bind_instances(&mut self) {
        let Some(serving) = &self.serving else { return };
        self.instances.iter_mut().flatten().for_each(|instance| instance.bind(serving));
    }
}

impl Instance {
    fn bind<S: Store>(&mut self, serving: &Serving<S>) {
        let (seed, epoch) = serving.exchange.seed();
        self.rules = Rules::new(&self.plan.rules, &seed, epoch);
    }
}

/// Of names, places and origins. No secret, and no caller's doing: a fixed seed will do.
fn digest(supplies: &[Supply]) -> u64 {
    let mut hasher = Seed([0; 16]).hasher();
    for Supply { method, from } in supplies {
        let (kind, origin) = match from {
            Origin::State(path) => (1, path),
            Origin::Header(name) => (2, name),
        };
        hasher.part(0, method.name.as_bytes()).part(kind, origin.as_bytes());
    }
    hasher.finish()
}

/// The series of each rule, then of each tier.
fn series(plan: &Plan, metrics: &mut Metrics) -> Box<[Series]> {
    let rules = plan.rules.rules.iter().map(|rule| metrics.rule(&rule.name)).collect::<Vec<_>>();
    let tiers = plan.policy.tiers.iter().map(|tier| metrics.tier(tier.min_score)).collect::<Vec<_>>();
    [rules, tiers].concat().into()
}

impl Scratch {
    /// Room for what real requests bring, so that later ones allocate nothing.
    pub(super) fn reserved() -> Scratch {
        Scratch {
            path: Vec::with_capacity(4096),
            other_path: Vec::with_capacity(4096),
            subject: String::with_capacity(512),
            reason: String::with_capacity(1024),
            why: String::with_capacity(1024),
        }
    }
}
