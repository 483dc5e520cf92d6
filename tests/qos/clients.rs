//! Who calls: ordinary people who load pages, and attackers of several kinds.
//!
//! Nobody looks at what became of a request, so every guard meets the same calls at the same times.

use crate::rng::Rng;
use crate::upstream::Work;
use weir::time::Nanos;

/// What may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    Cheap,
    Page,
    Search,
    Report,
    /// Costs attackers ten times what it costs others.
    Export,
    /// Its cost is in its body.
    File,
    /// Costs the upstream next to nothing.
    Asset,
}

impl Path {
    pub const COUNT: usize = 7;

    /// Mean seconds of an ordinary call until its headers are out, and their coefficient of variation.
    fn head(self) -> (f64, f64) {
        match self {
            Path::Cheap => (0.010, 0.5),
            Path::Page => (0.030, 0.5),
            Path::Search => (0.040, 1.8),
            Path::Report => (0.400, 0.5),
            Path::Export => (0.040, 0.3),
            Path::File => (0.010, 0.3),
            Path::Asset => (0.0002, 0.3),
        }
    }

    /// Mean bytes of an ordinary answer.
    fn bytes(self) -> f64 {
        match self {
            Path::File => 200_000.0,
            Path::Page | Path::Search | Path::Report => 20_000.0,
            _ => 4_000.0,
        }
    }

    /// Its spelling, below a site's prefix.
    pub fn text(self) -> &'static str {
        match self {
            Path::Cheap => "/",
            Path::Page => "/page",
            Path::Search => "/search?q=weir",
            Path::Report => "/report",
            Path::Export => "/export/2026",
            Path::File => "/files/archive",
            Path::Asset => "/assets/logo",
        }
    }
}

/// Seconds that a server needs to send a byte: what a client's line takes.
const SECONDS_PER_BYTE: f64 = 1.0 / 20e6;

/// Seconds within which what belongs to a page is asked for. With this and the spread of costs, the rivals' rows come
/// out as in the simulation that the algorithm was made with.
const PAGE_SPREAD: f64 = 0.5;

/// Mean seconds for which somebody has one address.
const ADDRESS_LIFE: f64 = 120.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Ordinary,
    Attacker,
}

/// One request that is offered.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub who: Who,
    /// The client's address, by number: counted from 0 in the order of their appearance.
    pub client: u32,
    /// When that address called first.
    pub born: Nanos,
    /// Which site is asked, and which upstream serves it.
    pub site: u8,
    pub upstream: u8,
    /// Which worker the call comes to.
    pub worker: u8,
    pub path: Path,
    pub work: Work,
    pub bytes: u32,
    /// It was refused before.
    pub again: bool,
}

/// Ordinary callers of one site.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    pub site: u8,
    /// Which upstream serves them.
    pub upstream: u8,
    /// When they begin to come, in seconds of the run.
    pub from: f64,
    pub people: usize,
    /// Work that they bring, in seconds per second.
    pub work: f64,
    /// Do their pages have an export, a file?
    pub exports: bool,
    pub files: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// So many calls of the expensive path a second, each.
    Expensive(f64),
    /// 500 who share the load on the expensive path.
    Many,
    /// 20 calls of the cheap path a second, each.
    Greedy,
    /// As `Expensive(1)`, with a fresh address for each call.
    Rotating1,
    /// As `Expensive(5)`, with a fresh address for each five calls.
    Rotating5,
    /// A fresh address for each call of an ordinary page.
    RotatingOrdinary,
    /// One call a second that costs ten times what its path usually costs.
    Hidden,
    /// The same, with a fresh address for each call.
    HiddenRotating,
    /// One call a second whose answer has 8 MB.
    Bytes,
    /// 20 calls a second that cost the upstream nothing: they burden the proxy.
    Flood,
    /// Loads pages as ordinary people do, so many a second each.
    Mimic(f64),
}

/// Attackers of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    pub kind: Kind,
    /// Work that they bring, in seconds per second.
    pub work: f64,
    /// When, in seconds of the run.
    pub from: f64,
    pub until: f64,
    /// Seconds over which they arrive.
    pub over: f64,
    /// All connect to this worker.
    pub worker: Option<u8>,
}

impl Kind {
    /// The nine of the tables.
    pub const ALL: [(&'static str, Kind); 9] = [
        ("a5", Kind::Expensive(5.0)),
        ("a1", Kind::Expensive(1.0)),
        ("a500", Kind::Many),
        ("greedy", Kind::Greedy),
        ("rot1", Kind::Rotating1),
        ("rot5", Kind::Rotating5),
        ("rotn", Kind::RotatingOrdinary),
        ("hidden", Kind::Hidden),
        ("hidrot", Kind::HiddenRotating),
    ];

    pub fn is_hidden(self) -> bool {
        matches!(self, Kind::Hidden | Kind::HiddenRotating)
    }

    fn path(self) -> Path {
        match self {
            Kind::Expensive(_) | Kind::Many | Kind::Rotating1 | Kind::Rotating5 => Path::Report,
            Kind::Greedy => Path::Cheap,
            Kind::RotatingOrdinary | Kind::Mimic(_) => Path::Page,
            Kind::Hidden | Kind::HiddenRotating => Path::Export,
            Kind::Bytes => Path::File,
            Kind::Flood => Path::Asset,
        }
    }

    /// Calls with one address, where addresses change.
    fn calls_per_address(self) -> Option<u32> {
        match self {
            Kind::Rotating1 | Kind::RotatingOrdinary | Kind::HiddenRotating => Some(1),
            Kind::Rotating5 => Some(5),
            _ => None,
        }
    }

    /// Mean seconds of work of one of its calls.
    pub fn cost(self) -> f64 {
        match self {
            Kind::Hidden | Kind::HiddenRotating => 10.0 * Path::Export.head().0,
            Kind::Bytes => Path::File.head().0 + HEAVY_BYTES * SECONDS_PER_BYTE,
            Kind::Mimic(_) => page_work(false, false),
            _ => self.path().head().0,
        }
    }

    /// Calls a second of each; how many there are follows from the load.
    fn rate(self) -> f64 {
        match self {
            Kind::Expensive(rate) | Kind::Mimic(rate) => rate,
            Kind::Greedy | Kind::Flood => 20.0,
            Kind::Rotating5 => 5.0,
            _ => 1.0,
        }
    }
}

const HEAVY_BYTES: f64 = 8e6;

/// Seconds of work of one page.
fn page_work(exports: bool, files: bool) -> f64 {
    let cost = |path: Path| path.head().0;
    let page =
        cost(Path::Page) + 4.0 * cost(Path::Cheap) + 2.0 * cost(Path::Search) + 0.15 * cost(Path::Report);
    let export = if exports { cost(Path::Export) } else { 0.0 };
    let file = if files { cost(Path::File) + Path::File.bytes() * SECONDS_PER_BYTE } else { 0.0 };
    page + export + file
}

/// Everybody.
pub struct Clients {
    rng: Rng,
    callers: Vec<Caller>,
    attack: Option<Attack>,
    workers: usize,
    addresses: u32,
}

struct Caller {
    who: Who,
    site: u8,
    upstream: u8,
    client: u32,
    born: Nanos,
    /// For an attacker: calls left with this address. For a person: when the address changes.
    calls_left: Option<u32>,
    renewed: Nanos,
    per_second: f64,
    exports: bool,
    files: bool,
    until: Nanos,
}

impl Clients {
    /// Who there is, and when each calls first. Site 0, of upstream 0, is the one that is attacked.
    pub fn new(
        seed: u64,
        crowds: &[Crowd],
        attack: Option<Attack>,
        workers: usize,
    ) -> (Clients, Vec<(Nanos, u32)>) {
        let rng = Rng::new(seed, 1);
        let mut clients = Clients { rng, callers: Vec::new(), attack, workers, addresses: 0 };
        let mut first = Vec::new();
        for crowd in crowds {
            let per_second = crowd.work / page_work(crowd.exports, crowd.files) / crowd.people as f64;
            for _ in 0..crowd.people {
                let at = Nanos::from_secs_f64(crowd.from + clients.rng.gap(per_second));
                first.push((at, clients.callers.len() as u32));
                let caller = Caller {
                    who: Who::Ordinary,
                    site: crowd.site,
                    upstream: crowd.upstream,
                    client: 0,
                    born: Nanos::ZERO,
                    calls_left: None,
                    renewed: Nanos::ZERO,
                    per_second,
                    exports: crowd.exports,
                    files: crowd.files,
                    until: Nanos::MAX,
                };
                clients.callers.push(caller);
            }
        }
        if let Some(attack) = attack {
            clients.recruit(&attack, &mut first);
        }
        (clients, first)
    }

    fn recruit(&mut self, attack: &Attack, first: &mut Vec<(Nanos, u32)>) {
        let all = attack.work / attack.kind.cost();
        let count = match attack.kind {
            Kind::Many => 500,
            kind => (all / kind.rate()).round().max(1.0) as usize,
        };
        for n in 0..count {
            let per_second = all / count as f64;
            let arrives = attack.from + attack.over * n as f64 / count as f64;
            first.push((Nanos::from_secs_f64(arrives + self.rng.gap(per_second)), self.callers.len() as u32));
            let client = self.address();
            self.callers.push(Caller {
                who: Who::Attacker,
                site: 0,
                upstream: 0,
                client,
                born: Nanos::from_secs_f64(arrives),
                calls_left: attack.kind.calls_per_address(),
                renewed: Nanos::MAX,
                per_second,
                exports: false,
                files: false,
                until: Nanos::from_secs_f64(attack.until),
            });
        }
    }

    /// One of them acts: what is asked for, in how many seconds from now each. And when that one acts again.
    pub fn act(&mut self, who: u32, now: Nanos, calls: &mut Vec<(f64, Call)>) -> Option<Nanos> {
        let index = who as usize;
        if now >= self.callers[index].until {
            return None;
        }
        match (self.callers[index].who, self.attack.map(|attack| attack.kind)) {
            (Who::Attacker, Some(kind)) if !matches!(kind, Kind::Mimic(_)) => {
                self.attack(index, kind, now, calls)
            }
            _ => self.load_page(index, now, calls),
        }
        Some(now + Nanos::from_secs_f64(self.rng.gap(self.callers[index].per_second)))
    }

    fn load_page(&mut self, index: usize, now: Nanos, calls: &mut Vec<(f64, Call)>) {
        if self.callers[index].renewed <= now {
            let client = self.address();
            let life = Nanos::from_secs_f64(self.rng.gap(1.0 / ADDRESS_LIFE));
            let caller = &mut self.callers[index];
            (caller.client, caller.born, caller.renewed) = (client, now, now + life);
        }
        let (exports, files) = (self.callers[index].exports, self.callers[index].files);
        self.ask(index, Path::Page, 0.0, calls);
        for (path, count) in [(Path::Cheap, 4), (Path::Search, 2)] {
            (0..count).for_each(|_| self.ask_soon(index, path, calls));
        }
        if self.rng.chance(0.15) {
            self.ask_soon(index, Path::Report, calls);
        }
        if exports {
            self.ask_soon(index, Path::Export, calls);
        }
        if files {
            self.ask_soon(index, Path::File, calls);
        }
    }

    fn ask_soon(&mut self, index: usize, path: Path, calls: &mut Vec<(f64, Call)>) {
        let wait = self.rng.unit() * PAGE_SPREAD;
        self.ask(index, path, wait, calls);
    }

    fn attack(&mut self, index: usize, kind: Kind, now: Nanos, calls: &mut Vec<(f64, Call)>) {
        if self.callers[index].calls_left == Some(0) {
            let client = self.address();
            let caller = &mut self.callers[index];
            (caller.client, caller.born, caller.calls_left) = (client, now, kind.calls_per_address());
        }
        if let Some(left) = &mut self.callers[index].calls_left {
            *left -= 1;
        }
        self.ask(index, kind.path(), 0.0, calls);
        if let Some((_, call)) = calls.last_mut() {
            if kind.is_hidden() {
                call.work.head *= 10.0;
            }
            if kind == Kind::Bytes {
                call.bytes = (f64::from(call.bytes) * HEAVY_BYTES / Path::File.bytes()) as u32;
                call.work.body = f64::from(call.bytes) * SECONDS_PER_BYTE;
            }
        }
    }

    fn ask(&mut self, index: usize, path: Path, wait: f64, calls: &mut Vec<(f64, Call)>) {
        let Caller { who, site, upstream, client, born, .. } = self.callers[index];
        let (mean, cv) = path.head();
        let bytes = self.rng.lognormal(path.bytes(), 0.3) as u32;
        let worker = self.rng.below(self.workers) as u8;
        let worker = self.attack.filter(|_| who == Who::Attacker).and_then(|a| a.worker).unwrap_or(worker);
        // Small bodies fit into the sockets' buffers: no server waits for them.
        let body = if path == Path::File { f64::from(bytes) * SECONDS_PER_BYTE } else { 0.0 };
        let work = Work { head: self.rng.lognormal(mean, cv), body };
        calls.push((
            wait,
            Call { who, client, born, site, upstream, worker, path, work, bytes, again: false },
        ));
    }

    fn address(&mut self) -> u32 {
        self.addresses += 1;
        self.addresses - 1
    }
}

/// How old an address is that calls now, in seconds.
pub fn age(call: &Call, now: Nanos) -> f64 {
    (now - call.born).as_secs_f64()
}
