//! Does a service that is asked for more than it can do still serve its ordinary clients? In the real Envoy, with a real
//! service, under an attack that no rate limit sees.
//!
//! A run is one contender under one load: a service of known capacity ([`slots`], a process of its own), an Envoy with the
//! contender's filter, people who view pages, and after a quiet while attackers who ask for what is dear, each of them once
//! a second ([`schedule`]; the same requests at the same times for each contender). All of it is on loopback and ends by
//! itself, a run some six seconds after its attack.
//!
//! `make bench-qos` builds and fetches what this needs, and its table goes into README. Variables:
//! * `LOADS` (`0.9,1.5,3`): people and attackers together, in units of the capacity;
//! * `QUIET` (25) and `ATTACK` (45): seconds;
//! * `WORKERS` (2): Envoy's;
//! * `ONLY`: contenders by name, comma-separated (`none`, `local_ratelimit`, `adaptive_concurrency`, `weir`);
//! * `QOS=no`: Weir with `{}`, for a module without `qos`;
//! * `WEIR_WASM`, `WEIR_ENVOY`: other files than those in target/.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a program for developers: it may stop at a surprise, must read the clock, and waits for processes"
)]

mod chance;
mod contenders;
mod drive;
#[path = "../common/files.rs"]
mod files;
mod front;
mod kind;
#[path = "../common/local_ratelimit.rs"]
mod local_ratelimit;
#[path = "../common/numbers.rs"]
#[allow(dead_code, reason = "other benches need more statistics")]
mod numbers;
mod outcome;
#[path = "../common/paper.rs"]
#[allow(dead_code, reason = "other benches print more around their tables")]
mod paper;
#[path = "../envoy/proxy.rs"]
#[allow(dead_code, reason = "the bench of filters weighs more of a process")]
mod proxy;
mod report;
mod schedule;
mod service;
#[path = "../common/signals.rs"]
mod signals;
mod slots;
#[path = "../../support/stats_tags.rs"]
mod stats_tags;
mod upstream;
#[path = "../../support/wasm_filter.rs"]
#[allow(dead_code, reason = "other benches have network filters too")]
mod wasm_filter;
mod wire;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use contenders::Contender;
use drive::Drive;
use front::Front;
use outcome::Outcome;
use proxy::Proxy;
use schedule::Times;
use service::Service;
use slots::SLOTS;

/// What of the Makefile builds and fetches what this needs.
const TARGET: &str = "bench-qos";

/// What `make bench-qos` is told.
struct Settings {
    envoy: PathBuf,
    envoy_version: String,
    weir: PathBuf,
    has_qos: bool,
    workers: usize,
    loads: Vec<f64>,
    times: Times,
    only: Vec<String>,
}

/// One contender under one load.
struct Run {
    load: f64,
    label: &'static str,
    outcome: Outcome,
}

fn main() -> ExitCode {
    if env::args().nth(1).is_some_and(|argument| argument == upstream::ARGUMENT) {
        return ended("upstream", upstream::serve().map_err(|e| e.to_string()));
    }
    // `cargo test --all-targets` runs benches too, without this word.
    if !env::args().any(|argument| argument == "--bench") {
        println!("not measured: run it with make bench-qos");
        return ExitCode::SUCCESS;
    }
    ended("bench-qos", Settings::read().and_then(|settings| print(&settings)))
}

fn ended(who: &str, how: Result<(), String>) -> ExitCode {
    match how {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{who}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print(settings: &Settings) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runs = runtime.map_err(|e| e.to_string())?.block_on(async {
        tokio::select! {
            runs = measure(settings) => runs,
            // What has been started ends with its handles.
            () = signals::told_to_stop() => Err("stopped".to_owned()),
        }
    })?;
    println!("{}", report::write(settings, &runs));
    Ok(())
}

async fn measure(settings: &Settings) -> Result<Vec<Run>, String> {
    let mut contenders = contenders::all(&settings.weir, settings.has_qos);
    contenders.retain(|one| settings.only.is_empty() || settings.only.iter().any(|name| name == one.name));
    let mut runs = Vec::new();
    for &load in &settings.loads {
        for contender in &contenders {
            let outcome =
                run(settings, contender, load).await.map_err(|e| format!("{}: {e}", contender.name))?;
            let run = Run { load, label: contender.label, outcome };
            eprintln!("{}", report::line(contender.name, &run));
            runs.push(run);
        }
    }
    Ok(runs)
}

async fn run(settings: &Settings, contender: &Contender, load: f64) -> Result<Outcome, String> {
    let times = settings.times;
    let service = Service::start().map_err(|e| e.to_string())?;
    let front = Front { upstream: service.address, filter: contender.filter.clone() };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-qos").join(contender.name);
    let proxy = Proxy::start_with(settings.workers, &settings.envoy, &folder, &front)?;

    let mut drive = Drive::begin(proxy.address, schedule::schedule(load, times)).await?;
    drive.until(times.quiet).await;
    let before = service.work().await?;
    drive.until(times.end()).await;
    let after = service.work().await?;
    let sent = drive.finish().await;

    let (stated, taken) = (after.stated - before.stated, after.taken - before.taken);
    if taken > stated * 1.05 {
        eprintln!("for want of CPU the service took {:.2} times what it should", taken / stated);
    }
    Ok(Outcome::of(&sent, times, taken / (times.attack.as_secs_f64() * SLOTS as f64)))
}

impl Settings {
    fn read() -> Result<Settings, String> {
        let envoy = files::file("WEIR_ENVOY", "target/envoy/envoy", TARGET)?;
        let envoy_version = files::version(&envoy).map_err(|e| e.to_string())?;
        let seconds = |variable, default| number(variable, default).map(Duration::from_secs);
        Ok(Settings {
            envoy,
            envoy_version,
            weir: files::file("WEIR_WASM", "target/weir.wasm", TARGET)?,
            has_qos: env::var("QOS").map_or(true, |text| text != "no"),
            workers: number("WORKERS", 2)?.clamp(1, 64) as usize,
            loads: words("LOADS", "0.9,1.5,3").iter().map(|text| a_load(text)).collect::<Result<_, _>>()?,
            times: Times { quiet: seconds("QUIET", 25)?, attack: seconds("ATTACK", 45)? },
            only: words("ONLY", ""),
        })
    }
}

fn a_load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load| (0.0..=20.0).contains(load));
    load.ok_or_else(|| format!("LOADS has {text}, which is no number from 0 to 20"))
}

fn number(variable: &str, default: u64) -> Result<u64, String> {
    let text = env::var(variable).unwrap_or_default();
    match text.as_str() {
        "" => Ok(default),
        text => text.parse().map_err(|_| format!("{variable}={text} is not a number")),
    }
}

fn words(variable: &str, default: &str) -> Vec<String> {
    let text = env::var(variable).unwrap_or_default();
    let text = if text.is_empty() { default } else { &text };
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
