//! The tables, as markdown. Each cell is a mean over the seeds.

use crate::clients::{Kind, Path};
use crate::contenders::Contender;
use crate::means::Numbers;
use crate::scenarios::*;
use crate::world::{GivesUp, Scenario};

/// A table's name, and what prints it.
type Table = (&'static str, fn(&[u64]));

const TABLES: [Table; 9] = [
    ("attacks", attacks),
    ("calm", calm_loads),
    ("others", others),
    ("important", important_paths),
    ("workers", workers),
    ("targets", targets),
    ("local", local),
    ("classified", classifier),
    ("evicting", evictions),
];

/// Those that are named, or all.
pub fn print(seeds: &[u64], names: &[String]) {
    println!("Means over seeds {seeds:?}.\n");
    for (name, table) in TABLES {
        if names.is_empty() || names.iter().any(|asked| asked == name) {
            table(seeds);
            println!();
        }
    }
}

fn mean(contender: Contender, seeds: &[u64], make: &dyn Fn(u64) -> Scenario) -> Numbers {
    let runs: Vec<Numbers> = seeds.iter().map(|&seed| Numbers::of(&contender.run(&make(seed)))).collect();
    Numbers::mean(&runs)
}

fn every(seeds: &[u64], make: &dyn Fn(u64) -> Scenario) -> Vec<Numbers> {
    Contender::ALL.iter().map(|&contender| mean(contender, seeds, make)).collect()
}

/// One number of every contender: `| 1.9 | 33.4 `.
fn cells(all: &[Numbers], show: impl Fn(&Numbers) -> String) -> String {
    all.iter().map(|numbers| format!("| {} ", show(numbers))).collect()
}

fn slashed(all: &[Numbers], show: impl Fn(&Numbers) -> String) -> String {
    all.iter().map(show).collect::<Vec<_>>().join(" / ")
}

fn names() -> String {
    Contender::ALL.iter().map(|contender| format!("| {} ", contender.name())).collect()
}

/// A percentile, where there was anything to take it of.
fn ms(percentile: f64) -> String {
    if percentile.is_nan() { "–".to_owned() } else { format!("{percentile:.0}") }
}

fn rule(columns: usize) -> String {
    format!("|{}", "---|".repeat(columns))
}

const CONTENDERS: usize = Contender::ALL.len();

fn attacks(seeds: &[u64]) {
    println!(
        "Attacks. Good answers of ordinary callers, %; then of newcomers; 95th percentile of ordinary answers in the"
    );
    println!(
        "first minute and its steady part, ms; refused of ordinary callers and of attackers, %; of the last contender:"
    );
    println!("answered within 450 ms, held, deviation of the work admitted, changes of zone.\n");
    println!(
        "| attack | load {}| newcomers | p95 | p95 steady | sheds ordinary | sheds attackers | within | held | osc | zones |",
        names()
    );
    println!("{}", rule(11 + CONTENDERS));
    for (name, kind) in Kind::ALL {
        for load in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0] {
            let all = every(seeds, &|seed| attacked(seed, kind, load));
            let last = all.last().unwrap();
            println!(
                "| {name} | {load}× {}| {} | {} | {} | {} | {} | {:.1} | {:.1} | {:.2} | {:.1} |",
                cells(&all, |n| format!("{:.1}", n.good)),
                slashed(&all, |n| format!("{:.1}", n.good_newcomers)),
                slashed(&all, |n| ms(n.p95)),
                slashed(&all, |n| ms(n.p95_steady)),
                slashed(&all, |n| format!("{:.2}", n.shed_ordinary)),
                slashed(&all, |n| format!("{:.1}", n.shed_attackers)),
                last.within,
                last.held_ordinary,
                last.oscillation,
                last.zone_changes,
            );
        }
    }
}

fn calm_loads(seeds: &[u64]) {
    println!(
        "Below capacity, without attackers: ordinary calls refused, % (in the first 20 s), p95 in ms; held by the last, %.\n"
    );
    println!("| load {}| held |", names());
    println!("{}", rule(2 + CONTENDERS));
    let show = |name: String, make: &dyn Fn(u64) -> Scenario| {
        let all = every(seeds, make);
        let cell = |n: &Numbers| format!("{:.2} ({:.2}), {}", n.shed_ordinary, n.shed_before, ms(n.p95));
        println!("| {name} {}| {:.2} |", cells(&all, cell), all.last().unwrap().held_ordinary);
    };
    for load in [0.55, 0.75, 0.9, 0.95] {
        show(format!("{load}"), &|seed| calm(seed, load));
    }
    show("0.9, 4 servers".to_owned(), &|seed| sized_calm(seed, 0.9, 4));
    show("0.9, shared servers".to_owned(), &|seed| shared_servers_calm(seed, 0.9));
    for workers in [2, 4, 8] {
        show(format!("0.9, {workers} workers"), &|seed| calm(seed, 0.9).behind(workers));
    }
}

fn others(seeds: &[u64]) {
    println!(
        "Other situations: good answers of ordinary callers, %; of the last contender also from 15 s on, %, and p95 in ms,"
    );
    println!(
        "p95 from 15 s on, refused of ordinary callers in %, times it engaged and declared the upstream unreachable.\n"
    );
    println!("| situation {}| steady | p95 | p95 steady | sheds | engaged | unreachable |", names());
    println!("{}", rule(7 + CONTENDERS));
    let show = |name: &str, make: &dyn Fn(u64) -> Scenario| {
        let all = every(seeds, make);
        let last = all.last().unwrap();
        println!(
            "| {name} {}| {:.1} | {} | {} | {:.2} | {:.1} | {:.1} |",
            cells(&all, |n| format!("{:.1}", n.good)),
            last.good_steady,
            ms(last.p95),
            ms(last.p95_steady),
            last.shed_ordinary,
            last.engagements,
            last.unreachable,
        );
    };
    let a1 = Kind::Expensive(1.0);
    show("slows 3× within 50 s", &drift);
    show("10 s of 5xx", &outage);
    show("10 s hang, clients give up", &|seed| hang(seed, GivesUp::Client));
    show("10 s hang, the proxy gives up", &|seed| hang(seed, GivesUp::Proxy));
    show("350 ms away from the start", &|seed| far(seed, 0.35));
    show("400 ms away for 40 s", &|seed| away(seed, 0.4));
    show("800 ms away for 40 s", &|seed| away(seed, 0.8));
    show("a1 3× while 400 ms away", &away_and_attacked);
    show("a5 3×, 350 ms away from the start", &|seed| far_and_attacked(seed, 0.35));
    show("a1 3×, 1 s after the start", &cold);
    for (name, kind) in
        Kind::ALL.iter().filter(|(name, _)| ["a1", "a500", "greedy", "rot1", "hidden"].contains(name))
    {
        show(&format!("shared servers, {name} 3×"), &|seed| shared_servers(seed, *kind));
    }
    for servers in [64, 4] {
        for (name, kind) in Kind::ALL.iter().filter(|(name, _)| ["a1", "greedy", "rot1"].contains(name)) {
            show(&format!("{servers} servers, {name} 3×"), &|seed| sized(seed, *kind, servers));
        }
    }
    for load in [3.0, 5.0] {
        show(&format!("people try again, a1 {load}×"), &|seed| retrying(seed, a1, load));
    }
    show("arriving over 30 s, a1 5×", &|seed| arriving(seed, a1, 5.0));
    show("arriving over 30 s, rot1 3×", &|seed| arriving(seed, Kind::Rotating1, 3.0));
    show("answers of 8 MB, 3×", &|seed| attacked(seed, Kind::Bytes, 3.0));
}

fn important_paths(seeds: &[u64]) {
    println!("People alone ask for twice the capacity: of `/page`, calls answered, %, and per second.\n");
    println!("| its QoS {}|", names());
    println!("{}", rule(1 + CONTENDERS));
    for (name, qos, rps) in
        [("20", 20, None), ("50", 50, None), ("90", 90, None), ("20, qos_rps 30", 20, Some(30))]
    {
        let cell = |contender: &Contender| {
            let runs = seeds.iter().map(|&seed| contender.run(&important(seed, qos, rps)));
            let (share, rate) = runs.fold((0.0, 0.0), |(share, rate), report| {
                let page = report.paths[Path::Page as usize];
                let answered = page.answered as f64 / page.offered.max(1) as f64;
                (share + answered, rate + report.served_per_second(Path::Page))
            });
            let n = seeds.len() as f64;
            format!("| {:.0} ({:.0}/s) ", 100.0 * share / n, rate / n)
        };
        println!("| {name} {}|", Contender::ALL.iter().map(cell).collect::<String>());
    }
}

/// A run's shape behind so many workers.
type Row = (&'static str, fn(u64) -> Scenario);

fn workers(seeds: &[u64]) {
    println!(
        "Behind several workers, requests spread at random, the last contender: good answers of ordinary callers, % (p95, p95 steady, ms).\n"
    );
    const ROWS: [Row; 13] = [
        ("a1 1.5×", |seed| attacked(seed, Kind::Expensive(1.0), 1.5)),
        ("a1 3×", |seed| attacked(seed, Kind::Expensive(1.0), 3.0)),
        ("a1 5×", |seed| attacked(seed, Kind::Expensive(1.0), 5.0)),
        ("a500 3×", |seed| attacked(seed, Kind::Many, 3.0)),
        ("greedy 3×", |seed| attacked(seed, Kind::Greedy, 3.0)),
        ("greedy 5×", |seed| attacked(seed, Kind::Greedy, 5.0)),
        ("rot1 3×", |seed| attacked(seed, Kind::Rotating1, 3.0)),
        ("rot5 3×", |seed| attacked(seed, Kind::Rotating5, 3.0)),
        ("rotn 3×", |seed| attacked(seed, Kind::RotatingOrdinary, 3.0)),
        ("rotn 5×", |seed| attacked(seed, Kind::RotatingOrdinary, 5.0)),
        ("hidden 3×", |seed| attacked(seed, Kind::Hidden, 3.0)),
        ("hidrot 3×", |seed| attacked(seed, Kind::HiddenRotating, 3.0)),
        ("calm 0.9", |seed| calm(seed, 0.9)),
    ];
    println!("| attack | 1 | 2 | 4 | 8 |\n{}", rule(5));
    let last = Contender::ALL[CONTENDERS - 1];
    for (name, make) in ROWS {
        let cell = |workers| {
            let n = mean(last, seeds, &|seed| make(seed).behind(workers));
            format!("| {:.1} ({}, {}) ", n.good, ms(n.p95), ms(n.p95_steady))
        };
        println!("| {name} {}|", [1, 2, 4, 8].map(cell).concat());
    }
}

fn targets(seeds: &[u64]) {
    println!(
        "Two targets, one of which is attacked at 3×: good answers of its ordinary callers / of the other's, %.\n"
    );
    println!("| attack | the other {}|", names());
    println!("{}", rule(2 + CONTENDERS));
    for (name, kind) in Kind::ALL {
        for (how, other) in [
            ("shares the upstream", Other::Shares(50)),
            ("shares it, at QoS 90", Other::Shares(90)),
            ("has one of its own", Other::Apart),
        ] {
            let all = every(seeds, &|seed| two_targets(seed, kind, other));
            println!("| {name} | {how} {}|", cells(&all, |n| format!("{:.1} / {:.1}", n.good, n.good_other)));
        }
    }
}

fn local(seeds: &[u64]) {
    println!(
        "5,000 calls a second on one of two workers, whose event loop bears half of that; the upstream is bored. Good answers of ordinary callers, %; p95 in ms; refused of ordinary callers and of attackers, %.\n"
    );
    println!("| calls {}|", names());
    println!("{}", rule(1 + CONTENDERS));
    for (name, kind) in [("of the cheap path", Kind::Greedy), ("that cost the upstream nothing", Kind::Flood)]
    {
        let all = every(seeds, &|seed| local_stress(seed, kind));
        let cell = |n: &Numbers| {
            format!("{:.1}, {}, {:.1}, {:.1}", n.good, ms(n.p95), n.shed_ordinary, n.shed_attackers)
        };
        println!("| {name} {}|", cells(&all, cell));
    }
}

fn classifier(seeds: &[u64]) {
    println!(
        "Attackers who load pages as people do, at 2×: good answers of ordinary callers, %; refused of attackers, %.\n"
    );
    println!("| rated by a classifier {}|", names());
    println!("{}", rule(1 + CONTENDERS));
    for (name, rated) in [("no", false), ("QoS 10, from 5 s on", true)] {
        let all = every(seeds, &|seed| classified(seed, rated));
        println!("| {name} {}|", cells(&all, |n| format!("{:.1}, {:.1}", n.good, n.shed_attackers)));
    }
}

fn evictions(seeds: &[u64]) {
    println!(
        "More fresh addresses than slots (rotn): good answers of ordinary callers / newcomers, %; refused of attackers, %.\n"
    );
    println!("| load, slots {}|", names());
    println!("{}", rule(1 + CONTENDERS));
    for (name, load, slots) in [
        ("3×, 50,000", 3.0, None),
        ("5×, 50,000", 5.0, None),
        ("3×, 4,096", 3.0, Some(4_096)),
        ("5×, 4,096", 5.0, Some(4_096)),
    ] {
        let all = every(seeds, &|seed| evicting(seed, load, slots));
        let cell = |n: &Numbers| format!("{:.1} / {:.1}, {:.1}", n.good, n.good_newcomers, n.shed_attackers);
        println!("| {name} {}|", cells(&all, cell));
    }
}
