//! A compiled configuration in words: who is counted, how many may come, what happens to the others.

use std::fmt::Write;
use weir::config::advice::{decimal, warnings};
use weir::config::plan::Plan;
use weir::counters::bucket::{Charge, Quota};
use weir::detect::rules::{Host, Match, Rule};
use weir::identity::exempt::{Exemption, PathPattern};
use weir::identity::key::Part;
use weir::policy::{Action, Mode, Response};
use weir::time::Nanos;

/// All of it.
pub fn describe(plan: &Plan) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "mode     {}", mode(plan.mode));
    let identity = &plan.identity;
    let (v4, v6) = (identity.ipv4_prefix, identity.ipv6_prefix);
    let _ =
        writeln!(out, "client   {}, {}", network("IPv4 address", 32, v4), network("IPv6 address", 128, v6));
    if !identity.proxies.is_empty() {
        out.push_str("         addresses in client.proxies have no limit as a client\n");
    }
    never_judged(plan, &mut out);
    let made = plan.exchange.rounded();
    let mib = plan.exchange.memory_bytes() as f64 / f64::from(1 << 20);
    let _ = writeln!(
        out,
        "workers  keep {} slots and room for {} debts each ({mib:.1} MiB), exchange every {}",
        made.slots,
        8 * u64::from(made.sketch_buckets),
        span(plan.exchange.interval)
    );
    for (index, (rule, response)) in rules(plan).enumerate() {
        describe_rule(plan, index, rule, response, &mut out);
    }
    for warning in warnings(plan) {
        let _ = write!(out, "\nwarning: {warning}");
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn rules(plan: &Plan) -> impl Iterator<Item = (&Rule, &Response)> {
    plan.rules.rules.iter().zip(&plan.policy.rules)
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe: decide and report, let everything pass",
        Mode::Enforce => "enforce: decide, report and act",
    }
}

fn network(address: &str, bits: u8, prefix: u8) -> String {
    if prefix == bits { format!("each {address}") } else { format!("each /{prefix} of {address}es") }
}

fn never_judged(plan: &Plan, out: &mut String) {
    out.push_str("exempt   CORS preflights\n");
    if !plan.identity.trusted.is_empty() {
        out.push_str("         addresses in client.trusted_ips\n");
    }
    for Exemption { path, source } in &plan.exempt {
        let path = match path {
            PathPattern::Exactly(path) => format!("the path {}", String::from_utf8_lossy(path)),
            PathPattern::Prefix(path) => format!("paths that begin with {}", String::from_utf8_lossy(path)),
        };
        let source = if source.is_some() { ", from the addresses in source" } else { "" };
        let _ = writeln!(out, "         {path}{source}");
    }
}

fn describe_rule(plan: &Plan, index: usize, rule: &Rule, response: &Response, out: &mut String) {
    let state = if rule.enabled { response.mode.name() } else { "not enabled" };
    let _ = writeln!(out, "\nrule {}   {} ({state})", index + 1, rule.name);
    let _ = writeln!(out, "counts   {}, per {}", requests(&rule.matches), key(plan, rule));
    if rule.only.is_some() {
        out.push_str("         only from the addresses in rate_limited_ips\n");
    } else if !plan.rules.claimed.is_empty() {
        out.push_str("         not from addresses that another rule has in rate_limited_ips\n");
    }
    if let Some(quota) = &rule.requests {
        let _ = writeln!(out, "passes   {}", allowance(quota));
        let _ = writeln!(out, "beyond   {}", consequence(response, quota));
    }
}

fn requests(matches: &Match) -> String {
    let mut words = match matches.methods.is_empty() {
        true => String::from("requests"),
        false => format!("{} requests", matches.methods.join(", ")),
    };
    match &matches.host {
        Some(Host::Exactly(host)) => words += &format!(" for {host}"),
        Some(Host::Under(suffix)) => words += &format!(" for *{suffix}"),
        None => {}
    }
    if let Some(prefix) = &matches.path_prefix {
        words += &format!(" whose path begins with {}", String::from_utf8_lossy(prefix));
    }
    if let Some(route) = &matches.route {
        words += &format!(" on route {route}");
    }
    words
}

fn key(plan: &Plan, rule: &Rule) -> String {
    let parts: Vec<String> = plan.rules.parts(rule).iter().map(part).collect();
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("combination of {} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Client => "client".into(),
        Part::Consumer => "consumer".into(),
        Part::Route => "route".into(),
        Part::Header(name) => format!("value of header {name}"),
        Part::Cookie(name) => format!("value of cookie {name}"),
    }
}

fn allowance(quota: &Quota) -> String {
    let Quota { interval, burst, .. } = quota;
    format!("{burst} at once, then one every {} ({})", span(*interval), rate(*interval))
}

fn consequence(response: &Response, quota: &Quota) -> String {
    let answer = match response.actions.answer {
        Action::Log => "passes",
        Action::Throttle => "429 with Retry-After",
        Action::Deny => "403",
    };
    let until = match (response.actions.answer, quota.charge) {
        (Action::Log, _) => "",
        (_, Charge::Admitted) => " until there is room again",
        (_, Charge::Every) => " until the caller has been quiet long enough",
    };
    let event = if response.actions.log { ", with an event" } else { "" };
    match response.mode {
        Mode::Observe if response.actions.answer != Action::Log => {
            format!("would be {answer}{until}{event}; passes, since the rule observes")
        }
        _ => format!("{answer}{until}{event}"),
    }
}

fn span_in_seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}

/// `10 ms`, `1.5 s`, `24 h`.
fn span(span: Nanos) -> String {
    let seconds = span_in_seconds(span);
    let (number, unit) = match seconds {
        s if s >= 3_600.0 => (s / 3_600.0, "h"),
        s if s >= 60.0 => (s / 60.0, "min"),
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    format!("{} {unit}", decimal(number))
}

/// `100 per second`, `6 per minute`, `1 per day`.
fn rate(interval: Nanos) -> String {
    let per_second = 1.0 / span_in_seconds(interval);
    let units = [("second", 1.0), ("minute", 60.0), ("hour", 3_600.0), ("day", 86_400.0)];
    let fitting = units.into_iter().map(|(unit, seconds)| (unit, per_second * seconds));
    let whole = fitting.into_iter().find(|(_, number)| *number > 0.999_999);
    let (unit, number) = whole.unwrap_or(("day", per_second * 86_400.0));
    format!("{} per {unit}", decimal(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_rates_are_in_units_that_a_person_would_choose() {
        for (nanos, words, per) in [
            (10_000_000, "10 ms", "100 per second"),
            (333_333_333, "333.333 ms", "3 per second"),
            (10_000_000_000, "10 s", "6 per minute"),
            (3_600_000_000_000, "1 h", "1 per hour"),
            (86_400_000_000_000, "24 h", "1 per day"),
            (1_000, "1 µs", "1000000 per second"),
            (2_000_000_000, "2 s", "30 per minute"),
        ] {
            assert_eq!((span(Nanos(nanos)).as_str(), rate(Nanos(nanos)).as_str()), (words, per));
        }
    }
}
