//! What the traffic guard and the policy say and their operator perhaps did not mean.

use crate::config::plan::Plan;
use crate::detect::surge::Dimension;
use crate::policy::Action;
use crate::policy::tiers::{Tier, Tiers};

/// All doubts, each once.
pub fn doubts(plan: &Plan) -> impl Iterator<Item = String> {
    let written = plan.policy.tiers != Tiers::default();
    let reached = plan.traffic.is_some() || plan.detectors.novelty.is_some();
    let unreached = (written && !reached && plan.policy.tiers.iter().next().is_some())
        .then_some("no tier is ever reached, as nothing is watched: all of traffic is off");
    let fixed = [unreached, unseen_consumers(plan), unseen_networks(plan), unused_routes(plan)];
    milder(&plan.policy.tiers).chain(fixed.into_iter().flatten().map(str::to_owned))
}

/// Tiers that do less to who threatens more.
fn milder(tiers: &Tiers) -> impl Iterator<Item = String> {
    let pairs = tiers.iter().zip(tiers.iter().skip(1));
    let alike = |a: Action, b: Action| a.is_throttle() && b.is_throttle();
    let milder = pairs
        .filter(move |(lower, higher)| higher.action < lower.action && !alike(lower.action, higher.action));
    milder.map(|(lower, higher)| {
        let tier = |tier: Tier| format!("{} from {} on", tier.action.name(), tier.min_score);
        format!("policy.tiers: {} is milder than {}", tier(higher), tier(lower))
    })
}

fn watches(plan: &Plan, dimension: Dimension) -> bool {
    let judges = plan.traffic.as_ref().map(|traffic| &traffic.dimensions);
    judges.and_then(|judges| judges.get(dimension as usize)).is_some_and(Option::is_some)
}

fn unseen_consumers(plan: &Plan) -> Option<&'static str> {
    let unseen = watches(plan, Dimension::Consumer) && plan.identity.consumer.is_empty();
    unseen.then_some("traffic.consumer is on, but without a consumer section there are none")
}

fn unseen_networks(plan: &Plan) -> Option<&'static str> {
    let unseen = watches(plan, Dimension::Network) && plan.network.is_none();
    unseen.then_some("traffic.asn is on, but without a network section no network is known")
}

fn unused_routes(plan: &Plan) -> Option<&'static str> {
    let has_routes = plan.traffic.as_ref().is_some_and(|traffic| !traffic.routes.is_empty());
    let unused = has_routes && !watches(plan, Dimension::Route);
    unused.then_some("traffic.routes says how to judge routes, but traffic.route is off")
}
