//! The traffic guard on real traffic: how often it is wrong, and how soon it notices a flood.
//!
//! Prints the tables for the two weeks of `testdata/traffic`, or for the file that `TRAFFIC` names: one count of 10
//! seconds a line. Nothing is measured by a clock, so the numbers are the same on every machine.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers: it may stop at a surprise"
)]

#[path = "../../surge/replay.rs"]
mod replay;
#[path = "../../surge/report.rs"]
mod report;

fn main() {
    // `cargo test --all-targets` runs benches too, without this word.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let numbers = match std::env::var("TRAFFIC") {
        Ok(file) => {
            std::fs::read_to_string(file).unwrap().lines().map(|line| line.trim().parse().unwrap()).collect()
        }
        Err(_) => report::two_weeks(),
    };
    println!("{}", report::tables(&report::sites(&numbers), 1000));
}
