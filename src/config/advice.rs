//! What a configuration allows and its operator perhaps did not mean. `weir check` prints it, the module logs it.

mod detectors;
mod guard;
mod rules;

use super::plan::Plan;
use crate::detect::rules::Rule;
use crate::policy::{Mode, Response};
use core::net::Ipv4Addr;

/// One line on what is in force.
pub fn summary(plan: &Plan) -> String {
    let count = |n: usize, thing: &str| format!("{n} {thing}{}", if n == 1 { "" } else { "s" });
    let binding = enabled(plan).filter(|(_, response)| response.mode == Mode::Enforce).count();
    let guard = match (&plan.traffic, plan.traffic_mode) {
        (None, _) => "no traffic guard",
        (_, Mode::Observe) => "traffic guard observed",
        (_, Mode::Enforce) => "traffic guard enforced",
    };
    format!(
        "mode {}, {} of which {binding} enforced, {guard}, {}, {}",
        plan.mode.name(),
        count(enabled(plan).count(), "rule"),
        count(plan.policy.tiers.iter().count(), "tier"),
        count(plan.exempt.len(), "exemption")
    ) + &counting(plan)
}

/// The detectors that count, each with its mode, where there are any.
fn counting(plan: &Plan) -> String {
    let detectors = &plan.detectors;
    let modes = [
        ("volume", detectors.volume.map(|volume| volume.mode)),
        ("wallet", detectors.wallet.map(|wallet| wallet.mode)),
        ("loop breaker", detectors.loops.map(|loops| loops.mode)),
        ("first sighting", detectors.novelty.map(|newcomers| newcomers.mode)),
    ];
    let did = |mode: Mode| if mode == Mode::Enforce { "enforced" } else { "observed" };
    let words = modes.into_iter().filter_map(|(name, mode)| Some(format!(", {name} {}", did(mode?))));
    words.collect()
}

/// Everything worth a second look.
pub fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings: Vec<String> = toothless(plan).into_iter().collect();
    for (index, (rule, response)) in enabled(plan).enumerate() {
        let doubts = rules::doubts(plan, index, rule, response);
        warnings.extend(doubts.map(|doubt| format!("rule {}: {doubt}", rule.name)));
    }
    for (field, list) in [("proxies", &plan.identity.proxies), ("trusted_ips", &plan.identity.trusted)] {
        if list.contains(Ipv4Addr::UNSPECIFIED.into()) && list.contains(Ipv4Addr::BROADCAST.into()) {
            warnings.push(format!("client.{field} has every IPv4 address, so none has a limit as a client"));
        }
    }
    if !plan.identity.consumer.is_empty() && !plan.needs_consumer() {
        warnings.push("there is a consumer section, but nothing counts by consumer".to_owned());
    }
    warnings.extend(guard::doubts(plan));
    warnings.extend(detectors::doubts(plan));
    warnings
}

fn enabled(plan: &Plan) -> impl Iterator<Item = (&Rule, &Response)> {
    plan.rules.rules.iter().zip(&plan.policy.rules).filter(|(rule, _)| rule.enabled)
}

fn toothless(plan: &Plan) -> Option<String> {
    let has_tiers = plan.policy.tiers.iter().next().is_some();
    let guards = plan.traffic.is_some() && has_tiers;
    let rules = enabled(plan).map(|(_, response)| response.mode);
    let guard = guards.then_some(plan.traffic_mode);
    if rules.chain(guard).chain(detectors::modes(plan)).any(|mode| mode == Mode::Enforce) {
        return None;
    }
    let observing = match (enabled(plan).count() > 0, guards) {
        _ if detectors::modes(plan).next().is_some() => "every rule and detector observes",
        (true, true) => "every rule and the traffic guard observe",
        (true, false) => "every rule observes",
        (false, true) => "the traffic guard observes, and no rule is enabled",
        (false, false) => return Some(idle(plan).to_owned()),
    };
    let mend = match plan.mode {
        Mode::Observe => "\"mode\": \"enforce\" makes them act",
        Mode::Enforce => "remove their own mode to let them act",
    };
    Some(format!("nothing is refused: {observing}; {mend}"))
}

/// Why nothing would ever be refused, whatever the mode.
fn idle(plan: &Plan) -> &'static str {
    match (plan.traffic.is_some(), plan.rules.rules.is_empty()) {
        (true, _) => {
            "no rule is enabled and policy.tiers is empty, so nothing is limited; the traffic guard reports"
        }
        (false, true) => "there are no rules and no traffic guard, so nothing is limited",
        (false, false) => "no rule is enabled and there is no traffic guard, so nothing is limited",
    }
}

/// A number with at most three decimals, and none that say nothing.
pub fn decimal(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
