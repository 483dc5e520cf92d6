//! Bans, the ledger and held requests in words: as far as anything makes them.

use super::units::{count, span};
use std::fmt::Write;
use weir::config::plan::Plan;
use weir::detect::surge::Dimension;
use weir::policy::Action;

/// Who is banned when and for how long, who is held, and who is told why.
pub fn describe(plan: &Plan, out: &mut String) {
    let policy = &plan.policy;
    if charges(plan) || blocks(plan) {
        let _ = writeln!(out, "\nbans     for {} ({})", span(policy.ban.duration), policy.bans.name());
        bans(plan, out);
    }
    if plan.holds() {
        let most = count(policy.tarpit.max_concurrent, "request");
        let _ = writeln!(out, "\ntarpit   holds {most} at once, each for {}", span(policy.tarpit.delay));
    }
    if let Some(header) = &policy.why_header {
        let _ = writeln!(out, "\nwhy      the response header {header} says why a request was noticed");
    }
}

fn bans(plan: &Plan, out: &mut String) {
    let policy = &plan.policy;
    if charges(plan) {
        let (limit, window) = (policy.ledger.limit, span(policy.ledger.window));
        let _ = writeln!(
            out,
            "         of callers whose denied requests have {limit} points of their own in {window}"
        );
        let (most, denied) = (most_of_its_own(plan), least_denied(plan));
        if denied.is_none_or(|denied| denied > most) {
            let _ = writeln!(
                out,
                "         (a caller's own signals come to {most} at most, which no tier denies: so by rules alone)"
            );
        }
    }
    if blocks(plan) {
        out.push_str("         of whom `block` refuses, at once\n");
    }
    let never = &policy.ban.never;
    let lists = [
        (!never.clients.is_empty()).then(|| "the addresses in never".to_owned()),
        (!never.consumers.is_empty()).then(|| count(never.consumers.len() as u64, "consumer")),
        (!never.networks.is_empty()).then(|| count(never.networks.len() as u64, "network")),
        (!never.prints.is_empty()).then(|| count(never.prints.len() as u64, "fingerprint")),
    ];
    let lists: Vec<String> = lists.into_iter().flatten().collect();
    if !lists.is_empty() {
        let _ = writeln!(out, "         never of {}", lists.join(", "));
    }
}

/// Does anything that is refused charge the ledger? Only who was noticed by the traffic guard has a score.
fn charges(plan: &Plan) -> bool {
    plan.traffic.is_some() && answers(plan).any(|action| matches!(action, Action::Deny | Action::Block))
}

/// What the signals of a caller itself can come to.
fn most_of_its_own(plan: &Plan) -> u8 {
    let Some(traffic) = &plan.traffic else { return 0 };
    let has_consumer = !plan.identity.consumer.is_empty();
    let watched = [(Dimension::Source, true), (Dimension::Consumer, has_consumer)];
    let weights = watched.into_iter().filter(|(_, known)| *known).filter_map(|(dimension, _)| {
        let judge = (*traffic.dimensions.get(dimension as usize)?)?;
        Some(judge.weight.saturating_add(40).min(100))
    });
    weights.fold(0, |sum: u8, weight| sum.saturating_add(weight)).min(100)
}

/// The score from which on a tier charges the ledger.
fn least_denied(plan: &Plan) -> Option<u8> {
    let tiers = plan.policy.tiers.iter().filter(|tier| tier.action.is_charged());
    tiers.map(|tier| tier.min_score).min()
}

fn blocks(plan: &Plan) -> bool {
    answers(plan).any(|action| action == Action::Block)
}

/// What rules that are enabled and tiers that can be reached do.
fn answers(plan: &Plan) -> impl Iterator<Item = Action> {
    let rules = plan.rules.rules.iter().zip(&plan.policy.rules).filter(|(rule, _)| rule.enabled);
    let tiers = plan.policy.tiers.iter().filter(|_| plan.traffic.is_some());
    rules.map(|(_, response)| response.actions.answer).chain(tiers.map(|tier| tier.action))
}
