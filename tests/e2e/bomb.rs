//! The cardinality bomb: more clients than anything could remember, and memory that does not notice.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir::config::parse;

use crate::harness::wait::until;
use crate::harness::{binary, network_filters, project, stats_tags, wasm_filter};

#[path = "../bomb/mod.rs"]
mod show;
#[path = "../bomb/tests.rs"]
mod tests;

use show::attack::Attack;
use show::schedule::{Schedule, Step};
use show::sides::{Binaries, CONFIGURATION, Proxy, Side};
use show::story::Story;
use show::watch::METRICS;
use show::{Stop, terminal};

/// Who come first touch every part of the tables, and make Envoy take the memory that so many streams at once need.
const WARM_UP: u64 = 400_000;

const CLIENTS: u64 = 2_000_000;

const WORKERS: usize = 2;

fn binaries() -> Binaries {
    Binaries {
        envoy: binary("WEIR_ENVOY", "target/envoy/envoy", "make envoy"),
        weir: binary("WEIR_WASM", "target/weir.wasm", "make wasm"),
        naive: binary("WEIR_NAIVE", "target/naive.wasm", "scripts/build-filter.sh naive"),
    }
}

fn folder(story: &str) -> PathBuf {
    project().join("target/e2e").join(story)
}

/// A request of each of these clients, as fast as answers come.
fn flood(proxy: &Proxy, clients: Range<u64>) {
    let (expected, at_most) = (clients.end - clients.start, Duration::from_secs(300));
    let flat_out = Schedule::from(Step { per_second: 1_000_000, lasts: at_most });
    let attack = Attack::start(proxy.address, clients, flat_out, Stop::default()).unwrap();
    let tally = Arc::clone(&attack.tally);
    attack.end().unwrap();
    let counts = tally.counts();
    assert_eq!((counts.sent, counts.passed + counts.refused), (expected, expected), "{counts:?}");
}

/// The sum of all series that begin so.
fn metric(proxy: &Proxy, series: &str) -> u64 {
    let text = proxy.ask(METRICS).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(series));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.trim().parse::<u64>().ok()).sum()
}

/// Waits until the workers have told of as many requests.
async fn all_are_counted(proxy: &Proxy, requests: u64) {
    until(&format!("{requests} requests to be counted"), async || {
        let counted = metric(proxy, "weir_requests_total");
        if counted == requests { Ok(()) } else { Err(counted.to_string()) }
    })
    .await;
}

#[tokio::test]
async fn two_million_distinct_clients_leave_memory_as_it_is() {
    let proxy = Side::Weir.start(&binaries(), WORKERS, &folder("bomb.two_million")).unwrap();
    flood(&proxy, 0..WARM_UP);
    all_are_counted(&proxy, WARM_UP).await;
    let (tables, resident) = (metric(&proxy, "weir_plan_memory_bytes"), proxy.resident_kib().unwrap());
    let slots = parse(CONFIGURATION.as_bytes()).unwrap().exchange.rounded().slots;

    for part in 0..8 {
        let from = WARM_UP + CLIENTS / 8 * part;
        flood(&proxy, from..from + CLIENTS / 8);
        let used = metric(&proxy, "weir_table_slots_used{table=\"limits\"}");
        assert!(
            (1..=u64::from(slots) * WORKERS as u64).contains(&used),
            "{used} of {slots} slots per worker"
        );
    }

    all_are_counted(&proxy, WARM_UP + CLIENTS).await;
    let grown = proxy.resident_kib().unwrap().saturating_sub(resident);
    assert!(grown <= 2 * 1024, "Envoy grew by {grown} KiB from {resident} KiB");
    assert_eq!(metric(&proxy, "weir_plan_memory_bytes"), tables, "bytes of tables");
    // To Weir each was another: its sketch may take few for known ones.
    let newcomers = metric(&proxy, "weir_first_sightings_total");
    assert!(newcomers >= (WARM_UP + CLIENTS) / 100 * 99, "{newcomers} were noticed as new");
}

/// Asks as a browser does.
fn page(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Every element that begins ends, in the right order.
fn assert_is_well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1).map(|rest| rest.split_once('>').expect("a tag has an end").0) {
        let name = tag.split([' ', '/']).next().unwrap();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "in {svg}"),
            None if tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty() && svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
}

#[test]
fn the_show_in_short() {
    let story = Story {
        binaries: binaries(),
        folder: folder("bomb.show"),
        page_port: 0,
        quiet: Duration::from_secs(1),
        schedule: Schedule::escalating(8_000, Duration::from_secs(6)),
        period: Duration::from_millis(250),
        resident_limit_mib: 1024.0,
    };
    let mut pages = Vec::new();
    eprintln!("{}", terminal::header());
    let outcome = story
        .tell(&Stop::default(), &mut |address, sample| {
            eprintln!("{}", terminal::line(sample));
            pages.push(page(address, "/bomb.svg"));
            assert!(page(address, "/").contains("bomb.svg"));
        })
        .unwrap();

    assert_eq!(outcome.cut_short, None);
    let (weir, naive) = (outcome.last(Side::Weir), outcome.last(Side::Naive));
    assert!(weir.attack.sent > 30_000 && naive.attack.sent > 30_000, "{}", outcome.table());
    // Until every token is known as stolen: some hundred requests of each.
    assert!(weir.attack.passed < 10_000, "{}", outcome.table());
    assert_eq!(naive.attack.refused, 0, "the naive one sees each client once");
    let kept = outcome.good[Side::Weir.index()];
    assert!(kept.asked > 100 && kept.percent_served() >= 99.0, "{}", outcome.table());
    assert!(outcome.growth_mib(Side::Weir) <= 2.0, "{}", outcome.table());
    let grown = |side| outcome.last(side).resident_mib - outcome.before.of(side).resident_mib;
    assert!(grown(Side::Naive) > 3.0, "{}", outcome.table());

    for answer in &pages {
        let (head, svg) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("image/svg+xml"), "{head}");
        assert_is_well_formed(svg);
    }
    assert_is_well_formed(&fs::read_to_string(story.picture()).unwrap());
}
