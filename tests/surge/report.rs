//! The tables: what the site's own traffic raises, and how soon a flood is noticed; with the usual deviation and without.

use crate::replay::{DAY, Floods, faster, floods, overlaid, surges};
use weir::counters::ewma::Span;
use weir::detect::surge::Judge;
use weir::detect::surge::baseline::Terms;

/// Deviations above the mean that are usual: the default.
pub const DEVIATIONS: f32 = 5.0;

/// Sensitivities by their factor.
pub const SENSITIVITIES: [(&str, f32); 3] = [("low", 5.0), ("medium", 3.0), ("high", 2.0)];

/// The default terms of a route, but for these.
pub fn route(factor: f32, deviations: f32) -> Terms {
    let judge = Judge { factor, deviations, floor: 200.0, weight: 40, relearn_after: Some(360) };
    Terms { judge, span: Span::new(60), warmup: 6 }
}

/// A site made of the file, and its name.
pub type Site = (String, Vec<u32>);

/// The sites that are looked at: the file as it is, faster, and laid over itself.
pub fn sites(numbers: &[u32]) -> Vec<Site> {
    let days = numbers.len() / DAY;
    let mut sites = vec![("as it is".to_owned(), numbers.to_vec())];
    sites.extend([6, 30].map(|n| (format!("{n}× as busy, {n}× as fast"), faster(numbers, n))));
    sites.extend([7, days / 2].map(|n| (format!("{n} days laid over one another"), overlaid(numbers, n))));
    sites.dedup();
    sites
}

/// Surges of the site's own traffic in one of its days.
pub fn false_surges(site: &[u32], terms: &Terms) -> f64 {
    surges(site, terms).len() as f64 * DAY as f64 / site.len() as f64
}

/// Both tables, as markdown.
pub fn tables(sites: &[Site], points: usize) -> String {
    format!(
        "False surges per day of the site, at the factor alone → with {DEVIATIONS} deviations:\n\n\
         | site | days | mean, highest req/s | low (5) | medium (3) | high (2) |\n|---|--:|--:|--:|--:|--:|\n{}\n\
         Floods noticed at medium: at all / within 10 s (median), at the factor alone → with deviations if that \
         makes a difference:\n\n| site | hours | 3× | 5× | 20× |\n|---|---|--:|--:|--:|\n{}",
        sites.iter().map(false_row).collect::<String>(),
        sites
            .iter()
            .flat_map(|site| [false, true].map(|busy| flood_row(site, busy, points)))
            .collect::<String>(),
    )
}

fn false_row((name, site): &Site) -> String {
    let mean = site.iter().map(|&n| f64::from(n)).sum::<f64>() / site.len() as f64;
    let most = site.iter().copied().max().map_or(0.0, f64::from);
    let days = site.len() as f64 / DAY as f64;
    let cells = SENSITIVITIES.map(|(_, factor)| {
        let per_day = |deviations| false_surges(site, &route(factor, deviations));
        format!(" {:.1} → {:.1} |", per_day(0.0), per_day(DEVIATIONS))
    });
    format!("| {name} | {days:.1} | {:.1}, {:.0} |{}\n", mean / 10.0, most / 10.0, cells.concat())
}

fn flood_row((name, site): &Site, busy: bool, points: usize) -> String {
    let cells = [3.0, 5.0, 20.0].map(|times| {
        let flood = |deviations| floods(site, &route(3.0, deviations), times, busy, points);
        format!(" {} |", told(&flood(0.0), &flood(DEVIATIONS)))
    });
    format!("| {name} | {} |{}\n", if busy { "busy" } else { "quiet" }, cells.concat())
}

fn told(before: &Floods, after: &Floods) -> String {
    let below = |floods: &Floods| {
        (floods.below_floor as f64 / (floods.below_floor + floods.above_floor).max(1) as f64 * 100.0).round()
    };
    let (before, after, below) = (shares(before), shares(after), below(after));
    let noticed = if before == after { after } else { format!("{before} → {after}") };
    match below {
        100.0 => "below the floor".to_owned(),
        0.0 => noticed,
        _ => format!("{noticed}; {below} % below the floor"),
    }
}

fn shares(floods: &Floods) -> String {
    let mut seconds = floods.seconds.clone();
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).map_or(String::new(), |s| format!(" ({s:.1} s)"));
    format!("{:.0} / {:.0} %{median}", floods.within(f64::MAX) * 100.0, floods.within(10.0) * 100.0)
}

/// The counts of `testdata/traffic`.
pub fn two_weeks() -> Vec<u32> {
    let text = include_str!("../../testdata/traffic/nasa-1995-two-weeks.txt");
    text.lines().flat_map(str::bytes).map(|c| u32::from(c) - 33).collect()
}
