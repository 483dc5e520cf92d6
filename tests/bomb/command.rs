//! `make bomb`: the same attack at two Envoys side by side, to be watched in the terminal and on a page on localhost.
//!
//! Variables:
//! * `ATTACK_SECONDS` (60): how long the attack lasts, 5 to 600;
//! * `ATTACK_RPS` (15000): the rate that it climbs to, in requests per second at each Envoy, each from another client;
//! * `PAGE_PORT` (10080): where the page is, on 127.0.0.1;
//! * `WEIR_WASM`, `WEIR_NAIVE`, `WEIR_ENVOY`: other files than those in target/.
//!
//! Ctrl-C ends it early, in good order: the picture of what was seen is saved, and both Envoys end.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a program for developers: it may stop at a surprise, must read the clock, and waits for processes"
)]

#[path = "mod.rs"]
mod bomb;
#[path = "../bench/common/files.rs"]
#[allow(dead_code, reason = "benches say which Envoy they ran")]
mod files;
#[path = "../support/network_filters.rs"]
#[allow(dead_code, reason = "other targets have more network filters")]
mod network_filters;
#[path = "../bench/common/signals.rs"]
mod signals;
#[path = "../support/stats_tags.rs"]
mod stats_tags;
#[path = "../support/wasm_filter.rs"]
mod wasm_filter;

use std::env;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use bomb::outcome::Outcome;
use bomb::schedule::Schedule;
use bomb::sides::Binaries;
use bomb::story::Story;
use bomb::{Stop, paper, terminal};

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benches too, without this word.
    if !env::args().any(|argument| argument == "--bench") {
        println!("not shown: run it with make bomb");
        return ExitCode::SUCCESS;
    }
    let stop = Stop::default();
    stop_on_signals(stop.clone());
    match story().and_then(|story| show(&story, &stop)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bomb: {message}");
            ExitCode::FAILURE
        }
    }
}

fn show(story: &Story, stop: &Stop) -> Result<(), String> {
    println!("Two Envoys start, one with Weir, one with a naive limiter. {}", paper::machine());
    let mut is_first = true;
    let mut told = |page: SocketAddr, sample: &_| {
        if std::mem::take(&mut is_first) {
            println!("\nWatch it at http://{page}/\n\n{}", terminal::header());
        }
        println!("{}", terminal::line(sample));
    };
    let outcome = story.tell(stop, &mut told)?;
    println!("\n{}", summary(story, &outcome));
    Ok(())
}

fn summary(story: &Story, outcome: &Outcome) -> String {
    let cut_short = outcome.cut_short.iter().map(|why| format!("The attack was cut short: {why}.\n\n"));
    format!(
        "{}{}\nThe picture: {}",
        cut_short.collect::<String>(),
        outcome.table(),
        story.picture().display()
    )
}

/// Ctrl-C, or a polite kill.
fn stop_on_signals(stop: Stop) {
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            signals::told_to_stop().await;
            stop.say();
        });
    });
}

fn story() -> Result<Story, String> {
    let binaries = Binaries {
        envoy: files::file("WEIR_ENVOY", "target/envoy/envoy", "bomb")?,
        weir: files::file("WEIR_WASM", "target/weir.wasm", "bomb")?,
        naive: files::file("WEIR_NAIVE", "target/naive.wasm", "bomb")?,
    };
    let lasts = Duration::from_secs(number("ATTACK_SECONDS", 60, 5, 600)?);
    let port = number("PAGE_PORT", 10_080, 0, u64::from(u16::MAX))?;
    Ok(Story {
        binaries,
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bomb"),
        page_port: port as u16,
        quiet: Duration::from_secs(5),
        schedule: Schedule::escalating(number("ATTACK_RPS", 15_000, 100, 1_000_000)?, lasts),
        period: Duration::from_secs(1),
        resident_limit_mib: 2048.0,
    })
}

fn number(variable: &str, default: u64, least: u64, most: u64) -> Result<u64, String> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty());
    let number = text.map_or(Some(default), |text| text.parse().ok());
    let fits = number.filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| format!("{variable} is a whole number from {least} to {most}"))
}
