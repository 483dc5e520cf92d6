//! The detectors that count: who comes too often, who repeats what fails, who is new. Each section that is there switches its
//! detector on.

use super::error::Cause;
use super::known::Known;
use super::plan::{Armed, Detectors};
use super::read::Section;
use super::{names, schema, units};
use crate::detect::{loops, novelty, volume};
use crate::identity::key::{KeySpec, Part};
use crate::identity::subjects::{KeyIndex, Keys};
use crate::policy::Mode;

/// Every part is hashed at every request.
const MOST_PARTS: usize = 8;

/// Reads the sections. `mode` is the one that a section has that says none.
pub fn read(root: &Section, mode: Mode, known: Known, keys: &mut Keys) -> Detectors {
    let mut index = |parts: Vec<Part>| keys.index(KeySpec(parts.into()));
    Detectors {
        volume: root.optional_section("volume", |section| {
            let key = index(volume_key(section, known));
            armed(section, mode, bands(section, key))
        }),
        wallet: root.optional_section("wallet", |section| {
            if !known.consumers {
                section.refuse(Cause::NoConsumer);
            }
            armed(section, mode, bands(section, Keys::CONSUMER))
        }),
        loops: root.optional_section("loop_breaker", |section| {
            let key = index(vec![Part::Client, Part::Path]);
            armed(section, mode, failures(section, key))
        }),
        novelty: root.optional_section("first_sighting", |section| armed(section, mode, newcomers(section))),
    }
}

fn armed<T>(section: &Section, mode: Mode, settings: T) -> Armed<T> {
    Armed { settings, mode: section.read("mode", names::mode).unwrap_or(mode) }
}

/// What is counted: the client on a path, unless the section says otherwise.
fn volume_key(section: &Section, known: Known) -> Vec<Part> {
    let parts = section.list_or_one("key", MOST_PARTS, |value| names::volume_part(value, known));
    section.need_items("key", "name what to count by, or leave key out for client and path");
    names::refuse_repeated_parts(section, &parts);
    if parts.is_empty() { vec![Part::Client, Part::Path] } else { parts }
}

fn bands(section: &Section, key: KeyIndex) -> volume::Settings {
    let threshold = section.count("threshold", &schema::THRESHOLD);
    let tarpit = section.read("tarpit_threshold", |value| units::count(value, &schema::TARPIT_THRESHOLD));
    if let Some(found) = tarpit.filter(|tarpit| *tarpit > threshold) {
        let cause = Cause::AboveField { found, most: threshold, field: "threshold" };
        section.refuse_field("tarpit_threshold", cause);
    }
    volume::Settings {
        key,
        tick: units::nanos(section.number("tick_seconds", &schema::TICK)),
        tarpit_threshold: tarpit.unwrap_or((schema::TARPIT_THRESHOLD.default as u32).min(threshold)),
        threshold,
    }
}

fn failures(section: &Section, key: KeyIndex) -> loops::Settings {
    loops::Settings {
        key,
        tick: units::nanos(section.number("tick_seconds", &schema::LOOP_TICK)),
        threshold: section.count("threshold", &schema::LOOP_THRESHOLD),
    }
}

fn newcomers(section: &Section) -> novelty::Settings {
    novelty::Settings {
        rate_threshold: section.count("rate_threshold", &schema::NEWCOMERS),
        weight: section.count("weight", &schema::NEWCOMER_WEIGHT) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::config::plan::Plan;
    use crate::time::Nanos;

    const CONSUMER: &str = r#""consumer": {"from": [{"header": "x-api-key"}]}"#;

    fn plan(members: &str) -> Plan {
        parse(format!("{{{CONSUMER}, {members}}}").as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn error(members: &str) -> String {
        parse(format!("{{{members}}}").as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_section_that_is_absent_or_null_is_off_and_an_empty_one_has_its_defaults() {
        assert_eq!(plan(r#""volume": null"#).detectors, Detectors::default());
        let plan = plan(r#""volume": {}, "wallet": {}, "loop_breaker": {}, "first_sighting": {}"#);
        let Detectors { volume, wallet, loops, novelty } = plan.detectors;
        let volume = volume.unwrap();
        assert_eq!(plan.keys.parts(volume.settings.key), [Part::Client, Part::Path]);
        assert_eq!((volume.settings.tarpit_threshold, volume.settings.threshold), (40, 80));
        assert_eq!((volume.settings.tick, volume.mode), (Nanos::from_secs(1), Mode::Observe));
        assert_eq!(wallet.unwrap().settings, volume::Settings { key: Keys::CONSUMER, ..volume.settings });
        let loops = loops.unwrap().settings;
        assert_eq!((loops.threshold, loops.tick), (20, Nanos::from_secs(10)));
        assert_eq!(novelty.unwrap().settings, novelty::Settings { rate_threshold: 500, weight: 20 });
    }

    #[test]
    fn every_detector_has_its_own_mode() {
        let plan = plan(
            r#""mode": "enforce", "volume": {"mode": "observe"}, "wallet": {}, "loop_breaker": {"mode": "observe"}"#,
        );
        assert_eq!(plan.detectors.volume.unwrap().mode, Mode::Observe);
        assert_eq!(plan.detectors.wallet.unwrap().mode, Mode::Enforce);
        assert_eq!(plan.detectors.loops.unwrap().mode, Mode::Observe);
    }

    #[test]
    fn a_threshold_below_the_usual_tarpit_has_no_band_above_it() {
        let settings =
            plan(r#""volume": {"threshold": 10, "key": "client"}"#).detectors.volume.unwrap().settings;
        assert_eq!((settings.tarpit_threshold, settings.holds()), (10, false));
    }

    #[test]
    fn what_can_not_be_is_refused_with_its_mending() {
        for (text, expected) in [
            (r#""wallet": {}"#, "wallet: needs consumers"),
            (
                r#""volume": {"tarpit_threshold": 81}"#,
                "volume.tarpit_threshold: is 81, which is above threshold",
            ),
            (r#""volume": {"threshold": 1}"#, "volume.threshold: is 1; write a number from 2"),
            (r#""volume": {"key": []}"#, "volume.key: is empty"),
            (r#""volume": {"key": ["path", "path"]}"#, "volume.key: \"path\" is in the list already"),
            (r#""volume": {"key": "consumer"}"#, "volume.key: needs consumers"),
            (r#""volume": {"key": "url"}"#, "volume.key: \"url\" is unknown"),
            (r#""loop_breaker": {"tick_seconds": 0}"#, "loop_breaker.tick_seconds: is 0; write"),
            (r#""first_sighting": {"weight": 101}"#, "first_sighting.weight: is 101"),
            (r#""volume": {"mode": "loud"}"#, "volume.mode: \"loud\" is unknown"),
            (r#""wallets": {}"#, "wallets: is unknown; did you mean wallet?"),
        ] {
            let found = error(text);
            assert!(found.contains(expected), "{text}\n{found}");
        }
    }
}
