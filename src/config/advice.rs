//! What a configuration allows and its operator perhaps did not mean. `weir check` prints it, the module logs it.

use super::plan::Plan;
use crate::counters::bucket::{Charge, Quota};
use crate::detect::rules::Rule;
use crate::identity::key::Part;
use crate::policy::{Action, Mode, Response};
use core::net::Ipv4Addr;

/// One line on what is in force.
pub fn summary(plan: &Plan) -> String {
    let count = |n: usize, thing: &str| format!("{n} {thing}{}", if n == 1 { "" } else { "s" });
    let binding = enabled(plan).filter(|(_, response)| response.mode == Mode::Enforce).count();
    format!(
        "mode {}, {} of which {binding} enforced, {}",
        plan.mode.name(),
        count(enabled(plan).count(), "rule"),
        count(plan.exempt.len(), "exemption")
    )
}

/// Everything worth a second look.
pub fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings: Vec<String> = toothless(plan).map(str::to_owned).into_iter().collect();
    for (index, (rule, response)) in enabled(plan).enumerate() {
        let doubts = doubts(plan, index, rule, response);
        warnings.extend(doubts.map(|doubt| format!("rule {}: {doubt}", rule.name)));
    }
    for (field, list) in [("proxies", &plan.identity.proxies), ("trusted_ips", &plan.identity.trusted)] {
        if list.contains(Ipv4Addr::UNSPECIFIED.into()) && list.contains(Ipv4Addr::BROADCAST.into()) {
            warnings.push(format!("client.{field} has every IPv4 address, so none has a limit as a client"));
        }
    }
    if !plan.identity.consumer.is_empty() && !plan.rules.keys.iter().any(|key| key.has(&Part::Consumer)) {
        warnings.push("there is a consumer section, but no rule counts by consumer".to_owned());
    }
    warnings
}

fn enabled(plan: &Plan) -> impl Iterator<Item = (&Rule, &Response)> {
    plan.rules.rules.iter().zip(&plan.policy.rules).filter(|(rule, _)| rule.enabled)
}

fn toothless(plan: &Plan) -> Option<&'static str> {
    if plan.rules.rules.is_empty() {
        Some("there are no rules, so nothing is limited")
    } else if enabled(plan).count() == 0 {
        Some("no rule is enabled, so nothing is limited")
    } else if enabled(plan).all(|(_, response)| response.mode == Mode::Observe) {
        Some("nothing is refused: every rule observes; \"mode\": \"enforce\" makes them act")
    } else {
        None
    }
}

fn doubts(plan: &Plan, index: usize, rule: &Rule, response: &Response) -> impl Iterator<Item = String> {
    let quota = rule.requests.as_ref();
    let single =
        quota.filter(|quota| quota.burst == 1 && response.actions.answer != Action::Log).map(single_burst);
    let admitted = quota.is_some_and(|quota| quota.charge == Charge::Admitted);
    let both = (admitted && response.actions.answer == Action::Deny)
        .then(|| "deny is the answer, so throttle only makes it charge what it admits".to_owned());
    let hides = hides_others(plan, index, response).then(|| {
        "it only logs, and who is over it is not judged by the rules after it; put it last, or let it observe".to_owned()
    });
    let chosen = plan.rules.parts(rule).iter().all(|part| matches!(part, Part::Header(_) | Part::Cookie(_)));
    let chosen = chosen.then(|| {
        "callers choose what they send: each new value has a new bucket, and who sends none is not counted; count by client too, here or in another rule"
            .to_owned()
    });
    [single, both, hides, chosen].into_iter().flatten()
}

fn single_burst(quota: &Quota) -> String {
    let ten = decimal(quota.interval.0 as f64 / 1e9 * 10.0);
    format!("a second request at once is over the limit; for 10 at once set req_burst_multiplier to {ten}")
}

/// Does a rule that lets pass stand before one that would refuse?
fn hides_others(plan: &Plan, index: usize, response: &Response) -> bool {
    let binds = |response: &Response| response.mode == Mode::Enforce;
    let refuses = |response: &Response| binds(response) && response.actions.answer != Action::Log;
    binds(response)
        && response.actions.answer == Action::Log
        && enabled(plan).skip(index + 1).any(|(_, later)| refuses(later))
}

/// A number with at most three decimals, and none that say nothing.
pub fn decimal(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn of(rules: &str) -> Vec<String> {
        let text = format!(r#"{{"mode": "enforce", "rules": [{rules}]}}"#);
        warnings(&config::parse(text.as_bytes()).unwrap())
    }

    const THROTTLE: &str = r#"{"name": "limit", "filter": {"max_req_rate": 10}, "action": ["throttle"]}"#;
    const LOG: &str = r#"{"name": "watch", "filter": {"max_req_rate": 5}, "action": ["log"]}"#;

    #[test]
    fn a_rule_that_only_logs_before_one_that_refuses_is_doubted() {
        assert_eq!(of(&format!("{LOG}, {THROTTLE}")).len(), 1);
        assert!(of(&format!("{THROTTLE}, {LOG}")).is_empty());
        let observing = LOG.replace(r#""name""#, r#""mode": "observe", "name""#);
        assert!(of(&format!("{observing}, {THROTTLE}")).is_empty());
    }

    #[test]
    fn what_is_in_force_fits_one_line() {
        let plan = config::parse(format!(r#"{{"rules": [{THROTTLE}, {LOG}]}}"#).as_bytes()).unwrap();
        assert_eq!(summary(&plan), "mode observe, 2 rules of which 0 enforced, 0 exemptions");
    }
}
