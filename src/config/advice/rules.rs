//! What one rule says and its operator perhaps did not mean.

use super::{decimal, enabled};
use crate::config::plan::Plan;
use crate::counters::bucket::{Charge, Quota};
use crate::detect::rules::Rule;
use crate::identity::key::Part;
use crate::policy::{Action, Mode, Response};

/// The doubts about an enabled rule, which is the `index`th of these.
pub fn doubts(plan: &Plan, index: usize, rule: &Rule, response: &Response) -> impl Iterator<Item = String> {
    let answer = response.actions.answer;
    let quota = rule.requests.as_ref();
    let single = quota.filter(|quota| quota.burst == 1 && answer != Action::Log).map(single_burst);
    let admitted = quota.is_some_and(|quota| quota.charge == Charge::Admitted);
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
    [single, both, hides, chosen, everybody].into_iter().flatten()
}

fn single_burst(quota: &Quota) -> String {
    let ten = decimal(quota.interval.0 as f64 / 1e9 * 10.0);
    format!("a second request at once is over the limit; for 10 at once set req_burst_multiplier to {ten}")
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
