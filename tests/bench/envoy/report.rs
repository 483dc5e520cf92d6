//! The tables, in Markdown, as README has them.

use std::fmt::Write;
use std::fs;

use crate::filters::Limit;
use crate::load::MANY;
use crate::numbers::{Spread, quantile};
use crate::paper::{grouped, machine, today};
use crate::{Contender, Results, Series, Settings, Start, Traffic};

/// All tables and what they were measured on.
pub fn write(settings: &Settings, results: &Results) -> String {
    let mut text = format!(
        "Measured with `make bench-envoy` on {}: {}; Envoy {} with one worker, which answers by itself \
         (direct_response); {} interleaved rounds of {} requests over keep-alive HTTP/1.1, all started anew {} times. \
         *CPU* is that of the whole Envoy; *added*: median and middle half of the differences to the Envoy without \
         a filter in the same round. *Latency* with one request under way at a time.\n",
        today(),
        machine(),
        settings.envoy_version,
        settings.rounds,
        grouped(settings.requests),
        settings.starts,
    );
    for traffic in Traffic::ALL {
        write_traffic(&mut text, results, traffic);
    }
    text.push_str("\n| start and memory | module | ready after | ");
    writeln!(text, "memory, {} clients seen |\n|---|--:|--:|--:|", grouped(MANY as usize)).unwrap();
    for (contender, starts) in results.contenders.iter().zip(&results.starts) {
        if contender.limit == Limit::High {
            writeln!(text, "{}", start_and_memory(contender, starts)).unwrap();
        }
    }
    text
}

fn write_traffic(text: &mut String, results: &Results, traffic: Traffic) {
    // A refusal is compared with an answer of the Envoy that has no filter.
    let compared = if traffic == Traffic::Flood { Traffic::OneClient } else { traffic };
    let find = |name| {
        let mut all = results.series.iter();
        all.find(|s| s.traffic == compared && results.contenders[s.contender].name == name)
    };
    let Some(without) = find("none") else { return };
    let empty = find("empty").map(|empty| added(empty, without).median);
    let mut rows = results.series.iter().filter(|series| series.traffic == traffic).peekable();
    if rows.peek().is_none() {
        return;
    }
    let title = match traffic {
        Traffic::OneClient => "one client, below its limit".to_owned(),
        Traffic::ManyClients => format!("each request another of {} clients", grouped(MANY as usize)),
        Traffic::Flood => "one client, everything refused (429)".to_owned(),
    };
    writeln!(text, "\n| {title} | CPU | added | middle half | × empty filter | latency p50 | p99 |").unwrap();
    writeln!(text, "|---|--:|--:|--:|--:|--:|--:|").unwrap();
    for series in rows {
        writeln!(text, "{}", row(&results.contenders[series.contender], series, without, empty)).unwrap();
    }
}

/// What a series spends beyond another, round by round.
fn added(series: &Series, without: &Series) -> Spread {
    let pairs = series.cpu_us.iter().zip(&without.cpu_us);
    Spread::of(&pairs.map(|(with, without)| with - without).collect::<Vec<_>>())
}

fn row(contender: &Contender, series: &Series, without: &Series, empty: Option<f64>) -> String {
    let mut cells = vec![contender.label.to_owned(), format!("{:.1} µs", Spread::of(&series.cpu_us).median)];
    if std::ptr::eq(series, without) {
        cells.extend(["–", "–", "–"].map(str::to_owned));
    } else {
        let added = added(series, without);
        cells.push(format!("**{:+.1} µs**", added.median));
        cells.push(format!("{:+.1} … {:+.1}", added.lower, added.upper));
        cells.push(empty.map_or("–".to_owned(), |empty| format!("{:.1}", added.median / empty)));
    }
    cells.push(format!("{:.0} µs", quantile(&series.latencies_us, 0.5)));
    cells.push(format!("{:.0} µs", quantile(&series.latencies_us, 0.99)));
    format!("| {} |", cells.join(" | "))
}

fn start_and_memory(contender: &Contender, starts: &[Start]) -> String {
    let median = |of: fn(&Start) -> f64| Spread::of(&starts.iter().map(of).collect::<Vec<_>>()).median;
    let size = |module| fs::metadata(module).map_or(0, |data| data.len().div_ceil(1000));
    format!(
        "| {} | {} | {:.0} ms | {:.0} MiB |",
        contender.label,
        contender.module.as_ref().map_or("–".to_owned(), |module| format!("{} kB", size(module))),
        median(|start| start.ready_ms),
        median(|start| start.resident_mib)
    )
}
