//! A decision in words: for the access log, the why-header and events.

use super::Decision;
use crate::config::plan::Plan;
use crate::detect::signal::Signals;
use crate::identity::key::Caller;
use crate::policy::{Cause, Counted, Mode, Ruling};
use core::fmt::Write;

/// Writes whom something counts, as an operator reads it.
pub(super) fn describe(plan: &Plan, counted: Option<Counted>, caller: &mut Caller, out: &mut String) {
    out.clear();
    if let Some(key) = counted.and_then(|counted| plan.keys.get(counted.key)) {
        caller.describe(key, out);
    }
}

/// `rule=NAME SUBJECT`, `tier=60 score=80 signals=traffic:source_surge SUBJECT`, `ban=ledger SUBJECT`,
/// `detector=volume SUBJECT`.
pub(super) fn write_reason(plan: &Plan, decision: &Decision, subject: &str, out: &mut String) {
    out.clear();
    write_cause(plan, decision, out);
    if decision.threat.score.0 > 0 {
        write_threat(decision, out);
    }
    out.push_str(subject);
}

/// The same with the action, all of it as `name=value`, and nothing that may not stand in a header.
pub(super) fn write_why(plan: &Plan, decision: &Decision, subject: &str, out: &mut String) {
    out.clear();
    let mode = |ruling: &Ruling| if ruling.response.mode == Mode::Observe { "observe:" } else { "" };
    let _ = match decision.ruling() {
        Some(ruling) => write!(out, "action={}{} ", mode(ruling), ruling.answer().name()),
        None => write!(out, "action=allow "),
    };
    write_cause(plan, decision, out);
    if !matches!(decision.ruling().map(|ruling| ruling.cause), Some(Cause::Ban(_))) {
        write_threat(decision, out); // who is banned is not judged
    }
    out.push_str("subject=");
    out.extend(subject.chars().map(|c| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' }));
}

fn write_cause(plan: &Plan, decision: &Decision, out: &mut String) {
    let _ = match decision.ruling().map(|ruling| ruling.cause) {
        Some(cause @ Cause::Rule(_)) => write!(out, "rule={} ", rule_name(plan, &cause)),
        Some(Cause::Tier(min_score)) => write!(out, "tier={min_score} "),
        Some(Cause::Ban(reason)) => write!(out, "ban={} ", reason.name()),
        Some(Cause::Detector(detector)) => write!(out, "detector={} ", detector.name()),
        None => Ok(()),
    };
}

fn write_threat(decision: &Decision, out: &mut String) {
    let _ = write!(out, "score={} ", decision.threat.score.0);
    if !decision.signals.is_empty() {
        out.push_str("signals=");
        write_list(&decision.signals, out);
        out.push(' ');
    }
}

/// The names of signals, joined by commas.
pub(super) fn list(signals: &Signals) -> String {
    let mut out = String::new();
    write_list(signals, &mut out);
    out
}

fn write_list(signals: &Signals, out: &mut String) {
    for (index, signal) in signals.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{}", signal.kind.name());
    }
}

/// The rule that decided; empty where none did.
pub(super) fn rule_name<'a>(plan: &'a Plan, cause: &Cause) -> &'a str {
    let Cause::Rule(rule) = cause else { return "" };
    plan.rules.rules.get(usize::from(*rule)).map_or("", |rule| &rule.name)
}
