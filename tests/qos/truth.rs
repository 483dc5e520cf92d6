//! Is the world as it should be? Without Weir it must show what is known without simulation, and rivals what they showed
//! in the simulation that the algorithm was made with.

use crate::clients::{Call, Kind};
use crate::contenders::Contender;
use crate::guard::{End, Guard, Release, Verdict};
use crate::means::Numbers;
use crate::rivals::Open;
use crate::scenarios::*;
use crate::upstream::Id;
use crate::world::{self, GivesUp, Scenario};
use weir::time::Nanos;

fn run(contender: Contender, make: impl Fn(u64) -> Scenario) -> Numbers {
    Numbers::mean(&[1, 2, 3].map(|seed| Numbers::of(&contender.run(&make(seed)))))
}

fn is_near(what: &str, found: f64, known: f64, off: f64) {
    assert!((found - known).abs() <= off, "{what}: {found:.2}, not {known} ± {off}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let all = |seed| {
        let report = Contender::Gradient.run(&attacked(seed, Kind::Many, 2.0).lasting(10.0));
        format!("{:?}", Numbers::of(&report))
    };
    assert_eq!(all(7), all(7));
    assert_ne!(all(7), all(8));
}

#[test]
fn a_guard_changes_nothing_about_who_calls_when() {
    let scenario = attacked(1, Kind::Rotating5, 3.0).lasting(20.0);
    let offered = Contender::ALL.map(|contender| {
        let report = contender.run(&scenario);
        (report.ordinary[0].offered, report.attackers.offered, report.newcomers.offered)
    });
    assert!(offered.iter().all(|&of| of == offered[0]), "{offered:?}");
}

#[test]
fn load_is_work_in_parts_of_the_capacity() {
    for (load, rotating) in [(0.55, None), (3.0, Some(Kind::RotatingOrdinary)), (2.0, Some(Kind::Hidden))] {
        let report = Contender::Open.run(&match rotating {
            Some(kind) => attacked(1, kind, load),
            None => calm(1, load),
        });
        let work: f64 = report.seconds[20..80].iter().map(|second| second.work).sum();
        is_near("load", work / 60.0 / 16.0, load, 0.06 * load);
    }
}

/// Overload by the factor ρ: the wait grows by ρ − 1 each second, and nothing is good any more after 2 s of wait. With
/// short calls, which fill the idle servers at once: calls of 0.4 s need as long for that.
#[test]
fn without_a_guard_nothing_is_good_once_the_wait_is_two_seconds() {
    for load in [1.5, 2.0, 3.0, 5.0] {
        let found = run(Contender::Open, |seed| attacked(seed, Kind::Greedy, load));
        is_near("good", found.good, 100.0 * 2.0 / (load - 1.0) / 60.0, 0.5);
    }
}

#[test]
fn a_concurrency_limit_serves_everybody_alike() {
    for (load, known, off) in [(1.5, 64.2, 2.0), (2.0, 49.2, 2.0), (3.0, 33.7, 1.5), (5.0, 20.2, 1.0)] {
        let found = run(Contender::Gradient, |seed| attacked(seed, Kind::Expensive(1.0), load));
        is_near("good", found.good, known, off);
        is_near("refused of both", found.shed_ordinary, found.shed_attackers, 4.0);
    }
    let found = run(Contender::Gradient, |seed| calm(seed, 0.9));
    is_near("refused at 0.9", found.shed_ordinary, 2.9, 0.8);
}

#[test]
fn a_static_limit_helps_against_the_greedy_while_ten_a_second_of_each_are_bearable() {
    is_near("1.5×", run(Contender::Static, |seed| attacked(seed, Kind::Greedy, 1.5)).good, 88.0, 8.0);
    is_near("2×", run(Contender::Static, |seed| attacked(seed, Kind::Greedy, 2.0)).good, 8.8, 2.0);
    is_near("refused at 0.55", run(Contender::Static, |seed| calm(seed, 0.55)).shed_ordinary, 0.31, 0.15);
}

#[test]
fn an_outage_costs_its_length_and_a_hang_its_backlog_too() {
    is_near("errors", run(Contender::Open, outage).good, 83.3, 1.0);
    is_near("hang", run(Contender::Open, |seed| hang(seed, GivesUp::Client)).good, 71.8, 3.0);
    is_near("delay", run(Contender::Open, |seed| far(seed, 0.35)).good, 100.0, 0.1);
}

/// Holds every other request until the second tick after it came, then refuses every third of those. Checks that it is told
/// of each request's life in order, once.
#[derive(Default)]
struct Bookkeeper {
    arrived: u64,
    completed: u64,
    held: Vec<(Id, u32)>,
    left_while_held: u64,
    /// By request: is it there, and answered?
    lives: Vec<Option<bool>>,
}

impl Guard for Bookkeeper {
    fn arrive(&mut self, id: Id, _: &Call, _: Nanos) -> Verdict {
        if id as usize >= self.lives.len() {
            self.lives.resize(id as usize + 1, None);
        }
        assert_eq!(self.lives[id as usize].replace(false), None, "two requests of one number");
        self.arrived += 1;
        if self.arrived.is_multiple_of(2) {
            self.held.push((id, 0));
            return Verdict::Hold;
        }
        Verdict::Pass
    }

    fn answer(&mut self, id: Id, _: &Call, _: u16, _: Nanos) {
        assert_eq!(self.lives[id as usize].replace(true), Some(false), "answered twice, or nobody");
    }

    fn complete(&mut self, id: Id, _: &Call, end: End, _: Nanos) {
        let life = self.lives[id as usize].take();
        assert_eq!(life, Some(matches!(end, End::Answered(_))), "{end:?}");
        self.completed += 1;
        let held = self.held.len();
        self.held.retain(|&(of, _)| of != id);
        self.left_while_held += u64::from(self.held.len() < held);
    }

    fn tick(&mut self, worker: usize, _: Nanos, released: &mut Vec<Release>) {
        if worker > 0 {
            return;
        }
        self.held.retain_mut(|(id, ticks)| {
            *ticks += 1;
            if *ticks == 2 {
                released.push(if id.is_multiple_of(3) { Release::Refuse(*id) } else { Release::Pass(*id) });
            }
            *ticks < 2
        });
    }
}

#[test]
fn a_guard_is_told_of_every_request_once_and_in_order() {
    for scenario in [
        attacked(1, Kind::Bytes, 1.5),
        shared_servers(1, Kind::Rotating1),
        retrying(1, Kind::Expensive(1.0), 3.0),
        outage(1),
        hang(1, GivesUp::Proxy),
        away(1, 6.0),
        local_stress(1, Kind::Flood).lasting(5.0),
    ] {
        let mut guard = Bookkeeper::default();
        let report = world::run(&scenario, &mut guard);
        let alive = guard.lives.iter().flatten().count() as u64;
        assert_eq!(guard.arrived, guard.completed + alive);
        let ordinary = report.ordinary[0];
        let share = ordinary.held as f64 / ordinary.offered as f64;
        assert!((0.3..0.7).contains(&share), "{share} held");
        assert!(ordinary.refused > 0 && ordinary.answered + ordinary.refused <= ordinary.offered);
    }
}

/// Holds everybody until the second tick after.
#[derive(Default)]
struct Holder(Vec<(Id, u32)>);

impl Guard for Holder {
    fn arrive(&mut self, id: Id, _: &Call, _: Nanos) -> Verdict {
        self.0.push((id, 0));
        Verdict::Hold
    }

    fn tick(&mut self, _: usize, _: Nanos, released: &mut Vec<Release>) {
        self.0.retain_mut(|(id, ticks)| {
            *ticks += 1;
            if *ticks == 2 {
                released.push(Release::Pass(*id));
            }
            *ticks < 2
        });
    }
}

#[test]
fn who_is_held_waits_for_it() {
    let median = |guard: &mut dyn Guard| world::run(&calm(1, 0.3), guard).percentile(0.5, 20.0);
    let (held, open) = (median(&mut Holder::default()), median(&mut Open));
    assert!((50.0..100.0).contains(&(held - open)), "{held} ms, {open} ms if nobody is held");
}
