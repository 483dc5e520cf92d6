//! Who sends what and when: made before the run, and the same for every contender, whatever they answer.

use std::time::Duration;

use super::chance::Chance;
use super::kind::Kind;
use super::slots::SLOTS;

/// People who are there at a time.
pub const VISITORS: usize = 300;

/// What they take of the capacity.
pub const ORDINARY: f64 = 0.55;

/// How long one of them stays, on average, before another address comes in its place.
const STAY: f64 = 120.0;

/// What belongs to a view of a page: the page itself, then the rest within a second.
const REST: [(Kind, usize); 2] = [(Kind::Asset, 4), (Kind::Search, 2)];

/// A report is asked for with so many of the pages.
const REPORTS: f64 = 0.15;

/// Seconds of work in a view of a page.
const VIEW: f64 = Kind::Page.mean()
    + REST[0].1 as f64 * REST[0].0.mean()
    + REST[1].1 as f64 * REST[1].0.mean()
    + REPORTS * Kind::Report.mean();

/// The first address of either side is its network's: 198.18.0.0 is for benchmarks.
const ATTACKERS: u32 = 0x1_0000;

/// When the attack begins and how long it lasts.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub quiet: Duration,
    pub attack: Duration,
}

impl Times {
    pub fn end(&self) -> Duration {
        self.quiet + self.attack
    }
}

/// One request to be sent.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Since the begin.
    pub at: Duration,
    pub kind: Kind,
    /// Its number, which decides what it costs.
    pub number: u64,
    pub attacks: bool,
    client: u32,
}

impl Sending {
    pub fn client(&self) -> String {
        let [_, network, high, low] = self.client.to_be_bytes();
        format!("198.{}.{high}.{low}", 18 + network)
    }
}

/// So many attackers bring the load to this multiple of the capacity: each asks for a report once a second.
pub fn attackers(load: f64) -> usize {
    ((load - ORDINARY).max(0.0) * SLOTS as f64 / Kind::Report.mean()).round() as usize
}

/// All that is sent, in order.
pub fn schedule(load: f64, times: Times) -> Vec<Sending> {
    let mut all = visits(times.end().as_secs_f64());
    all.extend(attack(attackers(load), times));
    all.sort_by_key(|sending| sending.at);
    for (number, sending) in all.iter_mut().enumerate() {
        sending.number = number as u64;
    }
    all
}

fn visits(end: f64) -> Vec<Sending> {
    let mut chance = Chance::seeded(1);
    let mut seats: Vec<(u32, f64)> =
        (0..VISITORS).map(|seat| (seat as u32, chance.exponential(STAY))).collect();
    let (mut all, mut next, mut at) = (Vec::new(), VISITORS as u32, 0.0);
    loop {
        at += chance.exponential(VIEW / (ORDINARY * SLOTS as f64));
        if at >= end {
            return all;
        }
        let (client, leaves) = &mut seats[chance.below(VISITORS)];
        if at >= *leaves {
            (*client, *leaves) = (next, at + chance.exponential(STAY));
            next += 1;
        }
        all.push(sending(at, Kind::Page, *client));
        for (kind, times) in REST {
            all.extend((0..times).map(|_| sending(at + chance.uniform(), kind, *client)));
        }
        if chance.uniform() < REPORTS {
            all.push(sending(at + chance.uniform(), Kind::Report, *client));
        }
    }
}

fn attack(attackers: usize, times: Times) -> Vec<Sending> {
    let mut chance = Chance::seeded(2);
    let mut all = Vec::new();
    for attacker in 0..attackers {
        let mut at = times.quiet.as_secs_f64() + chance.uniform();
        while at < times.end().as_secs_f64() {
            let client = ATTACKERS + attacker as u32;
            all.push(Sending { attacks: true, ..sending(at, Kind::Report, client) });
            // Not to the beat: then no second would be like another.
            at += 0.9 + 0.2 * chance.uniform();
        }
    }
    all
}

fn sending(at: f64, kind: Kind, client: u32) -> Sending {
    Sending { at: Duration::from_secs_f64(at), kind, number: 0, attacks: false, client }
}
