//! Who may be banned, and do bans bind? While anybody is banned each key costs a look-up per request, so that there are
//! no more than rules and tiers can ban by. Tiers have theirs while the traffic guard is off, too: bans outlast it.

use super::known::Known;
use super::plan::Plan;
use crate::identity::subjects::{KeyIndex, Keys};
use crate::policy::{Action, Mode, Response};

/// Completes a plan whose rules and tiers are there.
pub fn complete(plan: &mut Plan, known: Known) {
    plan.policy.bannable = keys(plan, known).into();
    plan.policy.bans = mode(plan);
}

/// Those that tiers can ban, in the order in which they are asked for, and those of rules that ban.
fn keys(plan: &Plan, known: Known) -> Vec<KeyIndex> {
    let by_tier = plan.policy.tiers.iter().any(|tier| matches!(tier.action, Action::Deny | Action::Block));
    let by_rules: Vec<KeyIndex> = blocking(plan).map(|(key, _)| key).collect();
    let mut keys = Vec::new();
    if by_tier || !by_rules.is_empty() {
        keys.push(Keys::CLIENT);
        keys.extend(known.consumers.then_some(Keys::CONSUMER));
        keys.extend(known.networks.then_some(Keys::NETWORK));
    }
    for key in by_rules {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Bans bind where anything that binds can make them.
fn mode(plan: &Plan) -> Mode {
    let by_rules = blocking(plan).map(|(_, response)| response.mode);
    let mut modes = by_rules.chain([plan.mode, plan.traffic_mode]);
    if modes.any(|mode| mode == Mode::Enforce) { Mode::Enforce } else { Mode::Observe }
}

fn blocking(plan: &Plan) -> impl Iterator<Item = (KeyIndex, &Response)> {
    let rules = plan.rules.rules.iter().zip(&plan.policy.rules);
    let blocking = rules.filter(|(rule, response)| rule.enabled && response.actions.answer == Action::Block);
    blocking.map(|(rule, response)| (rule.key, response))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    const SECTIONS: &str =
        r#""consumer": {"from": [{"header": "a"}]}, "network": {"asn": {"filter_state": "n"}}"#;
    const NO_TIERS: &str = r#""policy": {"tiers": []}"#;

    fn plan(members: &[&str]) -> Plan {
        let text = format!("{{{}}}", members.join(", "));
        parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn rule(more: &str, key: &str) -> String {
        format!(
            r#""rules": [{{"name": "a", {more} "filter": {{"max_req_rate": 1, "key": {key}}}, "action": ["block"]}}]"#
        )
    }

    #[test]
    fn tiers_ban_the_callers_that_can_be_told_apart() {
        assert_eq!(*plan(&[]).policy.bannable, [Keys::CLIENT]);
        assert_eq!(*plan(&[SECTIONS]).policy.bannable, [Keys::CLIENT, Keys::CONSUMER, Keys::NETWORK]);
        assert!(plan(&[SECTIONS, NO_TIERS]).policy.bannable.is_empty());
        let throttles = r#""policy": {"tiers": [{"min_score": 1, "action": "throttle"}]}"#;
        assert!(plan(&[throttles]).policy.bannable.is_empty());
    }

    #[test]
    fn a_rule_that_blocks_bans_by_its_own_key() {
        let by_route = plan(&[NO_TIERS, &rule("", r#"["route", "client"]"#)]);
        let [client, composite] = *by_route.policy.bannable else { panic!() };
        assert_eq!((client, by_route.keys.parts(composite).len()), (Keys::CLIENT, 2));
        assert_eq!(*plan(&[NO_TIERS, &rule("", r#""client""#)]).policy.bannable, [Keys::CLIENT]);
        assert!(plan(&[NO_TIERS, &rule(r#""enabled": false,"#, r#""client""#)]).policy.bannable.is_empty());
    }

    #[test]
    fn bans_bind_where_anything_that_binds_can_make_them() {
        let mode = |members: &[&str]| plan(members).policy.bans;
        assert_eq!(mode(&[]), Mode::Observe);
        assert_eq!(mode(&[r#""mode": "enforce""#]), Mode::Enforce);
        assert_eq!(mode(&[r#""traffic": {"mode": "enforce"}"#]), Mode::Enforce);
        assert_eq!(mode(&[&rule(r#""mode": "enforce","#, r#""client""#)]), Mode::Enforce);
        assert_eq!(mode(&[&rule("", r#""client""#)]), Mode::Observe);
    }
}
