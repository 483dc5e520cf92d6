//! The show from begin to end: a quiet while, the attack, a while after it.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::attack::Attack;
use super::clients;
use super::good::Good;
use super::outcome::Outcome;
use super::page::Page;
use super::paper::grouped;
use super::picture::{self, Frame};
use super::schedule::Schedule;
use super::sides::{Binaries, Proxy, Side};
use super::stop::Stop;
use super::watch::{Fared, Sample, Seen, look};

/// What the show shall be.
#[derive(Clone, Debug)]
pub struct Story {
    pub binaries: Binaries,
    /// Where Envoys keep their files, and the picture is saved as `bomb.svg`.
    pub folder: PathBuf,
    /// On 127.0.0.1; 0: any.
    pub page_port: u16,
    /// Before the attack and after it.
    pub quiet: Duration,
    pub schedule: Schedule,
    /// From sample to sample.
    pub period: Duration,
    /// The attack ends when an Envoy has grown so large.
    pub resident_limit_mib: f64,
}

/// One Envoy and who asks it.
struct Stage {
    proxy: Proxy,
    good: Good,
    attack: Option<Attack>,
}

/// The show, going on.
struct Show<'a> {
    story: &'a Story,
    begin: Instant,
    page: Page,
    stages: [Stage; 2],
    samples: Vec<Sample>,
    stop: &'a Stop,
}

impl Story {
    /// Where the picture is saved.
    pub fn picture(&self) -> PathBuf {
        self.folder.join("bomb.svg")
    }

    /// Tells it. `told` hears where the page is, and every sample. The word to stop ends it early, picture included.
    ///
    /// # Errors
    /// An Envoy does not start or is lost, a port is taken, the picture can't be written.
    pub fn tell(&self, stop: &Stop, told: &mut dyn FnMut(SocketAddr, &Sample)) -> Result<Outcome, String> {
        fs::create_dir_all(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        let page = Page::serve(self.page_port)?;
        let [weir, naive] = Side::BOTH.map(|side| Stage::set(side, self));
        let mut show = Show {
            story: self,
            begin: Instant::now(),
            page,
            stages: [weir?, naive?],
            samples: Vec::new(),
            stop,
        };
        show.quiet("before the attack", told)?;
        let before = show.latest();
        let cut_short = show.attack(told)?;
        let after = if cut_short.is_some() { "the attack was cut short" } else { "after the attack" };
        show.quiet(after, told)?;
        show.end(before, cut_short)
    }

    fn frame(&self) -> Frame {
        let (quiet, attack) = (self.quiet.as_secs_f64(), self.schedule.lasts().as_secs_f64());
        Frame { seconds: quiet + attack + quiet, attack: (quiet, quiet + attack), top: self.schedule.top() }
    }
}

impl Stage {
    fn set(side: Side, story: &Story) -> Result<Stage, String> {
        let proxy = side.start(&story.binaries, 1, &story.folder);
        let proxy = proxy.map_err(|e| format!("{}: {e}", side.name()))?;
        let good = Good::start(proxy.address);
        Ok(Stage { proxy, good, attack: None })
    }
}

impl Show<'_> {
    /// Samples for a while, with the client that behaves alone.
    fn quiet(&mut self, now: &str, told: &mut dyn FnMut(SocketAddr, &Sample)) -> Result<(), String> {
        let until = Instant::now() + self.story.quiet;
        while Instant::now() < until && !self.stop.is_said() {
            let seen = self.sample(now, 0, told);
            self.stop.excuse(seen)?;
        }
        Ok(())
    }

    /// Attacks both and samples until it is over; says why if that was early.
    fn attack(&mut self, told: &mut dyn FnMut(SocketAddr, &Sample)) -> Result<Option<String>, String> {
        let enough = Stop::default();
        for stage in &mut self.stages {
            let schedule = self.story.schedule.clone();
            let attack = Attack::start(stage.proxy.address, 0..clients::MOST, schedule, enough.clone())?;
            stage.attack = Some(attack);
        }
        let begin = Instant::now();
        let mut cut_short = None;
        while !self.is_over() {
            let rate = self.story.schedule.rate_at(begin.elapsed());
            let now = format!("under attack: {} requests per second", grouped(rate as usize));
            let seen = self.sample(&now, rate, told);
            cut_short = cut_short.or_else(|| self.reason_to_end());
            if seen.is_err() || cut_short.is_some() {
                enough.say();
            }
            self.stop.excuse(seen)?;
        }
        Ok(cut_short)
    }

    fn is_over(&self) -> bool {
        self.stages.iter().all(|stage| stage.attack.as_ref().is_none_or(Attack::is_over))
    }

    fn reason_to_end(&self) -> Option<String> {
        let limit = self.story.resident_limit_mib;
        let is_large = |side: &Side| self.latest().of(*side).resident_mib > limit;
        if self.stop.is_said() {
            return Some("it was told to stop".to_owned());
        }
        let side = Side::BOTH.into_iter().find(is_large)?;
        Some(format!("the Envoy with {} has more than {limit:.0} MiB", side.name()))
    }

    /// Waits for the next moment, looks, shows.
    fn sample(
        &mut self,
        now: &str,
        offered: u64,
        told: &mut dyn FnMut(SocketAddr, &Sample),
    ) -> Result<(), String> {
        let next = self.begin + self.story.period * (self.samples.len() as u32 + 1);
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let before = self.latest();
        let at = self.begin.elapsed();
        let mut sides = [Seen::default(); 2];
        for (stage, (seen, before_it)) in self.stages.iter().zip(sides.iter_mut().zip(before.sides)) {
            let tally = stage.attack.as_ref().map(|attack| &*attack.tally);
            *seen = look(&stage.proxy, tally, &stage.good, (before_it, at - before.at))?;
        }
        self.samples.push(Sample { at, offered, sides });
        self.page.show(&picture::draw(&self.story.frame(), &self.samples, now));
        told(self.page.address, &self.latest());
        Ok(())
    }

    fn latest(&self) -> Sample {
        self.samples.last().copied().unwrap_or_default()
    }

    /// Ends all who are still there, and saves the picture.
    fn end(mut self, before: Sample, cut_short: Option<String>) -> Result<Outcome, String> {
        // Until the last look: whoever said stop may have said it to the Envoys as well.
        let until = self.begin + self.latest().at;
        let good = self.stages.each_ref().map(|stage| Fared::of(&stage.good.asked_until(until)));
        let attacks = self.stages.each_mut().map(|stage| stage.attack.take());
        for attack in attacks.into_iter().flatten() {
            let ended = attack.end();
            self.stop.excuse(ended)?;
        }
        let svg = picture::draw(&self.story.frame(), &self.samples, "the whole show");
        let file = self.story.picture();
        fs::write(&file, svg).map_err(|e| format!("{}: {e}", file.display()))?;
        let climbed = self.story.quiet + self.story.schedule.climbs();
        let warm = self.samples.iter().rfind(|sample| sample.at <= climbed).copied().unwrap_or(before);
        Ok(Outcome { samples: self.samples, before, warm, good, cut_short })
    }
}
