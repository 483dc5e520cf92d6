//! What the detectors that count say and their operator perhaps did not mean.

use crate::config::plan::Plan;
use crate::identity::key::Part;

/// All doubts, each once.
pub fn doubts(plan: &Plan) -> impl Iterator<Item = String> {
    [everybody(plan), chosen(plan), unheard(plan)].into_iter().flatten()
}

/// A volume that no caller has for itself.
fn everybody(plan: &Plan) -> Option<String> {
    let volume = plan.detectors.volume?;
    let of_all = |part: &Part| matches!(part, Part::Path | Part::Route);
    let shared = plan.keys.parts(volume.settings.key).iter().all(of_all);
    shared.then(|| "volume.key names no caller, so all of them share one count; add client".to_owned())
}

/// One that callers can walk around.
fn chosen(plan: &Plan) -> Option<String> {
    let volume = plan.detectors.volume?;
    let parts = plan.keys.parts(volume.settings.key);
    let sent = |part: &Part| matches!(part, Part::Header(_) | Part::Cookie(_));
    let chosen = parts.iter().any(sent) && !parts.iter().any(|part| matches!(part, Part::Fingerprint(_)));
    chosen.then(|| {
        "volume.key has a header or cookie, and callers choose what they send: each new value has a new count, and who sends none is not counted".to_owned()
    })
}

/// Signals that no tier asks for.
fn unheard(plan: &Plan) -> Option<String> {
    let signals = plan.detectors.novelty.is_some() && plan.policy.tiers.iter().next().is_none();
    signals
        .then(|| "first_sighting raises the score, but policy.tiers is empty; it is reported only".to_owned())
}
