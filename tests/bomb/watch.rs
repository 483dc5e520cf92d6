//! What is to be seen at one moment: memory, decisions, and how the client that behaves fares.

use std::time::{Duration, Instant};

use super::attack::{Counts, Tally};
use super::good::{Asked, Good};
use super::numbers::quantile;
use super::sides::{Proxy, Side};

/// Latencies are told of so long a time: of one second alone they would be of twenty requests.
const WINDOW: Duration = Duration::from_secs(5);

/// Weir's own metrics. An Envoy without Weir has none.
pub const METRICS: &str = "/stats/prometheus?filter=weir_";

/// One Envoy at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Memory of the whole process.
    pub resident_mib: f64,
    /// Weir's tables by its own account.
    pub tables_mib: Option<f64>,
    /// Clients that Weir took for new ones.
    pub newcomers: Option<u64>,
    /// What became of the attack so far, and since the sample before.
    pub attack: Counts,
    pub passed_per_s: f64,
    pub refused_per_s: f64,
    pub good: Fared,
}

/// How the client that behaves fared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fared {
    /// Since it came.
    pub asked: usize,
    pub served: usize,
    /// Of what was asked lately.
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// Both Envoys at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Since the show began.
    pub at: Duration,
    /// What the attack means to send per second.
    pub offered: u64,
    pub sides: [Seen; 2],
}

impl Sample {
    pub fn of(&self, side: Side) -> &Seen {
        &self.sides[side.index()]
    }

    /// Distinct clients that both have seen. That which behaves is not among them.
    pub fn clients(&self) -> u64 {
        self.sides.iter().map(|seen| seen.attack.sent).min().unwrap_or(0)
    }
}

impl Fared {
    /// Over all that it ever asked.
    pub fn of(asked: &[Asked]) -> Fared {
        Fared::lately(asked, asked)
    }

    fn lately(all: &[Asked], lately: &[Asked]) -> Fared {
        let ms: Vec<f64> = lately.iter().map(|one| one.latency.as_secs_f64() * 1e3).collect();
        let at = |q| if ms.is_empty() { 0.0 } else { quantile(&ms, q) };
        Fared {
            asked: all.len(),
            served: all.iter().filter(|one| one.served).count(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
        }
    }

    pub fn percent_served(&self) -> f64 {
        self.served as f64 * 100.0 / self.asked.max(1) as f64
    }
}

/// Looks at one Envoy. `before` is what was seen so long ago.
///
/// # Errors
/// Envoy is gone.
pub fn look(
    proxy: &Proxy,
    tally: Option<&Tally>,
    good: &Good,
    before: (Seen, Duration),
) -> Result<Seen, String> {
    let (before, since) = before;
    let resident = proxy.resident_kib().map_err(|e| format!("Envoy's memory: {e}"))?;
    let metrics = proxy.ask(METRICS).map_err(|e| format!("Envoy's admin interface: {e}"))?;
    let attack = tally.map(Tally::counts).unwrap_or_default();
    let per_s = |now: u64, then: u64| now.saturating_sub(then) as f64 / since.as_secs_f64().max(1e-3);
    Ok(Seen {
        resident_mib: resident as f64 / 1024.0,
        tables_mib: metric(&metrics, "weir_plan_memory_bytes{}")
            .map(|bytes| bytes as f64 / f64::from(1 << 20)),
        newcomers: metric(&metrics, "weir_first_sightings_total{}"),
        attack,
        passed_per_s: per_s(attack.passed, before.attack.passed),
        refused_per_s: per_s(attack.refused, before.attack.refused),
        good: fared(&good.asked()),
    })
}

fn fared(asked: &[Asked]) -> Fared {
    let now = Instant::now();
    let lately = asked.iter().rposition(|one| now.duration_since(one.at) > WINDOW).map_or(0, |n| n + 1);
    Fared::lately(asked, &asked[lately..])
}

/// The value of one series.
fn metric(text: &str, series: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}
