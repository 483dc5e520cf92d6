//! What the detectors that count say and their operator perhaps did not mean.

use crate::config::plan::{Detectors, Plan};
use crate::identity::key::Part;
use crate::policy::{Action, Mode};
use crate::score::Score;

/// The modes of those that refuse by themselves or through tiers.
pub fn modes(plan: &Plan) -> impl Iterator<Item = Mode> {
    let Detectors { volume, wallet, loops, novelty } = plan.detectors;
    let newcomers = novelty.filter(|_| plan.policy.tiers.iter().next().is_some());
    let bands = [volume, wallet].into_iter().flatten().map(|bands| bands.mode);
    bands.chain(loops.map(|loops| loops.mode)).chain(newcomers.map(|newcomers| newcomers.mode))
}

/// All doubts, each once.
pub fn doubts(plan: &Plan) -> impl Iterator<Item = String> {
    [everybody(plan), chosen(plan), unheard(plan), lenient(plan)].into_iter().flatten()
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

/// A tier that newcomers reach alone, and that lets each of them pass: it comes once.
fn lenient(plan: &Plan) -> Option<String> {
    let newcomers = plan.detectors.novelty?.settings;
    let tier = plan.policy.tiers.reached(Score(newcomers.weight))?;
    let quota = plan.policy.quota.quota;
    (tier.action == Action::Throttle && quota > 1).then(|| {
        format!(
            "first_sighting reaches the tier from {} on, which throttles: a newcomer has the signal once, and its quota is {quota}; tarpit or deny would be felt",
            tier.min_score
        )
    })
}
