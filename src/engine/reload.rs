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
    /// Puts a plan in force beside those that are, for the filter of this name. A reload configures the new plan, then
    /// retires the old one: in between, each request is judged by the plan of the configuration that Envoy sent it
    /// through, and a plan that Envoy drops again (its listener was refused for another reason) has judged nobody.
    /// Buckets keep their balance.
    pub fn configure(&mut self, name: &str, plan: Plan, now: Nanos) -> InstanceId {
        let now = self.read_clock(now);
        let series = plan.rules.rules.iter().map(|rule| self.metrics.rule(&rule.name)).collect();
        self.configured += 1;
        let mut instance = Instance {
            number: self.configured,
            name: name.into(),
            needs: plan.needs(),
            plan: Rc::new(plan),
            rules: Rules::default(),
            series,
        };
        if let Some(serving) = &self.serving {
            instance.bind(serving);
        }
        let id = self.install(instance);
        self.take_on_exchange_settings(now);
        id
    }

    /// Ends a plan: no request comes for it any more. Where another one took its place, buckets of rules that no plan
    /// names any more go. Where none did, the module itself may be going, and its successor counts on in the ledger.
    pub fn retire(&mut self, id: InstanceId, now: Nanos) {
        let now = self.read_clock(now);
        let Some(gone) = self.instances.get_mut(id.0).and_then(Option::take) else { return };
        self.take_on_exchange_settings(now);
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

    /// All instances share one exchange: the latest says how.
    fn take_on_exchange_settings(&mut self, now: Nanos) {
        let latest = self.instances.iter().flatten().max_by_key(|instance| instance.number);
        if let (Some(latest), Some(serving)) = (latest, &mut self.serving) {
            serving.exchange.reconfigure(latest.plan.exchange, now);
        }
    }

    fn forget_rules_that_went(&mut self, gone: &Instance) {
        let Some(serving) = &mut self.serving else { return };
        let in_use = |tag: &u16| {
            let mut families = self.instances.iter().flatten().flat_map(|instance| instance.rules.families());
            families.any(|family| family.tag() == *tag) || serving.log_claims.tag() == *tag
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

    /// Makes the tables when the first stream comes.
    pub(super) fn serve(&mut self, id: InstanceId, now: Nanos) {
        if self.serving.is_some() {
            return;
        }
        let Some(instance) = self.instance(id) else { return };
        let exchange = Exchange::new(self.store.clone(), instance.plan.exchange, self.own, now);
        self.serving = Some(Serving::new(exchange));
        self.scratch = Scratch::reserved();
        self.bind_instances();
    }

    /// Names all families anew after the process's seed or epoch changed.
    pub(super) fn rebind(&mut self) {
        if let Some(serving) = &mut self.serving {
            serving.log_claims = log_claims(&serving.exchange);
            serving.lines = Nanos::ZERO; // the clock may be another
        }
        self.bind_instances();
    }

    fn bind_instances(&mut self) {
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

impl<S: Store> Serving<S> {
    fn new(exchange: Exchange<S>) -> Serving<S> {
        Serving { log_claims: log_claims(&exchange), exchange, lines: Nanos::ZERO, met_suspect: false }
    }
}

fn log_claims<S: Store>(exchange: &Exchange<S>) -> Family {
    let (seed, epoch) = exchange.seed();
    Family::new(&seed, epoch, "log", "client")
}

impl Scratch {
    /// Room for what real requests bring, so that later ones allocate nothing.
    fn reserved() -> Scratch {
        Scratch {
            path: Vec::with_capacity(4096),
            other_path: Vec::with_capacity(4096),
            subject: String::with_capacity(512),
            reason: String::with_capacity(640),
        }
    }
}
