//! The policy of a document: tiers, and what the actions do in detail.

use super::error::Cause;
use super::known::Known;
use super::read::Section;
use super::{challenge, names, never, schema, units};
use crate::policy::tiers::{Tier, Tiers};
use crate::policy::{Response, Settings, ban, ledger, quota, tarpit};
use crate::time::Nanos;

/// Looked through at each request that has a score.
const MOST_TIERS: usize = 16;

/// Reads the section, but for [who may be banned](super::bannable), which depends on more than it.
pub fn read(policy: &Section, rules: Box<[Response]>, known: Known) -> Settings {
    let (challenge, secrets) = policy.section("challenge", challenge::read);
    Settings {
        rules,
        challenge,
        secrets,
        tiers: tiers(policy),
        why_header: policy.read("why_header", names::response_header),
        quota: policy.section("throttle", quota),
        tarpit: policy.section("tarpit", tarpit),
        ledger: policy.section("ledger", ledger),
        ban: policy.section("ban", |ban| of_bans(ban, known)),
        ..Settings::default()
    }
}

fn tiers(policy: &Section) -> Tiers {
    let mut scores: Vec<(u8, usize)> = Vec::new();
    let tiers = policy.sections("tiers", MOST_TIERS, |section| {
        let tier = tier(section)?;
        match scores.iter().find(|(score, _)| *score == tier.min_score) {
            Some(&(_, tier)) => section.refuse_field("min_score", Cause::ScoreTaken { tier }),
            None => scores.push((tier.min_score, section.index())),
        }
        Some(tier)
    });
    if policy.has("tiers") { Tiers::new(tiers) } else { Tiers::default() }
}

fn tier(section: &Section) -> Option<Tier> {
    section.need("min_score", "write the score from which on it acts, as in 60");
    section.need("action", "say what happens, as in \"throttle\"");
    let min_score = section.read("min_score", |value| units::count(value, &schema::SCORE));
    let action = section.read("action", names::tier_action);
    Some(Tier { min_score: min_score? as u8, action: action? })
}

fn quota(throttle: &Section) -> quota::Settings {
    let window = units::nanos(throttle.number("window_seconds", &schema::QUOTA_WINDOW));
    quota::Settings { quota: throttle.count("quota", &schema::QUOTA), window }
}

fn tarpit(tarpit: &Section) -> tarpit::Settings {
    tarpit::Settings {
        delay: Nanos::from_millis(tarpit.count("delay_ms", &schema::TARPIT_DELAY_MS).into()),
        max_concurrent: tarpit.count("max_concurrent", &schema::TARPIT_MOST),
    }
}

fn ledger(ledger: &Section) -> ledger::Settings {
    let window = units::nanos(ledger.number("window_seconds", &schema::LEDGER_WINDOW));
    ledger::Settings { limit: ledger.count("limit", &schema::LEDGER_LIMIT), window }
}

fn of_bans(section: &Section, known: Known) -> ban::Settings {
    let duration = units::nanos(section.number("duration_seconds", &schema::BAN));
    ban::Settings { duration, never: never::read(section, known) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::policy::Action;

    fn policy(text: &str) -> Settings {
        let plan = parse(format!(r#"{{"policy": {text}}}"#).as_bytes());
        plan.unwrap_or_else(|errors| panic!("{errors}")).policy
    }

    fn first_error(text: &str) -> String {
        let errors = parse(format!(r#"{{"policy": {text}}}"#).as_bytes()).unwrap_err();
        errors.iter().next().unwrap().to_string()
    }

    #[test]
    fn nothing_said_is_the_policy_that_the_room_has_for_its_own() {
        let Settings { tiers, why_header, quota, tarpit, ledger, ban, .. } = policy("{}");
        let usual = Settings::default();
        assert_eq!((tiers, why_header, ban), (usual.tiers, None, usual.ban));
        assert_eq!((quota, tarpit, ledger), (usual.quota, usual.tarpit, usual.ledger));
    }

    #[test]
    fn every_detail_arrives() {
        let policy = policy(
            r#"{"why_header": "X-Why", "throttle": {"quota": 7, "window_seconds": 1.5},
                "tarpit": {"delay_ms": 250, "max_concurrent": 9}, "ledger": {"limit": 300, "window_seconds": 60},
                "ban": {"duration_seconds": 3600}}"#,
        );
        assert_eq!(policy.why_header.as_deref(), Some("x-why"));
        assert_eq!(policy.quota, quota::Settings { quota: 7, window: Nanos::from_millis(1_500) });
        assert_eq!(policy.tarpit, tarpit::Settings { delay: Nanos::from_millis(250), max_concurrent: 9 });
        assert_eq!(policy.ledger, ledger::Settings { limit: 300, window: Nanos::from_secs(60) });
        assert_eq!(policy.ban.duration, Nanos::from_secs(3_600));
    }

    #[test]
    fn tiers_are_those_that_are_written_and_an_empty_list_is_none() {
        let tiers = policy(
            r#"{"tiers": [{"min_score": 70, "action": "block"}, {"min_score": 30.0, "action": "tarpit"}]}"#,
        );
        let listed: Vec<_> = tiers.tiers.iter().map(|tier| (tier.min_score, tier.action)).collect();
        assert_eq!(listed, [(30, Action::Tarpit), (70, Action::Block)]);
        assert_eq!(policy(r#"{"tiers": []}"#).tiers.iter().count(), 0);
    }

    #[test]
    fn one_score_has_one_action() {
        let tiers = r#"{"min_score": 70, "action": "deny"}, {"min_score": 70, "action": "log"}"#;
        assert_eq!(
            first_error(&format!(r#"{{"tiers": [{tiers}]}}"#)),
            "policy.tiers[1].min_score: is the score of tiers[0] too; one score has one action, so change one"
        );
    }
}
