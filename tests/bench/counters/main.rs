//! Weir's counters beside what people use today, in one run: what an event costs, what memory it takes, and what is
//! left of a limit in a flood of keys. `make bench` prints the tables, and they go into README.
//!
//! All contenders are single-threaded here, hash the same IPv4 address (all but `pingora-limits` with a SipHash), and
//! are held to the same quota where they can be. Time is virtual; those that read a clock of their own are paced by
//! it. [`pace`] measures in rounds that go around all contenders, so that what disturbs the machine disturbs all;
//! [`flood`] tells what they did.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a program for developers: it may stop at a surprise, must read the clock, and the rivals keep maps"
)]

mod contenders;
mod flood;
mod memory;
#[path = "../common/numbers.rs"]
mod numbers;
mod pace;
#[path = "../common/paper.rs"]
mod paper;
mod rivals;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fn main() {
    // `cargo test --all-targets` runs benches too, without this word.
    if std::env::args().any(|argument| argument == "--bench") {
        println!("Measured with `make bench` on {}: {}.\n", paper::today(), paper::machine());
        pace::print();
        println!();
        flood::print();
    }
}
