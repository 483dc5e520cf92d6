//! The traffic guard and the tiers in words.

use super::units::{count, span};
use std::fmt::Write;
use weir::config::advice::decimal;
use weir::config::plan::Plan;
use weir::detect::surge::{Dimension, Judge, Settings};
use weir::policy::{Action, Settings as Policy};
use weir::time::Nanos;

/// What is unusual, and what follows.
pub fn describe(plan: &Plan, out: &mut String) {
    match &plan.traffic {
        Some(traffic) => unusual(plan, traffic, out),
        None => out.push_str("\ntraffic  not compared with what is usual\n"),
    }
    if plan.traffic.is_some() || plan.detectors.novelty.is_some() {
        tiers(&plan.policy, out);
    }
}

fn unusual(plan: &Plan, traffic: &Settings, out: &mut String) {
    let _ = writeln!(
        out,
        "\ntraffic  counted in buckets of {} ({})",
        span(traffic.bucket),
        plan.traffic_mode.name()
    );
    let (mean, warmup) = (traffic.learning.buckets(), count(traffic.warmup, "bucket"));
    let known = span(traffic.bucket.times(traffic.warmup.into()));
    let _ = writeln!(out, "usual    the mean of the last {mean} or so, known after {warmup} ({known})");
    out.push_str("surge    more in a bucket than each of …\n");
    for (dimension, judge) in Dimension::ALL.into_iter().zip(&traffic.dimensions) {
        if let Some(judge) = judge.filter(|_| is_known(plan, dimension)) {
            let _ = writeln!(out, "         {}: {}", subject(dimension), surge(dimension, &judge, traffic));
        }
    }
    routes(traffic, out);
}

/// Can there be a subject?
fn is_known(plan: &Plan, dimension: Dimension) -> bool {
    match dimension {
        Dimension::Route | Dimension::Source => true,
        Dimension::Consumer => !plan.identity.consumer.is_empty(),
        Dimension::Network => plan.network.is_some(),
    }
}

fn subject(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Route => "a route",
        Dimension::Source => "a client",
        Dimension::Consumer => "a consumer",
        Dimension::Network => "a network",
    }
}

fn routes(traffic: &Settings, out: &mut String) {
    if traffic.dimensions.first().is_none_or(Option::is_none) {
        return;
    }
    for (name, judge) in &traffic.routes {
        let _ = writeln!(out, "         route {name}: {}", surge(Dimension::Route, judge, traffic));
    }
}

fn surge(dimension: Dimension, judge: &Judge, traffic: &Settings) -> String {
    let Judge { factor, deviations, floor, weight, relearn_after } = *judge;
    let beyond = match deviations {
        0.0 => String::new(),
        some => format!(", {} usual deviations above it", decimal(some.into())),
    };
    let relearned = relearn_after
        .map(|buckets| format!("; its new usual after {}", span(traffic.bucket.times(buckets.into()))));
    format!(
        "{} requests, {} times the usual{beyond}: {}{}",
        decimal(floor.into()),
        decimal(factor.into()),
        points(weight, dimension.kind().escalates()),
        relearned.unwrap_or_default()
    )
}

/// What a surge weighs, and what it comes to.
fn points(weight: u8, escalates: bool) -> String {
    let [twice, four_times] = [20, 40].map(|more| weight.saturating_add(more).min(100));
    match escalates {
        true => {
            format!("{}, {twice} from twice that on, {four_times} from four times", count(weight, "point"))
        }
        false => count(weight, "point"),
    }
}

fn tiers(policy: &Policy, out: &mut String) {
    if policy.tiers.iter().next().is_none() {
        out.push_str("tiers    none: signals are reported\n");
    }
    for (i, tier) in policy.tiers.iter().enumerate() {
        let name = if i == 0 { "tiers" } else { "" };
        let _ = writeln!(
            out,
            "{name:8} from {} on: {}",
            count(tier.min_score, "point"),
            act(policy, tier.action)
        );
    }
}

/// What a browser has to do.
fn challenge(policy: &Policy) -> String {
    let [least, most] = policy.challenge.difficulty;
    let lasts = span(Nanos::from_secs(policy.challenge.clearance_seconds.into()));
    format!("challenge: browsers that go to a page work {least} to {most} bits, and are cleared for {lasts}")
}

fn act(policy: &Policy, action: Action) -> String {
    let quota = || format!("{} in {} pass, then 429", policy.quota.quota, span(policy.quota.window));
    match action {
        Action::Log => "log: passes, with an event".into(),
        Action::Tarpit => format!("tarpit: passes after {}", span(policy.tarpit.delay)),
        Action::Throttle => format!("throttle: {}", quota()),
        Action::Challenge => format!("{}; others: {}", challenge(policy), quota()),
        Action::Shed => "shed: 503".into(),
        Action::Deny => "deny: 403".into(),
        Action::Block => "block: 403, and a ban".into(),
        Action::Close => "close: 403, and the end of the connection".into(),
    }
}
