//! QoS beside its rivals, on the same calls: who is served while an upstream suffers, and who is refused.
//!
//! Prints the tables, as means over three seeds. Arguments choose: numbers are seeds, words are tables. Nothing is
//! measured by a clock, so the numbers are the same on every machine.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers: it may stop at a surprise"
)]
#![allow(dead_code, reason = "the modules are shared with the tests")]

#[path = "../../qos/clients.rs"]
mod clients;
#[path = "../../qos/contenders.rs"]
mod contenders;
#[path = "../../qos/guard.rs"]
mod guard;
#[path = "../../qos/means.rs"]
mod means;
#[path = "../../qos/report.rs"]
mod report;
#[path = "../../qos/rivals.rs"]
mod rivals;
#[path = "../../qos/rng.rs"]
mod rng;
#[path = "../../qos/scenarios.rs"]
mod scenarios;
mod tables;
#[path = "../../qos/upstream.rs"]
mod upstream;
#[path = "../../qos/world.rs"]
mod world;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` runs benches too, without this word.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    arguments.retain(|argument| argument != "--bench");
    let (seeds, names): (Vec<String>, Vec<String>) =
        arguments.into_iter().partition(|argument| argument.parse::<u64>().is_ok());
    let seeds: Vec<u64> = seeds.iter().map(|seed| seed.parse().unwrap()).collect();
    tables::print(if seeds.is_empty() { &[1, 2, 3] } else { &seeds }, &names);
}
