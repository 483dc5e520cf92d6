//! The rules of a document: what each counts, and what follows.

use super::error::Cause;
use super::known::Known;
use super::plan::Supply;
use super::read::{ANY, Section};
use super::{addresses, fingerprints, names, schema, units};
use crate::counters::bucket::{Charge, Quota};
use crate::detect::rules::{Match, Prints, Rate, Rates, Rule, Settings};
use crate::identity::key::{KeySpec, Part};
use crate::identity::prefixes::Prefixes;
use crate::identity::subjects::Keys;
use crate::policy::{Action, Actions, Mode, Response};
use ipnet::IpNet;

/// Every rule is looked at for every request.
const MOST_RULES: usize = 256;
/// Every part is hashed; five kinds exist, and more than two headers in a key is a mistake.
const MOST_PARTS: usize = 8;
/// As many as the IANA registry has, and some.
const MOST_METHODS: usize = 64;

/// Reads all rules: what the detector needs, and the responses in the same order.
pub fn read(root: &Section, mode: Mode, known: Known, keys: &mut Keys) -> (Settings, Box<[Response]>) {
    let mut rules = Reader { mode, known, names: Vec::new(), keys, claimed: Default::default() };
    let read = root.sections("rules", MOST_RULES, |section| rules.rule(section));
    let (read, responses): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let claimed = rules.claimed.map(Prefixes::new);
    (Settings { rules: read.into(), claimed }, responses.into())
}

/// What rules have in common.
struct Reader<'a> {
    mode: Mode,
    known: Known<'a>,
    names: Vec<(Box<str>, usize)>,
    keys: &'a mut Keys,
    /// By the kind of rate.
    claimed: [Vec<IpNet>; 3],
}

/// What a filter says.
struct Filter {
    rates: Rates,
    prints: Prints,
    only: Vec<IpNet>,
    matches: Match,
    key: KeySpec,
}

impl Reader<'_> {
    fn rule(&mut self, section: &Section) -> Option<(Rule, Response)> {
        let name = self.name(section);
        let enabled = section.read("enabled", units::switch).unwrap_or(true);
        let mode = section.read("mode", names::mode).unwrap_or(self.mode);
        let actions = actions(section);
        section.need("filter", "say what to count, as in {\"max_req_rate\": 100}");
        // Who is slowed down pays for what passes only; who is refused pays for hammering on.
        let slows = actions
            .iter()
            .any(|action| matches!(action, Action::Tarpit | Action::Throttle | Action::Challenge));
        let charge = if slows { Charge::Admitted } else { Charge::Every };
        let filter = section.optional_section("filter", |filter| self.filter(filter, charge))?;
        if enabled {
            self.claim(&filter);
        }
        let only = (!filter.only.is_empty()).then(|| Prefixes::new(filter.only));
        let Filter { rates, prints, matches, key, .. } = filter;
        let key = self.keys.index(key);
        let answers_requests = actions.iter().any(|action| (Action::Tarpit..=Action::Deny).contains(action));
        let rule = Rule { name: name?, enabled, rates, prints, only, matches, key, answers_requests };
        Some((rule, Response { mode, actions: Actions::new(&actions)? }))
    }

    /// Takes the addresses that a rule lists from other rules with rates of its kinds.
    fn claim(&mut self, filter: &Filter) {
        for (rate, _) in filter.rates.iter() {
            if let Some(claimed) = self.claimed.get_mut(rate as usize) {
                claimed.extend_from_slice(&filter.only);
            }
        }
    }

    fn name(&mut self, section: &Section) -> Option<Box<str>> {
        section.need("name", "name the rule");
        let name = section.read("name", names::rule_name)?;
        match self.names.iter().find(|(other, _)| *other == name) {
            Some(&(_, rule)) => section.refuse_field("name", Cause::NameTaken { rule }),
            None => self.names.push((name.clone(), section.index())),
        }
        Some(name)
    }

    fn filter(&self, filter: &Section, charge: Charge) -> Filter {
        let (prints, asks) = fingerprints::prints(filter, self.known);
        let names_a_rate = Rate::ALL.map(fields).iter().any(|[rate, _]| filter.has(rate));
        if !names_a_rate && !asks && filter.keys_are_sound() {
            filter.refuse(Cause::NoRate);
        }
        let read = Filter {
            rates: Rates(Rate::ALL.map(|rate| quota(filter, charge, fields(rate)))),
            prints,
            only: filter.list("rate_limited_ips", ANY, addresses::network),
            matches: filter.section("match", matches),
            key: self.key(filter),
        };
        if read.rates.of(Rate::Connections).is_some() {
            refuse_facts_of_requests(filter, &read, self.known);
        }
        read
    }

    fn key(&self, filter: &Section) -> KeySpec {
        let parts = filter.list_or_one("key", MOST_PARTS, |value| names::key_part(value, self.known));
        filter.need_items("key", "name what to count by, or leave key out for client");
        names::refuse_repeated_parts(filter, &parts);
        if parts.is_empty() { KeySpec::client() } else { KeySpec(parts.into()) }
    }
}

fn actions(section: &Section) -> Vec<Action> {
    const EXAMPLE: &str = "say what happens, as in [\"log\", \"throttle\"]";
    section.need("action", EXAMPLE);
    section.need_items("action", EXAMPLE);
    let actions = section.list("action", Action::ALL.len(), names::rule_action);
    names::refuse_repeated(section, "action", &actions, |action| action.name().to_owned());
    actions
}

/// A connection is counted before its first request.
fn refuse_facts_of_requests(filter: &Section, read: &Filter, known: Known) {
    if read.matches != Match::default() {
        filter.refuse_field("match", Cause::NotOfConnections { what: "what it asks for" });
    }
    let in_header = |place: usize| known.fingerprints.get(place).is_some_and(Supply::is_in_header);
    if read.prints.0.iter().any(|listed| in_header(listed.place)) {
        filter.refuse_field("fingerprints", Cause::NotOfConnections { what: "a fingerprint in a header" });
    }
    let of_requests = |part: &Part| match part {
        Part::Fingerprint(method) if in_header(method.place) => Some("a fingerprint in a header"),
        Part::Client | Part::Network | Part::Fingerprint(_) => None,
        Part::Consumer => Some("the consumer"),
        Part::Route => Some("the route"),
        Part::Header(_) => Some("a header"),
        Part::Cookie(_) => Some("a cookie"),
        Part::Path => Some("the path"),
    };
    if let Some(what) = read.key.0.iter().find_map(of_requests) {
        filter.refuse_field("key", Cause::NotOfConnections { what });
    }
}

/// The fields of a rate and of its burst.
pub fn fields(rate: Rate) -> [&'static str; 2] {
    match rate {
        Rate::Requests => ["max_req_rate", "req_burst_multiplier"],
        Rate::Connections => ["max_conn_rate", "conn_burst_multiplier"],
        Rate::Errors => ["max_h2_error_rate", "h2_burst_multiplier"],
    }
}

fn quota(filter: &Section, charge: Charge, [rate, multiplier]: [&str; 2]) -> Option<Quota> {
    let burst = multiplier;
    let rate = filter.read(rate, units::rate);
    let multiplier = filter.read(burst, |v| units::number(v, &schema::MULTIPLIER));
    let (rate, multiplier) = (rate?, multiplier.unwrap_or(schema::MULTIPLIER.default));
    match rate.burst(multiplier) {
        Ok(burst) => Some(Quota { interval: rate.interval(), burst, charge }),
        Err(cause) => {
            filter.refuse_field(burst, cause);
            None
        }
    }
}

fn matches(section: &Section) -> Match {
    Match {
        host: section.read("host", names::host),
        path_prefix: section.read("path_prefix", names::path),
        methods: section.list("methods", MOST_METHODS, names::method).into(),
        route: section.read("route", names::route),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::config::plan::Plan;
    use crate::time::Nanos;

    fn plan(rules: &str) -> Plan {
        let consumer = r#"{"from": [{"header": "a"}]}"#;
        let network = r#"{"asn": {"filter_state": "weir.asn"}}"#;
        let text = format!(r#"{{"consumer": {consumer}, "network": {network}, "rules": [{rules}]}}"#);
        parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn rules(text: &str) -> (Settings, Box<[Response]>) {
        let plan = plan(text);
        (plan.rules, plan.policy.rules)
    }

    fn charge(actions: &str) -> Charge {
        let (rules, _) =
            rules(&format!(r#"{{"name": "a", "filter": {{"max_req_rate": 1}}, "action": {actions}}}"#));
        rules.rules[0].rates.of(Rate::Requests).unwrap().charge
    }

    #[test]
    fn only_a_rule_that_slows_down_charges_no_more_than_it_admits() {
        assert_eq!(charge(r#"["tarpit"]"#), Charge::Admitted);
        assert_eq!(charge(r#"["block"]"#), Charge::Every);
        assert_eq!(charge(r#"["throttle"]"#), Charge::Admitted);
        assert_eq!(charge(r#"["deny", "throttle"]"#), Charge::Admitted);
        assert_eq!(charge(r#"["log", "deny"]"#), Charge::Every);
        assert_eq!(charge(r#"["log"]"#), Charge::Every);
    }

    #[test]
    fn a_ban_is_not_lost_beside_a_connection_that_ends() {
        let text =
            r#"{"name": "a", "filter": {"max_req_rate": 1, "key": "network"}, "action": ["close", "block"]}"#;
        let (_, responses) = rules(text);
        assert_eq!((responses[0].actions.answer, responses[0].actions.close), (Action::Block, true));
    }

    #[test]
    fn a_rate_and_a_multiplier_are_an_interval_and_a_burst() {
        let (rules, _) = rules(
            r#"{"name": "a", "filter": {"max_req_rate": 100, "req_burst_multiplier": 2.0}, "action": ["throttle"]}"#,
        );
        let quota = Quota { interval: Nanos::from_millis(10), burst: 200, charge: Charge::Admitted };
        assert_eq!(rules.rules[0].rates, Rates([Some(quota), None, None]));
    }

    #[test]
    fn a_rule_has_its_own_mode_or_the_global_one() {
        let text = r#"{"mode": "enforce", "rules": [
            {"name": "a", "filter": {"max_req_rate": 1}, "action": ["deny"]},
            {"name": "b", "mode": "observe", "filter": {"max_req_rate": 1}, "action": ["deny"]}]}"#;
        let plan = parse(text.as_bytes()).unwrap();
        assert_eq!(
            plan.policy.rules.iter().map(|r| r.mode).collect::<Vec<_>>(),
            [Mode::Enforce, Mode::Observe]
        );
    }

    #[test]
    fn rules_with_equal_keys_share_one() {
        let rule = |name, key| {
            format!(
                r#"{{"name": "{name}", "filter": {{"max_req_rate": 1, "key": {key}}}, "action": ["log"]}}"#
            )
        };
        let all = [
            rule("a", "null"),
            rule("b", r#""consumer""#),
            rule("c", r#"["client"]"#),
            rule("d", r#"["client", "route"]"#),
        ];
        let plan = plan(&all.join(","));
        let keys: Vec<_> = plan.rules.rules.iter().map(|rule| rule.key).collect();
        assert_eq!(keys[..3], [Keys::CLIENT, Keys::CONSUMER, Keys::CLIENT]);
        assert_eq!(plan.keys.parts(keys[3]), [Part::Client, Part::Route]);
    }

    #[test]
    fn a_list_of_addresses_claims_them_from_other_rules_while_its_rule_is_enabled() {
        let rule = |name, enabled, list| {
            format!(
                r#"{{"name": "{name}", "enabled": {enabled}, "action": ["log"],
                "filter": {{"max_req_rate": 1, "rate_limited_ips": [{list}]}}}}"#
            )
        };
        let all =
            [rule("a", true, r#""10.0.0.0/8""#), rule("b", false, r#""11.0.0.0/8""#), rule("c", true, "")];
        let (rules, _) = rules(&all.join(","));
        assert_eq!(rules.claimed, [Prefixes::of(["10.0.0.0/8"]), Prefixes::default(), Prefixes::default()]);
        assert_eq!(rules.rules[1].only, Some(Prefixes::of(["11.0.0.0/8"])));
        assert_eq!(rules.rules[2].only, None);
    }
}
