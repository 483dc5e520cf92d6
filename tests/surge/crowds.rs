//! More keys than there is room for, and the table of what merging is worth.

use crate::process::*;
use weir::detect::surge::Dimension::Source;

/// 2,000,000 keys that come once, within a minute, beside 1,000 that come all the time.
#[test]
fn established_keys_keep_what_is_usual_for_them_while_millions_pass() {
    let mut process = Process::with(1, settings(false), 20_000);
    let regulars: Vec<Flow> = (0..1_000).map(|n| Flow::source(n, 1.0)).collect();
    process.signals(&regulars, 20 * BUCKET);
    for request in 0..2_000_000 {
        process.request(0, [None, Some(1_000_000 + request), None, None], true);
        if request % 33 == 0 {
            process.request(0, [None, Some(request / 33 % 1_000), None, None], true);
            process.wait(0.001);
        }
    }
    let mut noticed = vec![false; 1_000];
    let flood: Vec<Flow> = regulars.iter().map(|flow| flow.at(12.0)).collect();
    process.run(&flood, 2 * BUCKET, |met| noticed[met.flow] |= met.surges(Source));
    let kept = noticed.iter().filter(|noticed| **noticed).count();
    println!("{kept} of 1,000 are known; {:?}", process.workers[0].stats());
    assert_eq!(kept, 1_000);
}

/// EXCHANGE §10: steady sources of 8 requests a second, then four times as many.
#[test]
fn table_of_steady_sources_and_a_surge() {
    println!("| traffic | workers | surging falsely | found |\n|---|--:|--:|--:|");
    for (name, home) in
        [("spread evenly", Home::Even), ("one connection, moves every 60 s", Home::Moving(60))]
    {
        for workers in [1, 4, 16] {
            let mut process = Process::with(workers, settings(false), 4096);
            let flows: Vec<Flow> = (0..300).map(|n| Flow { home, ..Flow::source(n, 8.0) }).collect();
            let (mut wrongly, mut found) = (vec![false; flows.len()], vec![false; flows.len()]);
            process.run(&flows, 40 * BUCKET, |met| wrongly[met.flow] |= met.surges(Source));
            let surge: Vec<Flow> = flows.iter().map(|flow| flow.at(32.0)).collect();
            process.run(&surge, 2 * BUCKET, |met| found[met.flow] |= met.surges(Source));
            let percent = |all: &[bool]| all.iter().filter(|is| **is).count() * 100 / all.len();
            println!("| {name} | {workers} | {} % | {} % |", percent(&wrongly), percent(&found));
            assert_eq!((percent(&wrongly), percent(&found)), (0, 100), "{name}, {workers}");
            let too_late = process.stats(|stats| stats.late + stats.lost);
            assert_eq!(too_late, 0, "each bucket is complete before it is folded");
        }
    }
}
