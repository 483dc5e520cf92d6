//! The detectors that count, in words: what passes, and what happens beyond.

use super::rule::parts;
use super::units::{count, span};
use std::fmt::Write;
use weir::config::advice::decimal;
use weir::config::plan::{Armed, Plan};
use weir::detect::{loops, novelty, volume};

/// Each that is on.
pub fn describe(plan: &Plan, out: &mut String) {
    let detectors = &plan.detectors;
    if let Some(volume) = &detectors.volume {
        bands(plan, "volume  ", volume, out);
    }
    if let Some(wallet) = &detectors.wallet {
        bands(plan, "wallet  ", wallet, out);
    }
    if let Some(loops) = &detectors.loops {
        breaker(loops, out);
    }
    if let Some(newcomers) = &detectors.novelty {
        crowds(newcomers, out);
    }
}

fn bands(plan: &Plan, name: &str, detector: &Armed<volume::Settings>, out: &mut String) {
    let Armed { settings, mode } = detector;
    let _ = writeln!(out, "\n{name} requests, per {} ({})", parts(plan, settings.key), mode.name());
    let (steady, tick) = (settings.steady(), settings.tick);
    let per_second = decimal(f64::from(steady) * 1e9 / tick.0 as f64);
    let _ = writeln!(
        out,
        "passes   {steady} in every {} ({per_second} per second) for ever, {} at once from rest",
        span(tick),
        settings.threshold - 1
    );
    if settings.holds() {
        let most = settings.tarpit_threshold / 2;
        let held = span(plan.policy.tarpit.delay);
        let _ = writeln!(out, "         with more than {most} in every {}, some after {held}", span(tick));
    }
    out.push_str("beyond   429 with Retry-After until the caller comes less often\n");
}

fn breaker(detector: &Armed<loops::Settings>, out: &mut String) {
    let Armed { settings, mode } = detector;
    let tick = span(settings.tick);
    let _ = writeln!(
        out,
        "\nloops    {} of the upstream, per caller, host and path ({})",
        count(settings.threshold, "failure"),
        mode.name()
    );
    let _ = writeln!(out, "beyond   503 with Retry-After, until the next tick of {tick} without a failure");
}

fn crowds(detector: &Armed<novelty::Settings>, out: &mut String) {
    let Armed { settings, mode } = detector;
    let _ = writeln!(
        out,
        "\nnew      above {} per second not seen before: {} for the first request of each ({})",
        count(settings.rate_threshold, "client"),
        count(settings.weight, "point"),
        mode.name()
    );
}
