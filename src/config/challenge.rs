//! How the document challenges.

use super::error::{Cause, Shown};
use super::json::Value;
use super::read::Section;
use super::{names, schema, units};
use crate::challenge::Settings;
use crate::challenge::bind::Bind;
use crate::challenge::secret::{Secret, Secrets};

/// Shorter ones can be guessed.
const SHORTEST: usize = 16;

/// Reads the section: how to challenge, and the operator's keys if there are any.
pub fn read(section: &Section) -> (Settings, Option<Secrets>) {
    let usual = Settings::default();
    let settings = Settings {
        difficulty: difficulty(section).unwrap_or(usual.difficulty),
        clearance_seconds: section.count("clearance_seconds", &schema::CLEARANCE),
        bind: section.read("bind", bind).unwrap_or(usual.bind),
        status: section.count("status", &schema::STATUS) as u16,
    };
    let current = section.read("secret", secret);
    let previous = section.read("previous_secret", secret);
    if section.has("previous_secret") && !section.has("secret") {
        section.refuse_field("previous_secret", Cause::Missing { write: "a secret beside it, which signs" });
    }
    (settings, current.map(|current| Secrets { current, previous }))
}

/// Two numbers of bits, the second not below the first.
fn difficulty(section: &Section) -> Option<[u8; 2]> {
    let bits = section.list("difficulty", 2, |value| units::count(value, &schema::DIFFICULTY));
    if !section.has("difficulty") {
        return None;
    }
    match *bits {
        [least, most] if least <= most => Some([least as u8, most as u8]),
        [least, most] => {
            section.refuse_field("difficulty", Cause::Falling { least, most });
            None
        }
        _ => {
            section
                .refuse_field("difficulty", Cause::Missing { write: "two numbers of bits, as in [18, 22]" });
            None
        }
    }
}

fn bind(value: &Value) -> Result<Bind, Cause> {
    let word = units::text(value)?;
    let bind = Bind::ALL.into_iter().find(|bind| bind.name() == word);
    bind.ok_or_else(|| names::unknown_word(word, schema::BINDS))
}

fn secret(value: &Value) -> Result<Secret, Cause> {
    let text = units::text(value)?;
    match text.len() {
        0..SHORTEST => {
            Err(Cause::Name { found: Shown::new("…"), allowed: "a secret of at least 16 characters" })
        }
        _ => Ok(Secret::of_operator(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::policy;

    fn policy(challenge: &str) -> policy::Settings {
        let plan = parse(format!(r#"{{"policy": {{"challenge": {challenge}}}}}"#).as_bytes());
        plan.unwrap_or_else(|errors| panic!("{errors}")).policy
    }

    fn error(challenge: &str) -> String {
        parse(format!(r#"{{"policy": {{"challenge": {challenge}}}}}"#).as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn nothing_said_is_what_the_room_has_for_its_own_and_every_detail_arrives() {
        assert_eq!((policy("{}").challenge, policy("{}").secrets), (Settings::default(), None));
        let said = policy(
            r#"{"difficulty": [10, 12.0], "clearance_seconds": 60, "bind": "ua", "status": 503,
                "secret": "correct horse battery", "previous_secret": "staple staple staple"}"#,
        );
        let expected =
            Settings { difficulty: [10, 12], clearance_seconds: 60, bind: Bind::Agent, status: 503 };
        assert_eq!(said.challenge, expected);
        let secrets = said.secrets.unwrap();
        assert_eq!(secrets.current, Secret::of_operator("correct horse battery"));
        assert_eq!(secrets.previous, Some(Secret::of_operator("staple staple staple")));
    }

    #[test]
    fn what_can_not_be_is_refused_and_no_secret_is_shown() {
        for (text, expected) in [
            (r#"{"difficulty": [22, 18]}"#, "policy.challenge.difficulty: falls from 22 to 18"),
            (r#"{"difficulty": [18]}"#, "policy.challenge.difficulty: is missing; two numbers"),
            (r#"{"difficulty": [18, 99]}"#, "policy.challenge.difficulty[1]: is 99"),
            (r#"{"difficulty": 18}"#, "policy.challenge.difficulty: is a number"),
            (r#"{"bind": "ip"}"#, "policy.challenge.bind: \"ip\" is unknown"),
            (r#"{"status": 200}"#, "policy.challenge.status: is 200"),
            (r#"{"secret": "hush"}"#, "at least 16 characters"),
            (
                r#"{"previous_secret": "staple staple staple"}"#,
                "policy.challenge.previous_secret: is missing; a secret beside it",
            ),
        ] {
            let found = error(text);
            assert!(found.contains(expected) && !found.contains("hush"), "{text}\n{found}");
        }
    }
}
