//! What follows for who is over a rule, in words.

use super::rule::key;
use super::units::span;
use weir::config::plan::Plan;
use weir::counters::bucket::Charge;
use weir::detect::rules::{Listed, Match, Rate, Rule};
use weir::policy::{Action, Mode, Response};

/// The line on what follows.
pub fn consequence(plan: &Plan, rule: &Rule, response: &Response) -> String {
    let answer = answer(plan, rule, response);
    let event = if response.actions.log { ", with an event" } else { "" };
    let until = until(rule, response.actions.answer);
    match response.mode {
        Mode::Observe if response.actions.answer != Action::Log && answer != "passes" => {
            format!("would be {answer}{until}{event}; passes, since the rule observes")
        }
        _ => format!("{answer}{until}{event}"),
    }
}

/// Where the network filter has a part in it, the line on that.
pub fn before_the_handshake(plan: &Plan, rule: &Rule, response: &Response) -> Option<&'static str> {
    let refuses = response.actions.answer.refuses() && response.mode == Mode::Enforce;
    let counts = rule.rates.of(Rate::Connections).is_some();
    match (counts, judges_connections_alone(rule)) {
        (true, true) => Some("by the network filter weir_l4, without which nothing is counted"),
        (true, false) if refuses => {
            Some("connections are closed before their handshake, by the network filter weir_l4")
        }
        (false, _) if refuses && judges_any_connection(plan, rule) => {
            Some("with the network filter weir_l4 the connection is closed before its handshake")
        }
        _ => None,
    }
}

fn judges_connections_alone(rule: &Rule) -> bool {
    rule.rates.iter().next().is_some() && rule.rates.iter().all(|(rate, _)| rate == Rate::Connections)
}

/// Is a rule without a rate for connections too: one that goes by what is known of these alone?
pub fn judges_any_connection(plan: &Plan, rule: &Rule) -> bool {
    let in_state = |listed: &Listed| {
        plan.fingerprints.iter().any(|supply| supply.method.place == listed.place && !supply.is_in_header())
    };
    rule.rates.is_empty() && rule.matches == Match::default() && rule.prints.0.iter().any(in_state)
}

fn answer(plan: &Plan, rule: &Rule, response: &Response) -> String {
    let before = judges_connections_alone(rule);
    let status = match response.actions.answer {
        Action::Log => "passes".to_owned(),
        Action::Tarpit if before => "passes".to_owned(),
        Action::Tarpit => format!("passes after {}", span(plan.policy.tarpit.delay)),
        _ if before => "closed before the handshake".to_owned(),
        Action::Throttle => "429 with Retry-After".to_owned(),
        Action::Challenge => {
            "a challenge for browsers that go to a page, for others 429 with Retry-After".to_owned()
        }
        Action::Shed => "503 with Retry-After".to_owned(),
        Action::Deny | Action::Block => "403".to_owned(),
        Action::Close => "403 and the connection's end".to_owned(),
    };
    match response.actions.answer {
        Action::Block => {
            let ends = if response.actions.close && !before { ", the connection's end" } else { "" };
            format!(
                "{status}{ends}, and a ban of that {} for {}",
                key(plan, rule),
                span(plan.policy.ban.duration)
            )
        }
        _ => status,
    }
}

fn until(rule: &Rule, answer: Action) -> &'static str {
    let charge = rule.rates.iter().map(|(_, quota)| quota.charge).next();
    match (answer, charge) {
        (Action::Log | Action::Block, _) | (_, None) => "",
        (Action::Tarpit, _) if judges_connections_alone(rule) => "",
        (_, Some(Charge::Admitted)) => " until there is room again",
        (_, Some(Charge::Every)) => " until the caller has been quiet long enough",
    }
}
