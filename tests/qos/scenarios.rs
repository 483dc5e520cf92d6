//! The situations that guards are put in. All last 80 seconds, if nothing else is said, of which the last minute counts.

use crate::clients::{Attack, Crowd, Kind};
use crate::report::Window;
use crate::upstream::{Discipline, During, Site, Trouble};
use crate::world::{Costs, GivesUp, Scenario};

/// What ordinary people need of the upstream, in parts of its capacity.
pub const ORDINARY: f64 = 0.55;

const SERVERS: usize = 16;
const PEOPLE: usize = 300;
const MINUTE: Window = Window { from: 20.0, until: 80.0 };
const ALWAYS: During = During(0.0, 1e9);

/// The target of nearly all runs. Expensive calls take longer than this by themselves.
pub const DELAY_MS: f64 = 300.0;
const TARGET: &str =
    r#"{"match": {"path_prefix": "/"}, "qos": 50, "qos_delay": {"percentile": 95, "ms": 300}}"#;

/// Weir's configuration with these targets, and `more` sections.
fn config(targets: &str, more: &str) -> String {
    format!(
        r#"{{"mode": "enforce", "traffic": null, "qos": {{"default": 50, "targets": [{targets}]}}{more}}}"#
    )
}

/// Ordinary people only, who need such a part of the capacity.
pub fn calm(seed: u64, load: f64) -> Scenario {
    Scenario {
        seed,
        crowds: vec![crowd(load, PEOPLE)],
        attack: None,
        upstreams: vec![Site { servers: SERVERS, discipline: Discipline::Fifo, troubles: Vec::new() }],
        workers: 1,
        costs: None,
        retries: 0.0,
        gives_up: GivesUp::Client,
        rated: None,
        window: MINUTE,
        config: config(TARGET, ""),
    }
}

/// Attackers who bring what is missing to so many times the capacity.
pub fn attacked(seed: u64, kind: Kind, load: f64) -> Scenario {
    let ordinary = load.min(ORDINARY);
    calm(seed, ordinary).with_attack(kind, load - ordinary)
}

fn crowd(load: f64, people: usize) -> Crowd {
    let work = load * SERVERS as f64;
    Crowd { site: 0, upstream: 0, from: 0.0, people, work, exports: false, files: false }
}

/// So many people that each comes as often as the 300 usually do.
fn more_people(load: f64) -> Crowd {
    crowd(load, (PEOPLE as f64 * load / ORDINARY).round() as usize)
}

impl Scenario {
    fn with_attack(mut self, kind: Kind, load: f64) -> Scenario {
        self.crowds[0].exports = kind.is_hidden();
        self.crowds[0].files = kind == Kind::Bytes;
        if load > 0.0 {
            self.attack = Some(Attack {
                kind,
                work: load * self.upstreams[0].servers as f64,
                from: self.window.from,
                until: self.window.until,
                over: 0.0,
                worker: None,
            });
        }
        self
    }

    /// As it is, with so many servers and as many people for each.
    fn scaled(mut self, servers: usize) -> Scenario {
        let by = servers as f64 / self.upstreams[0].servers as f64;
        self.upstreams[0].servers = servers;
        for crowd in &mut self.crowds {
            crowd.people = (crowd.people as f64 * by).round() as usize;
            crowd.work *= by;
        }
        if let Some(attack) = &mut self.attack {
            attack.work *= by;
        }
        self
    }

    pub fn with_trouble(mut self, trouble: Trouble) -> Scenario {
        self.upstreams[0].troubles.push(trouble);
        self
    }

    fn sharing(mut self) -> Scenario {
        self.upstreams[0].discipline = Discipline::Sharing;
        self
    }

    pub fn behind(self, workers: usize) -> Scenario {
        Scenario { workers, ..self }
    }

    /// Window and attack begin then instead.
    fn starting_at(mut self, from: f64) -> Scenario {
        let length = self.window.until - self.window.from;
        self.window = Window { from, until: from + length };
        if let Some(attack) = &mut self.attack {
            (attack.from, attack.until) = (self.window.from, self.window.until);
        }
        self
    }

    /// Shorter, where time is dear.
    pub fn lasting(mut self, seconds: f64) -> Scenario {
        self.window.until = self.window.from + seconds;
        if let Some(attack) = &mut self.attack {
            attack.until = self.window.until;
        }
        self
    }
}

/// The upstream slows down to three times its times within 50 seconds, and stays so slow.
pub fn drift(seed: u64) -> Scenario {
    calm(seed, ORDINARY).with_trouble(Trouble::Drift(During(20.0, 70.0), 3.0))
}

/// Ten seconds of errors.
pub fn outage(seed: u64) -> Scenario {
    calm(seed, ORDINARY).with_trouble(Trouble::Errors(During(35.0, 45.0)))
}

/// Ten seconds of nothing.
pub fn hang(seed: u64, gives_up: GivesUp) -> Scenario {
    Scenario { gives_up, ..calm(seed, ORDINARY).with_trouble(Trouble::Hang(During(35.0, 45.0))) }
}

/// The upstream is far away, so many seconds.
pub fn far(seed: u64, seconds: f64) -> Scenario {
    calm(seed, ORDINARY).with_trouble(Trouble::Delay(ALWAYS, seconds))
}

pub fn far_and_attacked(seed: u64, seconds: f64) -> Scenario {
    attacked(seed, Kind::Expensive(5.0), 3.0).with_trouble(Trouble::Delay(ALWAYS, seconds))
}

/// It is far away for 40 seconds.
pub fn away(seed: u64, seconds: f64) -> Scenario {
    calm(seed, ORDINARY).with_trouble(Trouble::Delay(During(30.0, 70.0), seconds))
}

/// It has been far away for 40 seconds when attackers come.
pub fn away_and_attacked(seed: u64) -> Scenario {
    let delay = Trouble::Delay(During(20.0, 1e9), 0.4);
    attacked(seed, Kind::Expensive(1.0), 3.0).starting_at(60.0).with_trouble(delay)
}

/// Attackers come one second after the proxy has started.
pub fn cold(seed: u64) -> Scenario {
    attacked(seed, Kind::Expensive(1.0), 3.0).starting_at(1.0)
}

/// All requests share the servers.
pub fn shared_servers(seed: u64, kind: Kind) -> Scenario {
    attacked(seed, kind, 3.0).sharing()
}

pub fn shared_servers_calm(seed: u64, load: f64) -> Scenario {
    calm(seed, load).sharing()
}

/// As many times the capacity of an upstream of another size.
pub fn sized(seed: u64, kind: Kind, servers: usize) -> Scenario {
    attacked(seed, kind, 3.0).scaled(servers)
}

pub fn sized_calm(seed: u64, load: f64, servers: usize) -> Scenario {
    calm(seed, load).scaled(servers)
}

/// Refused people try once more, most of them.
pub fn retrying(seed: u64, kind: Kind, load: f64) -> Scenario {
    Scenario { retries: 0.7, ..attacked(seed, kind, load) }
}

/// Attackers come one after the other, over half a minute.
pub fn arriving(seed: u64, kind: Kind, load: f64) -> Scenario {
    let mut scenario = attacked(seed, kind, load);
    if let Some(attack) = &mut scenario.attack {
        attack.over = 30.0;
    }
    scenario
}

/// People alone ask for twice the capacity. One path has this QoS, and maybe a rate that it always gets.
pub fn important(seed: u64, qos: u8, qos_rps: Option<u32>) -> Scenario {
    let mut scenario = calm(seed, ORDINARY);
    scenario.crowds.push(Crowd { from: scenario.window.from, ..more_people(2.0 - ORDINARY) });
    let rps = qos_rps.map(|rps| format!(r#", "qos_rps": {rps}"#)).unwrap_or_default();
    let delay = r#""qos_delay": {"percentile": 95, "ms": 300}"#;
    let page = format!(r#"{{"match": {{"path_prefix": "/page"}}, "qos": {qos}{rps}, {delay}}}"#);
    scenario.config = config(&format!("{page}, {TARGET}"), "");
    scenario
}

/// Two sites, one of which is attacked. The other has the same upstream, or one of its own, and this QoS.
pub fn two_targets(seed: u64, kind: Kind, other: Other) -> Scenario {
    let (load, upstream, qos) = match other {
        Other::Shares(qos) => (ORDINARY / 2.0, 0, qos),
        Other::Apart => (ORDINARY, 1, 50),
    };
    let mut scenario = calm(seed, load);
    scenario.crowds = vec![more_people(load), Crowd { site: 1, upstream, ..more_people(load) }];
    scenario = scenario.with_attack(kind, 3.0 - ORDINARY);
    if upstream == 1 {
        let own = scenario.upstreams[0].clone();
        scenario.upstreams.push(own);
    }
    let delay = r#""qos_delay": {"percentile": 95, "ms": 300}"#;
    let target = format!(r#"{{"match": {{"path_prefix": "/b/"}}, "qos": {qos}, {delay}}}"#);
    scenario.config = config(&format!("{target}, {TARGET}"), "");
    scenario
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// The same upstream, at this QoS.
    Shares(u8),
    Apart,
}

/// 5,000 calls a second on one of two workers, more than its event loop can bear. The upstream is bored.
pub fn local_stress(seed: u64, kind: Kind) -> Scenario {
    let rate = 5_000.0;
    // Large enough for all of it.
    let servers = 128;
    let mut scenario = calm(seed, ORDINARY);
    scenario.upstreams[0].servers = servers;
    scenario = scenario.behind(2).with_attack(kind, rate * kind.cost() / servers as f64);
    if let Some(attack) = &mut scenario.attack {
        attack.worker = Some(0);
    }
    scenario.costs = Some(Costs { forwarded: 200e-6, refused: 40e-6, answered: 100e-6, tick: 20e-6 });
    scenario
}

/// Attackers whom nobody can tell from people but a classifier, who rates them from five seconds after they came.
pub fn classified(seed: u64, rated: bool) -> Scenario {
    let scenario = attacked(seed, Kind::Mimic(0.14), 2.0);
    let from = scenario.window.from + 5.0;
    Scenario { rated: rated.then_some((10, from)), ..scenario }
}

/// More fresh addresses than the tables have slots.
pub fn evicting(seed: u64, load: f64, slots: Option<u32>) -> Scenario {
    let tables = slots.map(|slots| format!(r#", "tables": {{"slots": {slots}}}"#)).unwrap_or_default();
    Scenario { config: config(TARGET, &tables), ..attacked(seed, Kind::RotatingOrdinary, load) }
}
