//! The cardinality bomb: more clients than anything could remember, and memory that does not notice.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir::config::parse;

use crate::harness::{binary, project};

#[path = "../bomb/mod.rs"]
mod show;

use show::Stop;
use show::attack::Attack;
use show::schedule::{Schedule, Step};
use show::sides::{Binaries, CONFIGURATION, Proxy, Side};
use show::story::Story;
use show::terminal;

/// Who come first touch every part of the tables, and make Envoy take the memory that so many streams at once need.
const WARM_UP: u64 = 400_000;

const CLIENTS: u64 = 2_000_000;

fn binaries() -> Binaries {
    Binaries {
        envoy: binary("WEIR_ENVOY", "target/envoy/envoy", "make envoy"),
        weir: binary("WEIR_WASM", "target/weir.wasm", "make wasm"),
        naive: binary("WEIR_NAIVE", "target/naive.wasm", "scripts/build-filter.sh naive"),
    }
}

/// A request of each of these clients, as fast as answers come.
fn flood(proxy: &Proxy, clients: std::ops::Range<u64>) {
    let (expected, at_most) = (clients.end - clients.start, Duration::from_secs(300));
    let flat_out = Schedule::from(Step { per_second: 1_000_000, lasts: at_most });
    let attack = Attack::start(proxy.address, clients, flat_out, Stop::default()).unwrap();
    let tally = Arc::clone(&attack.tally);
    attack.end().unwrap();
    let counts = tally.counts();
    assert_eq!((counts.sent, counts.other), (expected, 0), "{counts:?}");
    assert_eq!(counts.passed + counts.refused, expected, "{counts:?}");
}

/// The sum of all series of a family, or of the one with this label.
fn metric(proxy: &Proxy, series: &str) -> u64 {
    let text = proxy.metrics("weir_").unwrap();
    let lines = text.lines().filter(|line| line.starts_with(series));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.trim().parse::<u64>().ok()).sum()
}

#[test]
fn two_million_distinct_clients_leave_memory_as_it_is() {
    let folder = project().join("target/e2e/bomb.two_million");
    let proxy = Side::Weir.start(&binaries(), &folder).unwrap();
    flood(&proxy, 0..WARM_UP);
    let (tables, resident) = (metric(&proxy, "weir_plan_memory_bytes"), proxy.resident_kib().unwrap());
    assert!(tables > 1 << 20, "{tables} bytes of tables");

    let began = std::time::Instant::now();
    for part in 1..=8 {
        let from = WARM_UP + CLIENTS / 8 * (part - 1);
        flood(&proxy, from..from + CLIENTS / 8);
        eprintln!(
            "{} {:?} {}",
            proxy.resident_kib().unwrap(),
            began.elapsed(),
            metric(&proxy, "weir_table_slots_used{table=\"limits\"}")
        );
    }
    eprintln!("{}", proxy.metrics("weir_").unwrap());

    let grown = proxy.resident_kib().unwrap().saturating_sub(resident);
    assert!(grown <= 2 * 1024, "Envoy grew by {grown} KiB from {resident} KiB");
    assert_eq!(metric(&proxy, "weir_plan_memory_bytes"), tables);
    assert_eq!(metric(&proxy, "weir_requests_total"), WARM_UP + CLIENTS);
}
