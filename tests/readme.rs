//! README says what the code does: its tables are made from the code, its examples are read by it.
//! `README=write cargo test --test readme` puts the tables in place.
#![allow(clippy::panic, clippy::unwrap_used)] // a test fails by panicking

use std::fmt::Write;
use std::fs;
use weir::config;
use weir::telemetry::families::{FAMILIES, Kind, OPERATORS};

fn metrics_table() -> String {
    let mut rows: Vec<(String, &str, String, &str)> = FAMILIES
        .iter()
        .map(|family| {
            let kind = if family.kind == Kind::Counter { "counter" } else { "gauge" };
            let labels =
                family.labels.iter().map(|(label, values)| format!("{label}: {}", values.join(", ")));
            (family.name.to_owned(), kind, labels.collect::<Vec<_>>().join("; "), family.help)
        })
        .collect();
    for (name, label, help) in OPERATORS.iter().rev() {
        let labels = format!("{label}: yours; mode: observe, enforce");
        rows.insert(3, ((*name).to_owned(), "counter", labels, help));
    }
    let mut table = String::from("| metric | kind | labels | meaning |\n|---|---|---|---|\n");
    for (name, kind, labels, help) in rows {
        let _ = writeln!(table, "| `{name}` | {kind} | {labels} | {help} |");
    }
    table
}

/// Compares what stands between two markers with what should, or puts it there.
fn holds(mark: &str, expected: &str) {
    let readme = fs::read_to_string("README.md").unwrap();
    let (begin, end) = (format!("<!-- {mark}:begin -->\n"), format!("<!-- {mark}:end -->"));
    let (before, rest) = readme.split_once(&begin).unwrap_or_else(|| panic!("README has no {begin}"));
    let (inside, after) = rest.split_once(&end).unwrap_or_else(|| panic!("README has no {end}"));
    if std::env::var("README").is_ok_and(|word| word == "write") {
        fs::write("README.md", format!("{before}{begin}{expected}{end}{after}")).unwrap();
    } else {
        assert!(inside == expected, "README is out of date at {mark}: README=write cargo test --test readme");
    }
}

#[test]
fn the_table_of_metrics_is_the_codes() {
    holds("metrics", &metrics_table());
}

#[test]
fn every_number_in_the_table_of_volumes_is_true() {
    let readme = fs::read_to_string("README.md").unwrap();
    let rows = readme.lines().skip_while(|line| !line.starts_with("| `threshold` | `tick_seconds` |"));
    let mut seen = 0;
    for row in rows.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [threshold, tick] = [0, 1].map(|at| cells[at].trim_matches('`'));
        let text = format!(r#"{{"volume": {{"threshold": {threshold}, "tick_seconds": {tick}}}}}"#);
        let plan = config::parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{row}\n{errors}"));
        let settings = plan.detectors.volume.unwrap().settings;
        assert_eq!(cells[2], format!("{} every {tick} s", settings.steady()), "{row}");
        assert_eq!(cells[3], (settings.threshold - 1).to_string(), "{row}");
        seen += 1;
    }
    assert!(seen >= 4);
}

/// The texts of all fenced blocks of one language.
fn blocks(readme: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    readme.split(&fence).skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0.to_owned())).collect()
}

#[test]
fn every_configuration_in_readme_is_accepted() {
    let readme = fs::read_to_string("README.md").unwrap();
    let configurations: Vec<String> =
        blocks(&readme, "json").into_iter().filter(|block| !block.contains("@timestamp")).collect();
    assert!(!configurations.is_empty());
    for text in configurations {
        config::parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    }
}

#[test]
fn every_number_in_the_table_of_rates_is_true() {
    let readme = fs::read_to_string("README.md").unwrap();
    let rows =
        readme.lines().skip_while(|line| !line.starts_with("| `max_req_rate` | `req_burst_multiplier` |"));
    let mut seen = 0;
    for row in rows.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let value = |cell: &str| cell.split('`').nth(1).unwrap().to_owned();
        let text = format!(
            r#"{{"rules": [{{"name": "r", "filter": {{"max_req_rate": {}, "req_burst_multiplier": {}}}, "action": ["log"]}}]}}"#,
            value(cells[0]),
            value(cells[1])
        );
        let plan = config::parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{row}\n{errors}"));
        let quota = plan.rules.rules[0].rates.0[0].unwrap();
        let every = match quota.interval.as_millis() {
            3_600_000 => "1 h".to_owned(),
            ms if ms >= 1000 => format!("{} s", ms / 1000),
            ms => format!("{ms} ms"),
        };
        assert_eq!(cells[2], format!("{} at once, then one every {every}", quota.burst));
        seen += 1;
    }
    assert!(seen >= 5);
}
