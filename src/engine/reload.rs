//! Plans come and go while requests run: what is kept, what is made, what is forgotten.

use super::{Engine, Instance, InstanceId, Scratch, Serving};
use crate::config::plan::Plan;
use crate::detect::rules::Rules;
use crate::exchange::Exchange;
use crate::hash::Family;
use crate::shared::Store;
use crate::time::Nanos;
use std::rc::Rc;

impl<S: Store + Clone> Engine<S> {
    /// Puts a plan in force for the filter of this name. Buckets keep their balance; those of rules that no plan
    /// names any more go.
    pub fn configure(&mut self, name: &str, plan: Plan, now: Nanos) -> InstanceId {
        let now = self.read_clock(now);
        let series = plan.rules.rules.iter().map(|rule| self.metrics.rule(&rule.name)).collect();
        let mut instance =
            Instance { name: name.into(), plan: Rc::new(plan), rules: Rules::default(), series };
        if let Some(serving) = &mut self.serving {
            instance.bind(serving);
            serving.exchange.reconfigure(instance.plan.exchange, now);
        }
        let (id, before) = self.install(instance);
        if let Some(before) = before {
            self.forget_rules_that_went(&before);
        }
        id
    }

    fn install(&mut self, instance: Instance) -> (InstanceId, Option<Instance>) {
        match self.instances.iter_mut().enumerate().find(|(_, known)| known.name == instance.name) {
            Some((index, known)) => (InstanceId(index), Some(core::mem::replace(known, instance))),
            None => {
                self.instances.push(instance);
                (InstanceId(self.instances.len() - 1), None)
            }
        }
    }

    fn forget_rules_that_went(&mut self, before: &Instance) {
        let Some(serving) = &mut self.serving else { return };
        let in_use = |tag: &u16| {
            let mut families = self.instances.iter().flat_map(|instance| instance.rules.families());
            families.any(|family| family.tag() == *tag) || serving.log_claims.tag() == *tag
        };
        let mut gone: Vec<u16> = before.rules.families().iter().map(Family::tag).collect();
        gone.retain(|tag| !in_use(tag));
        if !gone.is_empty() {
            serving.exchange.forget(&gone);
        }
    }

    /// The plan in force for a filter.
    pub fn plan(&self, id: InstanceId) -> Option<&Rc<Plan>> {
        self.instances.get(id.0).map(|instance| &instance.plan)
    }

    /// Makes the tables when the first stream comes.
    pub(super) fn serve(&mut self, id: InstanceId, now: Nanos) {
        if self.serving.is_some() {
            return;
        }
        let Some(plan) = self.plan(id).cloned() else { return };
        let exchange = Exchange::new(self.store.clone(), plan.exchange, self.own, now);
        self.serving = Some(Serving::new(exchange));
        self.scratch = Scratch::reserved();
        self.rebind();
    }

    /// Names all families anew after the process's seed or epoch changed.
    pub(super) fn rebind(&mut self) {
        let Some(serving) = &mut self.serving else { return };
        serving.rename();
        self.instances.iter_mut().for_each(|instance| instance.bind(serving));
    }
}

impl Instance {
    fn bind<S: Store>(&mut self, serving: &Serving<S>) {
        self.rules = Rules::new(&self.plan.rules, &serving.seed, serving.epoch);
    }
}

impl<S: Store> Serving<S> {
    fn new(exchange: Exchange<S>) -> Serving<S> {
        let (seed, epoch) = exchange.seed();
        Serving { exchange, seed, epoch, log_claims: log_claims(&seed, epoch), met_suspect: false }
    }

    fn rename(&mut self) {
        (self.seed, self.epoch) = self.exchange.seed();
        self.log_claims = log_claims(&self.seed, self.epoch);
    }
}

fn log_claims(seed: &crate::hash::Seed, epoch: u32) -> Family {
    Family::new(seed, epoch, "log", "client")
}

impl Scratch {
    /// Room for what real requests bring, so that later ones allocate nothing.
    fn reserved() -> Scratch {
        Scratch {
            path: Vec::with_capacity(4096),
            subject: String::with_capacity(512),
            reason: String::with_capacity(640),
        }
    }
}
