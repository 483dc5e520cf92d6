//! What one rule says and its operator perhaps did not mean.

use super::{decimal, enabled};
use crate::config::plan::{Origin, Plan};
use crate::config::rules::fields;
use crate::counters::bucket::{Charge, Quota};
use crate::detect::rules::{Rate, Rule};
use crate::identity::Method;
use crate::identity::key::Part;
use crate::policy::{Action, Mode, Response};

/// The doubts about an enabled rule, which is the `index`th of these.
pub fn doubts(plan: &Plan, index: usize, rule: &Rule, response: &Response) -> impl Iterator<Item = String> {
    let answer = response.actions.answer;
    let rates = || rule.rates.iter();
    let single = rates().find(|(_, quota)| quota.burst == 1 && answer != Action::Log);
    let single = single.map(|(rate, quota)| single_burst(rate, quota));
    let admitted = rates().any(|(_, quota)| quota.charge == Charge::Admitted);
    let both = (admitted && answer > Action::Throttle).then(|| {
        format!("{} is the answer, so what is milder only makes it charge what it admits", answer.name())
    });
    let hides = hides_others(plan, index, response).then(|| hiding(answer));
    let parts = plan.keys.parts(rule.key);
    let chosen = parts.iter().all(|part| matches!(part, Part::Header(_) | Part::Cookie(_)));
    let chosen = chosen.then(|| {
        "callers choose what they send: each new value has a new bucket, and who sends none is not counted; count by client too, here or in another rule"
            .to_owned()
    });
    let everybody = (answer == Action::Block && *parts == [Part::Route])
        .then(|| "it counts by route alone, so block bans everybody on it; count by client too".to_owned());
    let unheld = (answer == Action::Tarpit && rule.rates.of(Rate::Connections).is_some())
        .then(|| "tarpit holds requests, never connections: these pass".to_owned());
    [single, both, hides, chosen, everybody, unheld, believed(plan, rule)].into_iter().flatten()
}

fn single_burst(rate: Rate, quota: &Quota) -> String {
    let ten = decimal(quota.interval.0 as f64 / 1e9 * 10.0);
    let [_, field] = fields(rate);
    let one = match rate {
        Rate::Requests => "request",
        Rate::Connections => "connection",
        Rate::Errors => "error",
    };
    format!("a second {one} at once is over the limit; for 10 at once set {field} to {ten}")
}

/// Fingerprints that callers could write themselves.
fn believed(plan: &Plan, rule: &Rule) -> Option<String> {
    let parts = plan.keys.parts(rule.key);
    let by_key = |method: &Method| parts.contains(&Part::Fingerprint(method.clone()));
    let listed = |method: &Method| rule.prints.0.iter().any(|listed| listed.place == method.place);
    let supply = plan.fingerprints.iter().find(|supply| {
        matches!(supply.from, Origin::Header(_)) && (by_key(&supply.method) || listed(&supply.method))
    })?;
    let Origin::Header(header) = &supply.from else { return None };
    Some(format!(
        "{} comes in the header {header}, which callers can write too; let Envoy overwrite it, or take it from a filter state",
        supply.method.name
    ))
}

/// Does a rule that lets pass stand before one that would refuse?
fn hides_others(plan: &Plan, index: usize, response: &Response) -> bool {
    let binds = |response: &Response| response.mode == Mode::Enforce;
    let refuses = |response: &Response| response.actions.answer.refuses();
    let mut later = enabled(plan).skip(index + 1);
    binds(response) && !refuses(response) && later.any(|(_, later)| binds(later) && refuses(later))
}

fn hiding(answer: Action) -> String {
    let (does, instead) = match answer {
        Action::Log => ("logs", "put it last, or let it observe"),
        _ => ("delays", "put it last"),
    };
    format!("it only {does}, and who is over it is not judged by the rules after it; {instead}")
}
