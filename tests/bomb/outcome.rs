//! What came of it, as a table.

use std::fmt::Write;

use super::paper::grouped;
use super::sides::Side;
use super::watch::{Fared, Sample, Seen};

/// A show that has ended.
#[derive(Debug)]
pub struct Outcome {
    pub samples: Vec<Sample>,
    /// The latest sample before the attack, and the latest of its climb, when tables have been touched.
    pub before: Sample,
    pub warm: Sample,
    /// How the client that behaves fared from begin to end.
    pub good: [Fared; 2],
    /// Why the attack ended before its time, if it did.
    pub cut_short: Option<String>,
}

impl Outcome {
    /// What was seen at the end.
    pub fn last(&self, side: Side) -> Seen {
        self.samples.last().map(|sample| *sample.of(side)).unwrap_or_default()
    }

    /// What the process grew by after the attack's climb.
    pub fn growth_mib(&self, side: Side) -> f64 {
        self.last(side).resident_mib - self.warm.of(side).resident_mib
    }

    /// In Markdown.
    pub fn table(&self) -> String {
        let clients = self.samples.last().map_or(0, Sample::clients);
        let mut text = format!(
            "| {} distinct clients | Weir | naive limiter |\n|---|--:|--:|\n",
            grouped(clients as usize)
        );
        let mut row = |name: &str, of: &dyn Fn(Side) -> String| {
            let [weir, naive] = Side::BOTH.map(of);
            // Written to memory: it can't fail.
            let _ = writeln!(text, "| {name} | {weir} | {naive} |");
        };
        let mib = |mib: f64| format!("{mib:.1} MiB");
        row("memory before the attack", &|side| mib(self.before.of(side).resident_mib));
        let warm = format!("memory after {} clients", grouped(self.warm.clients() as usize));
        row(&warm, &|side| mib(self.warm.of(side).resident_mib));
        row("memory at the end", &|side| mib(self.last(side).resident_mib));
        row("grown since then", &|side| format!("{:+.1} MiB", self.growth_mib(side)));
        row("tables", &|side| self.last(side).tables_mib.map_or("–".to_owned(), mib));
        row("clients noticed as new", &|side| {
            self.last(side).newcomers.map_or("–".to_owned(), |newcomers| grouped(newcomers as usize))
        });
        row("passed", &|side| grouped(self.last(side).attack.passed as usize));
        row("refused", &|side| grouped(self.last(side).attack.refused as usize));
        row("the client that behaves: served", &|side| {
            let good = &self.good[side.index()];
            format!("{:.2} % of {}", good.percent_served(), grouped(good.asked))
        });
        row("its latency, p50", &|side| format!("{:.2} ms", self.good[side.index()].p50_ms));
        row("its latency, p99", &|side| format!("{:.2} ms", self.good[side.index()].p99_ms));
        text
    }
}
