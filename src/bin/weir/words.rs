//! A compiled configuration in words: who is counted, how many may come, what happens to the others.

mod bans;
mod consequence;
mod detectors;
mod guard;
mod memory;
mod rule;
mod units;

use std::fmt::Write;
use units::span;
use weir::config::advice::warnings;
use weir::config::plan::Plan;
use weir::identity::exempt::{Exemption, PathPattern};
use weir::policy::Mode;

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
    let _ = writeln!(out, "workers  exchange every {}", span(plan.exchange.interval));
    memory::describe(plan, &mut out);
    for (index, (rule, response)) in plan.rules.rules.iter().zip(&plan.policy.rules).enumerate() {
        rule::describe(plan, index, rule, response, &mut out);
    }
    detectors::describe(plan, &mut out);
    guard::describe(plan, &mut out);
    bans::describe(plan, &mut out);
    events(plan, &mut out);
    for warning in warnings(plan) {
        let _ = write!(out, "\nwarning: {warning}");
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Where events go, where that is not the log alone.
fn events(plan: &Plan, out: &mut String) {
    let log = if plan.events.log { "in Envoy's log, and " } else { "" };
    match &plan.events.webhook {
        Some(hook) => {
            let _ = writeln!(
                out,
                "\nevents   {log}posted to {} of Envoy's cluster {}, which must exist",
                hook.path, hook.cluster
            );
        }
        None if !plan.events.log => out.push_str("\nevents   none\n"),
        None => {}
    }
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
