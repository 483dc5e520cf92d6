//! One rule in words.

use super::units::{rate, span};
use std::fmt::Write;
use weir::config::plan::Plan;
use weir::counters::bucket::{Charge, Quota};
use weir::detect::rules::{Host, Match, Rule};
use weir::identity::key::Part;
use weir::policy::{Action, Mode, Response};

/// The rule at this index of the file.
pub fn describe(plan: &Plan, index: usize, rule: &Rule, response: &Response, out: &mut String) {
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
        let _ = writeln!(out, "beyond   {}", consequence(plan, rule, response, quota));
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
    let parts: Vec<String> = plan.keys.parts(rule.key).iter().map(part).collect();
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
        Part::Header(name) => format!("value of header {name}"),
        Part::Cookie(name) => format!("value of cookie {name}"),
    }
}

fn allowance(quota: &Quota) -> String {
    let Quota { interval, burst, .. } = quota;
    format!("{burst} at once, then one every {} ({})", span(*interval), rate(*interval))
}

fn consequence(plan: &Plan, rule: &Rule, response: &Response, quota: &Quota) -> String {
    let answer = match response.actions.answer {
        Action::Log => "passes".to_owned(),
        Action::Tarpit => format!("passes after {}", span(plan.policy.tarpit.delay)),
        Action::Throttle | Action::Challenge => "429 with Retry-After".to_owned(),
        Action::Deny | Action::Close => "403".to_owned(),
        Action::Block => {
            format!("403, and a ban of that {} for {}", key(plan, rule), span(plan.policy.ban.duration))
        }
    };
    let until = match (response.actions.answer, quota.charge) {
        (Action::Log | Action::Block, _) => "",
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
