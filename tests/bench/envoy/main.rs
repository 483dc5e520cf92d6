//! What does a filter add to a request in Envoy? CPU time per request of whole Envoys, side by side in one run.
//!
//! Each contender has an Envoy with one worker for itself, whose route answers by itself, so that only the proxy is
//! measured. A round sends the same requests to each of them in turn, in an order that changes from round to round,
//! and reads the CPU time of that Envoy's threads before and after. Reported is the median over the rounds of the
//! difference to the Envoy without a filter in the same round: what disturbs the machine for longer than a round
//! disturbs both. Where the kernel happens to place a process in memory makes up to a microsecond, for as long as
//! the process lives; so all are started anew several times.
//!
//! `make bench-envoy` builds and fetches what this needs, and its table goes into README. Variables:
//! * `ROUNDS` (40), divided among `STARTS` (4), of `REQUESTS` (2,500) each;
//! * `CONNECTIONS` (200), in the same rounds, for [`connections`]; `KEY`: their server's private key, PEM (PKCS #8);
//! * `ONLY`: contenders by name, comma-separated (`weir,lua,weir-429`), or `connections`;
//! * `WEIR_BASE`: other builds of the module, colon-separated, compared in the same run;
//! * `WEIR_WASM`, `WEIR_EMPTY`, `WEIR_ENVOY`: other files than those in target/.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a program for developers: it may stop at a surprise, must read the clock, and waits for processes"
)]

mod answer;
mod connections;
mod contenders;
#[path = "../common/files.rs"]
#[allow(dead_code, reason = "other benches look for all their files at once")]
mod files;
mod filters;
mod front;
mod load;
#[path = "../common/local_ratelimit.rs"]
mod local_ratelimit;
#[path = "../../support/network_filters.rs"]
mod network_filters;
#[path = "../common/numbers.rs"]
mod numbers;
#[path = "../common/paper.rs"]
mod paper;
mod proxy;
mod report;
#[path = "../../support/stats_tags.rs"]
mod stats_tags;
#[path = "../../support/wasm_filter.rs"]
mod wasm_filter;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contenders::Contender;
use files::{absolute, path};
use filters::Limit;
use load::{Answers, Callers, Connections, MANY};
use proxy::Proxy;

/// What a contender is exposed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    /// One client far below its limit.
    OneClient,
    /// Each request is another of many known clients'.
    ManyClients,
    /// One client far above its limit: everything is refused.
    Flood,
}

impl Traffic {
    const ALL: [Traffic; 3] = [Traffic::OneClient, Traffic::ManyClients, Traffic::Flood];

    fn limit(self) -> Limit {
        match self {
            Traffic::OneClient | Traffic::ManyClients => Limit::High,
            Traffic::Flood => Limit::Low,
        }
    }
}

/// All that was measured of one contender under one traffic, round by round.
struct Series {
    traffic: Traffic,
    /// Its place among the contenders.
    contender: usize,
    cpu_us: Vec<f64>,
    latencies_us: Vec<f64>,
}

/// What one start of a contender's Envoy took.
struct Start {
    ready_ms: f64,
    /// With every client seen.
    resident_mib: f64,
}

/// All that the report tells.
struct Results {
    contenders: Vec<Contender>,
    series: Vec<Series>,
    /// By contender.
    starts: Vec<Vec<Start>>,
}

struct Settings {
    envoy: PathBuf,
    envoy_version: String,
    starts: usize,
    rounds: usize,
    requests: usize,
    connections: usize,
}

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benches too, without this word.
    if !env::args().any(|argument| argument == "--bench") {
        println!("not measured: run it with make bench-envoy");
        return ExitCode::SUCCESS;
    }
    match Settings::read().and_then(|settings| print(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench-envoy: {message}");
            ExitCode::FAILURE
        }
    }
}

/// What is measured: what a request costs, and what a connection costs.
fn print(settings: &Settings) -> Result<(), String> {
    let only = only();
    if only.is_empty() || only.iter().any(|name| name != "connections") {
        println!("{}", report::write(settings, &measure(settings)?));
    }
    if only.is_empty() || only.iter().any(|name| name == "connections") {
        println!("{}", connections::measure(settings)?);
    }
    Ok(())
}

/// The names in `ONLY`; none: everything.
fn only() -> Vec<String> {
    let only = env::var("ONLY").unwrap_or_default();
    only.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn measure(settings: &Settings) -> Result<Results, String> {
    let contenders = contenders::chosen()?;
    let mut starts: Vec<Vec<Start>> = contenders.iter().map(|_| Vec::new()).collect();
    let mut series: Vec<Series> = Vec::new();
    for traffic in Traffic::ALL {
        let taking_part = (0..contenders.len()).filter(|&n| contenders[n].limit == traffic.limit());
        series.extend(taking_part.map(|contender| Series {
            traffic,
            contender,
            cpu_us: Vec::new(),
            latencies_us: Vec::new(),
        }));
    }
    for nth in 0..settings.starts {
        eprintln!("start {} of {}: {} Envoys", nth + 1, settings.starts, contenders.len());
        let mut entries = Vec::new();
        for (contender, starts) in contenders.iter().zip(&mut starts) {
            let folder = format!("bench-envoy/{:02}-{}", entries.len(), contender.name);
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
            let (entry, start) = Entry::start(settings, contender, &folder)?;
            entries.push(entry);
            starts.push(start);
        }
        for round in (nth..settings.rounds).step_by(settings.starts) {
            for place in order(round, series.len()) {
                let series = &mut series[place];
                entries[series.contender].measure(settings, round, series)?;
            }
        }
    }
    Ok(Results { contenders, series, starts })
}

/// The order of a round: each comes first, last and in between, before and after each of its neighbours.
fn order(round: usize, length: usize) -> Vec<usize> {
    let turned = (0..length).map(|place| (place + round / 2) % length);
    if round.is_multiple_of(2) { turned.collect() } else { turned.rev().collect() }
}

/// A contender's Envoy, ready and warm.
struct Entry<'a> {
    contender: &'a Contender,
    proxy: Proxy,
    connections: Connections,
}

impl Entry<'_> {
    fn start<'a>(
        settings: &Settings,
        contender: &'a Contender,
        folder: &Path,
    ) -> Result<(Entry<'a>, Start), String> {
        let proxy = Proxy::start(&settings.envoy, folder, &contender.front)?;
        let connections = Connections::open(proxy.address).map_err(|e| failed(contender, e))?;
        let mut entry = Entry { contender, proxy, connections };
        let resident_mib = entry.warm_up().map_err(|e| failed(contender, e))?;
        let ready_ms = entry.proxy.ready_after.as_secs_f64() * 1e3;
        Ok((entry, Start { ready_ms, resident_mib }))
    }

    /// Code is compiled, memory is touched, and every client that will come has been seen.
    fn warm_up(&mut self) -> io::Result<f64> {
        match self.contender.limit {
            Limit::High => self.connections.run(MANY as usize, Callers::Each)?,
            Limit::Low => self.connections.run(10_000, Callers::One)?,
        };
        Ok(self.proxy.resident_kib()? as f64 / 1024.0)
    }

    /// One round.
    fn measure(&mut self, settings: &Settings, round: usize, series: &mut Series) -> Result<(), String> {
        let callers = match series.traffic {
            Traffic::OneClient | Traffic::Flood => Callers::One,
            // The same for each contender.
            Traffic::ManyClients => Callers::Many { seed: (round * settings.requests) as u64 },
        };
        let answers = self.weigh(settings, callers, series).map_err(|e| failed(self.contender, e))?;
        // With one per second allowed, a round of less than a second may see two served.
        let as_expected = match series.traffic {
            Traffic::Flood => answers.served <= 3,
            Traffic::OneClient | Traffic::ManyClients => answers.refused == 0,
        };
        if as_expected {
            Ok(())
        } else {
            Err(failed(self.contender, format!("{:?}: {answers:?}", series.traffic)))
        }
    }

    fn weigh(&mut self, settings: &Settings, callers: Callers, series: &mut Series) -> io::Result<Answers> {
        let before = self.proxy.cpu()?;
        let answers = self.connections.run(settings.requests, callers)?;
        let spent = self.proxy.cpu()? - before;
        series.cpu_us.push(spent.as_secs_f64() * 1e6 / settings.requests as f64);
        // A tenth as many, one by one, tell the latency.
        let latencies = self.connections.latencies(settings.requests / 10, callers)?;
        series.latencies_us.extend(latencies.iter().map(|latency| latency.as_secs_f64() * 1e6));
        Ok(answers)
    }
}

fn failed(contender: &Contender, why: impl ToString) -> String {
    format!("{}: {}", contender.label, why.to_string())
}

impl Settings {
    fn read() -> Result<Settings, String> {
        let envoy = path("WEIR_ENVOY", "target/envoy/envoy");
        let envoy_version = files::version(&envoy).map_err(|_| missing(&envoy))?;
        let rounds = number("ROUNDS", 40)?.max(1);
        Ok(Settings {
            envoy,
            envoy_version,
            starts: number("STARTS", 4)?.clamp(1, rounds),
            rounds,
            requests: number("REQUESTS", 2_500)?.max(100),
            connections: number("CONNECTIONS", 200)?.max(10),
        })
    }
}

fn number(variable: &str, default: usize) -> Result<usize, String> {
    match env::var(variable) {
        Ok(text) => text.parse().map_err(|_| format!("{variable}={text} is not a number")),
        Err(_) => Ok(default),
    }
}

fn missing(file: &Path) -> String {
    files::missing(file, "bench-envoy")
}
