//! What only a worker that serves has: the main thread's VM is configured and ticks, but never sees a stream.

use super::Engine;
use super::counting::Counting;
use crate::bans::{Bans, Era};
use crate::challenge::secret::Secret;
use crate::config::plan::Plan;
use crate::counters::bucket::{Charge, Quota};
use crate::detect::misses::Misses;
use crate::detect::surge::Surge;
use crate::exchange::sums::Sums;
use crate::exchange::{Exchange, Gauges, Own};
use crate::hash::{Family, Seed};
use crate::policy::ledger::Ledger;
use crate::policy::quota::Quotas;
use crate::policy::tarpit::{self, Tarpit};
use crate::shared::Store;
use crate::time::Nanos;
use std::rc::Rc;

/// All that one worker knows of its callers.
pub(super) struct Serving<S: Store> {
    store: S,
    pub exchange: Exchange<S>,
    pub sums: Sums<S>,
    pub bans: Bans<S>,
    /// `None` where no plan learns: its table takes memory.
    pub surge: Option<Surge<S>>,
    pub counting: Counting<S>,
    /// `None` where no plan challenges.
    pub misses: Option<Misses>,
    numbers: Numbers,
    pub tarpit: Tarpit,
    tarpit_settings: tarpit::Settings,
    pub names: Names,
    /// The bucket of the lines that this worker writes, but for those of bans, which have one of their own.
    pub lines: Nanos,
    pub ban_lines: Nanos,
    /// The bucket of all notices that it sends.
    notices: Nanos,
    /// Has this worker met a proxy's address where a client's should be?
    pub met_suspect: bool,
    /// Refusals charged to the ledger.
    pub charges: u64,
    interval: Nanos,
    next_exchange: Nanos,
}

/// What things are known by among the workers, under the process's seed and epoch.
pub(super) struct Names {
    /// What was logged lately: a bucket of one per interval, so that the interval is the process's.
    pub log_claims: Family,
    pub surge_claims: Family,
    pub lapse_claims: Family,
    pub challenge_claims: Family,
    pub bans: Family,
    pub quotas: Quotas,
    pub ledger: Ledger,
    pub clearances: Family,
    /// What the process signs with where the operator has no secret.
    pub secret: Secret,
}

/// Numbers that nobody can tell beforehand, each once.
struct Numbers {
    seed: Seed,
    nonce: u64,
    count: u64,
}

impl Names {
    fn new(seed: &Seed, epoch: u32, quota_window: Nanos) -> Names {
        let family = |kind, name| Family::new(seed, epoch, kind, name);
        Names {
            log_claims: family("log", "client"),
            surge_claims: family("log", "surge"),
            lapse_claims: family("log", "lapse"),
            challenge_claims: family("log", "challenge"),
            bans: family("ban", ""),
            quotas: Quotas::new(seed, epoch, quota_window),
            ledger: Ledger::new(seed, epoch),
            clearances: family("challenge", "clearance"),
            secret: Secret::of_process(&seed.0),
        }
    }

    /// Tags of what is counted in the exchange for nobody's rule.
    pub fn claim_tags(&self) -> [u16; 5] {
        [self.log_claims, self.surge_claims, self.lapse_claims, self.challenge_claims, self.clearances]
            .map(|family| family.tag())
    }
}

/// Bytes of a notice to another worker: which shards of the bans to read.
pub const NOTICE_BYTES: usize = size_of::<u64>();

/// Notices that a worker sends: 100 a second, 20 at once. What is not sent now goes out with one that is sent later, at
/// the next tick at the latest, so a worker that is gone finds at most some hundreds in its queue.
const NOTICES: Quota = Quota { interval: Nanos::from_millis(10), burst: 20, charge: Charge::Admitted };

impl<S: Store + Clone> Serving<S> {
    pub fn new(store: &S, plan: &Plan, own: Own, now: Nanos) -> Serving<S> {
        let exchange = Exchange::new(store.clone(), plan.exchange, own, now);
        let (seed, epoch) = exchange.seed();
        Serving {
            store: store.clone(),
            names: Names::new(&seed, epoch, plan.policy.quota.window),
            sums: Sums::new(store.clone()),
            bans: Bans::new(store.clone(), plan.bans, Era::of(&seed, epoch), now),
            surge: None,
            counting: Counting::new(store.clone(), &seed, epoch),
            misses: None,
            numbers: Numbers { seed: Seed(own.seed), nonce: own.nonce, count: 0 },
            tarpit: Tarpit::new(&plan.tarpit_room()),
            tarpit_settings: plan.tarpit_room(),
            exchange,
            lines: Nanos::ZERO,
            ban_lines: Nanos::ZERO,
            notices: Nanos::ZERO,
            met_suspect: false,
            charges: 0,
            interval: plan.exchange.interval,
            next_exchange: now,
        }
    }

    /// Takes on what all instances share from the latest of their plans, the first of these. What it has no use for stays
    /// while another has: filters differ, and Envoy goes back to a configuration that it still has without a word.
    pub fn reconfigure(&mut self, plans: &[Rc<Plan>], now: Nanos) {
        let Some(latest) = plans.first() else { return };
        self.exchange.reconfigure(latest.exchange, now);
        self.bans.reconfigure(latest.bans, now);
        self.learn_by(plans, now);
        self.counting.reconfigure(plans);
        self.counting.share(self.exchange.live(now));
        let challenges = plans.iter().any(|plan| plan.policy.challenges());
        self.misses = if challenges { Some(self.misses.take().unwrap_or_default()) } else { None };
        if self.names.quotas.window() != latest.policy.quota.window {
            let (seed, epoch) = self.exchange.seed();
            self.names.quotas = Quotas::new(&seed, epoch, latest.policy.quota.window);
        }
        self.interval = latest.exchange.interval;
        let rooms = plans.iter().map(|plan| plan.tarpit_room());
        self.tarpit_settings = rooms.max_by_key(|room| room.max_concurrent).unwrap_or(latest.tarpit_room());
        self.tarpit.resize(&self.tarpit_settings);
    }

    /// All plans learn in one table, by the terms of the latest of those that learn.
    fn learn_by(&mut self, plans: &[Rc<Plan>], now: Nanos) {
        let learning = || plans.iter().filter_map(|plan| Some((plan, plan.traffic.as_ref()?)));
        let together =
            learning().map(|(_, traffic)| traffic.clone()).reduce(|latest, older| latest.and(&older));
        let (Some((plan, _)), Some(settings)) = (learning().next(), together) else {
            self.surge = None;
            return;
        };
        let (seed, epoch) = self.exchange.seed();
        match &mut self.surge {
            Some(surge) => surge.reconfigure(plan.traffic_sizes, settings, now),
            None => {
                let surge = Surge::new(self.store.clone(), plan.traffic_sizes, settings, &seed, epoch);
                self.surge = Some(surge);
            }
        }
    }

    /// Is it time to exchange? A tick may come a little early.
    pub fn exchange_is_due(&self, now: Nanos) -> bool {
        now + Nanos(self.interval.0 / 8) >= self.next_exchange
    }

    /// Exchanges with the other workers. Says whether all names are other ones now.
    pub fn tick(&mut self, gauges: Gauges, now: Nanos) -> bool {
        self.next_exchange = now + self.interval;
        let claim = self.tarpit.claim(&self.tarpit_settings, self.exchange.live(now));
        let newcomers = self.counting.newcomers(now);
        let tick = self.exchange.tick(now, Gauges { held: claim, newcomers, ..gauges });
        self.tarpit.grant(&self.tarpit_settings, claim, tick.others.held);
        if tick.reseeded {
            self.forget();
        }
        self.counting.hear(tick.others.newcomers);
        self.counting.publish(self.exchange.live(now), now);
        self.bans.tick(now);
        if let Some(surge) = &mut self.surge {
            surge.share(self.exchange.live(now));
            surge.tick(now);
        }
        tick.reseeded
    }

    /// Forgets everything of the process: the clock is another.
    pub fn clear(&mut self) {
        self.exchange.clear();
        self.forget();
    }

    /// Takes on the process's names, under which nothing is known yet.
    fn forget(&mut self) {
        let (seed, epoch) = self.exchange.seed();
        self.names = Names::new(&seed, epoch, self.names.quotas.window());
        self.sums.clear();
        self.bans.clear(Era::of(&seed, epoch));
        if let Some(surge) = &mut self.surge {
            surge.rebind(&seed, epoch);
        }
        self.counting.rebind(&seed, epoch);
        self.misses = self.misses.take().map(|_| Misses::default());
        self.tarpit.release_all();
        (self.lines, self.ban_lines) = (Nanos::ZERO, Nanos::ZERO); // the clock may be another
        self.notices = Nanos::ZERO;
        self.next_exchange = Nanos::ZERO;
    }

    /// The shards of bans that the other workers should read, if there are any and a notice may be sent.
    fn news(&mut self, now: Nanos) -> Option<[u8; NOTICE_BYTES]> {
        if !NOTICES.admits(self.notices, now) {
            return None;
        }
        let news = self.bans.take_news();
        if news == 0 {
            return None;
        }
        self.notices = NOTICES.charged(self.notices, now);
        Some(news.to_le_bytes())
    }
}

impl<S: Store> Serving<S> {
    /// A number that was not there before.
    pub fn next_number(&mut self) -> u64 {
        self.numbers.count += 1;
        let mut hasher = self.numbers.seed.hasher();
        hasher.number(self.numbers.nonce).number(self.numbers.count).finish()
    }
}

impl<S: Store + Clone> Engine<S> {
    /// Makes the tables when the first stream comes.
    pub(super) fn serve(&mut self, id: super::InstanceId, now: Nanos) {
        if self.serving.is_some() {
            return;
        }
        let plans = self.plans();
        let (Some(_), Some(latest)) = (self.instance(id), plans.first()) else { return };
        let mut serving = Serving::new(&self.store, latest, self.own, now);
        serving.reconfigure(&plans, now);
        self.serving = Some(serving);
        self.scratch = super::Scratch::reserved();
        self.bind_instances();
    }

    /// Hands a notice of new bans to `send(queue, notice)` for each other worker's queue.
    pub fn notify(&mut self, mut send: impl FnMut(u32, &[u8; NOTICE_BYTES])) {
        let now = self.clock.last();
        let Some(serving) = &mut self.serving else { return };
        let Some(news) = serving.news(now) else { return };
        serving.exchange.queues().for_each(|queue| send(queue, &news));
    }

    /// A notice of another worker's. Bytes of any other form are nobody's.
    pub fn hear(&mut self, notice: &[u8], now: Nanos) {
        let now = self.read_clock(now);
        let Some(serving) = &mut self.serving else { return };
        if let (Some(shards), NOTICE_BYTES) = (notice.first_chunk(), notice.len()) {
            serving.bans.hear(u64::from_le_bytes(*shards), now);
        }
    }

    /// The place that this worker has among those of the process, by which its queue is named. `None`: it serves nobody.
    pub fn place(&self) -> Option<usize> {
        self.serving.as_ref()?.exchange.place()
    }

    /// Tells the others through which queue this worker hears.
    pub fn set_queue(&mut self, queue: u32) {
        if let Some(serving) = &mut self.serving {
            serving.exchange.set_queue(queue);
        }
    }

    /// Lifts a ban, on all workers. Says whether there was one.
    pub fn unban(&mut self, subject: crate::hash::SubjectHash, now: Nanos) -> bool {
        let now = self.read_clock(now);
        let Some(serving) = &mut self.serving else { return false };
        serving.bans.unban(serving.names.bans.key(subject), now)
    }
}
