//! One rule in words.

use super::consequence::{before_the_handshake, consequence, judges_any_connection};
use super::units::{rate, span};
use std::fmt::Write;
use weir::config::plan::Plan;
use weir::counters::bucket::Quota;
use weir::detect::rules::{Host, Listed, Match, Rate, Rule};
use weir::identity::key::Part;
use weir::identity::subjects::KeyIndex;
use weir::policy::Response;

/// The rule at this index of the file.
pub fn describe(plan: &Plan, index: usize, rule: &Rule, response: &Response, out: &mut String) {
    let state = if rule.enabled { response.mode.name() } else { "not enabled" };
    let _ = writeln!(out, "\nrule {}   {} ({state})", index + 1, rule.name);
    match rule.rates.is_empty() {
        true if judges_any_connection(plan, rule) => out.push_str("for      connections and requests\n"),
        true => drop(writeln!(out, "for      {}", requests(&rule.matches))),
        false => drop(writeln!(out, "counts   {}, per {}", counted(rule), key(plan, rule))),
    }
    for listed in &rule.prints.0 {
        let _ = writeln!(out, "         only callers with {}", prints(plan, listed));
    }
    if rule.only.is_some() {
        out.push_str("         only from the addresses in rate_limited_ips\n");
    } else if is_claimed(plan, rule) {
        out.push_str("         not from addresses that another rule has in rate_limited_ips\n");
    }
    for (rate, quota) in rule.rates.iter() {
        let _ = writeln!(out, "passes   {}{}", allowance(quota), of(rule, rate));
    }
    let what = match rule.rates.iter().count() {
        0 => "what    ",
        1 => "beyond  ",
        _ => "beyond   all of these:",
    };
    let _ = writeln!(out, "{what} {}", consequence(plan, rule, response));
    if let Some(before) = before_the_handshake(plan, rule, response) {
        let _ = writeln!(out, "         {before}");
    }
}

/// Has another rule taken addresses from this one?
fn is_claimed(plan: &Plan, rule: &Rule) -> bool {
    rule.rates
        .iter()
        .any(|(rate, _)| plan.rules.claimed.get(rate as usize).is_some_and(|claimed| !claimed.is_empty()))
}

/// What a rule counts, in words.
fn counted(rule: &Rule) -> String {
    let words = |rate: Rate| match rate {
        Rate::Requests => requests(&rule.matches),
        Rate::Connections => "new connections".to_owned(),
        Rate::Errors => format!("HTTP/2 errors of {}", requests(&rule.matches)),
    };
    let counted: Vec<String> = rule.rates.iter().map(|(rate, _)| words(rate)).collect();
    counted.join(" and ")
}

/// Which of several rates is meant.
fn of(rule: &Rule, rate: Rate) -> &'static str {
    match rate {
        _ if rule.rates.iter().count() < 2 => "",
        Rate::Requests => ", of requests",
        Rate::Connections => ", of connections",
        Rate::Errors => ", of errors",
    }
}

fn prints(plan: &Plan, listed: &Listed) -> String {
    let method = plan.fingerprints.iter().find(|supply| supply.method.place == listed.place);
    let name = method.map_or("", |supply| &supply.method.name);
    match &*listed.values {
        [one] => format!("{name} {}", String::from_utf8_lossy(one)),
        many => format!("one of {} listed {name}", many.len()),
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

/// Whom it counts by.
pub fn key(plan: &Plan, rule: &Rule) -> String {
    parts(plan, rule.key)
}

/// A key's parts.
pub fn parts(plan: &Plan, key: KeyIndex) -> String {
    let parts: Vec<String> = plan.keys.parts(key).iter().map(part).collect();
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
        Part::Network => "network".into(),
        Part::Fingerprint(method) => method.name.to_string(),
        Part::Header(name) => format!("value of header {name}"),
        Part::Cookie(name) => format!("value of cookie {name}"),
        Part::Path => "path".into(),
    }
}

fn allowance(quota: &Quota) -> String {
    let Quota { interval, burst, .. } = quota;
    format!("{burst} at once, then one every {} ({})", span(*interval), rate(*interval))
}
