//! Fingerprints: where each method's values come from, and which of them a rule is for.

use super::error::{Cause, Shown};
use super::known::Known;
use super::names;
use super::plan::{Origin, Supply};
use super::read::Section;
use super::schema;
use super::states;
use super::units::text;
use crate::detect::rules::{Listed, Prints};
use crate::identity::Method;
use crate::request::fingerprint::{LONGEST, Layout, MOST_METHODS};
use core::cell::Cell;

/// Looked up by halves, so that there may be many.
const MOST_VALUES: usize = 10_000;

/// Where fingerprints come from.
pub fn supplies(root: &Section) -> Box<[Supply]> {
    let read = root.named("fingerprints", MOST_METHODS, method_name, origin);
    let mut supplies: Vec<Supply> = Vec::new();
    for (place, (name, from)) in read.into_iter().enumerate() {
        if supplies.iter().any(|earlier| earlier.method.name == name) {
            root.refuse_field("fingerprints", Cause::Repeated { found: Shown::new(&name) });
        }
        let layout = Layout::of(&name);
        supplies.push(Supply { method: Method { name, place, layout }, from });
    }
    supplies.into()
}

/// JA3 and JA4 in capitals; any other name as it is written.
fn method_name(text: &str) -> Result<Box<str>, Cause> {
    let name = names::method_of_fingerprints(text)?;
    match Layout::of(&name) {
        Layout::Opaque => Ok(name),
        Layout::Ja3 | Layout::Ja4 => Ok(name.to_ascii_uppercase().into()),
    }
}

/// What is wrong is reported, and then never used.
fn origin(section: &Section) -> Origin {
    section.require_one(&["filter_state", "header"]);
    let header = section.read("header", names::header).map(Origin::Header);
    if section.has("field") && section.has("header") {
        section.refuse_field("field", Cause::FieldOfHeader);
    }
    let state = states::path(section).map(Origin::State);
    state.or(header).unwrap_or(Origin::Header("".into()))
}

/// The fingerprints that a rule is for, and whether it asks for any, right or wrong.
pub fn prints(filter: &Section, known: Known) -> (Prints, bool) {
    let asks = Cell::new(false);
    let method = |name: &str| {
        asks.set(true);
        known.method(name)
    };
    let lists = filter.named_lists("fingerprints", MOST_METHODS, MOST_VALUES, method, |method, item| {
        value(method.layout, text(item)?)
    });
    let listed = lists.into_iter().map(|(method, mut values)| {
        values.sort_unstable();
        values.dedup();
        Listed { place: method.place, values: values.into() }
    });
    let prints = Prints(listed.collect());
    (prints, asks.get())
}

/// A value in normal form.
pub fn value(layout: Layout, text: &str) -> Result<Box<[u8]>, Cause> {
    let (expected, normal) = match layout {
        Layout::Ja3 => {
            ("32 hex digits, as in \"e7d705a3286e19ea42f587b344ee6865\"", text.to_ascii_lowercase())
        }
        Layout::Ja4 => {
            ("36 characters, as in \"t13d1516h2_8daaf6152771_e5627efa2ab1\"", text.to_ascii_lowercase())
        }
        Layout::Opaque => (schema::OPAQUE, text.to_owned()),
    };
    const { assert!(LONGEST == 64) }; // as schema::OPAQUE says
    let is_sound = layout.fits(normal.as_bytes()) && normal != "-" && normal.trim() == normal;
    is_sound
        .then(|| normal.as_bytes().into())
        .ok_or_else(|| Cause::Fingerprint { found: Shown::new(text), expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Errors;
    use crate::config::parse;
    use crate::config::plan::Plan;

    const JA3: &str = "e7d705a3286e19ea42f587b344ee6865";
    const JA4: &str = "t13d1516h2_8daaf6152771_e5627efa2ab1";
    const SECTION: &str = r#""ja3": {"filter_state": "weir.ja3"}, "JA4": {"header": "X-JA4"},
        "tcp": {"filter_state": "s", "field": "f"}"#;

    fn parsed(section: &str, filter: &str) -> Result<Plan, Errors> {
        let rule = format!(r#"{{"name": "r", "filter": {filter}, "action": ["close"]}}"#);
        parse(format!(r#"{{"fingerprints": {{{section}}}, "rules": [{rule}]}}"#).as_bytes())
    }

    fn errors(section: &str, filter: &str) -> String {
        parsed(section, filter).unwrap_err().to_string()
    }

    #[test]
    fn each_method_has_a_place_and_an_origin() {
        let plan = parsed(SECTION, r#"{"max_req_rate": 1}"#).unwrap();
        let named: Vec<_> =
            plan.fingerprints.iter().map(|supply| (&*supply.method.name, &supply.from)).collect();
        assert_eq!(
            named,
            [
                ("JA3", &Origin::State("filter_state\0weir.ja3".into())),
                ("JA4", &Origin::Header("x-ja4".into())),
                ("tcp", &Origin::State("filter_state\0s\0f".into())),
            ]
        );
    }

    #[test]
    fn a_rule_lists_values_in_any_case_where_case_does_not_matter() {
        let filter = format!(
            r#"{{"fingerprints": {{"JA3": ["{}", "{JA3}"], "ja4": [], "tcp": ["B", "a"]}}}}"#,
            JA3.to_uppercase()
        );
        let plan = parsed(SECTION, &filter).unwrap();
        let listed = |place, values: &[&str]| Listed {
            place,
            values: values.iter().map(|v| v.as_bytes().into()).collect(),
        };
        assert_eq!(*plan.rules.rules[0].prints.0, [listed(0, &[JA3]), listed(2, &["B", "a"])]);
    }

    #[test]
    fn a_value_of_another_layout_would_never_match_and_is_refused() {
        for (method, value) in
            [("JA3", JA4), ("JA4", JA3), ("JA3", ""), ("tcp", ""), ("tcp", "-"), ("JA4", "-")]
        {
            let filter = format!(r#"{{"fingerprints": {{"{method}": ["{value}"]}}}}"#);
            assert!(errors(SECTION, &filter).contains("rules[0].filter.fingerprints"), "{method} {value}");
        }
    }

    #[test]
    fn a_method_that_nothing_supplies_is_refused_where_it_is_asked_for() {
        assert!(
            errors("", &format!(r#"{{"fingerprints": {{"JA4": ["{JA4}"]}}}}"#))
                .contains("rules[0].filter.fingerprints.JA4")
        );
        assert!(errors("", r#"{"max_req_rate": 1, "key": "JA4"}"#).contains("rules[0].filter.key"));
        assert!(
            parsed("", r#"{"max_req_rate": 1, "fingerprints": {"JA4": [], "JA3": null}}"#).is_ok(),
            "asks for nothing"
        );
    }

    #[test]
    fn a_rule_without_a_rate_and_without_a_fingerprint_would_be_for_everybody_and_is_refused() {
        for filter in [r#"{"fingerprints": {"JA3": [], "JA4": null}}"#, r#"{"fingerprints": {}}"#, "{}"] {
            assert!(errors(SECTION, filter).starts_with("rules[0].filter: counts nothing"), "{filter}");
        }
    }

    #[test]
    fn a_method_has_one_origin_and_a_name_that_is_no_other_word() {
        for section in [
            r#""JA3": {}"#,
            r#""JA3": {"filter_state": "a", "header": "b"}"#,
            r#""JA3": {"header": "b", "field": "c"}"#,
            r#""client": {"header": "b"}"#,
            r#""a b": {"header": "b"}"#,
            r#""JA3": {"header": "b"}, "ja3": {"header": "b"}"#,
            r#""a": {"header": "b"}, "b": {"header": "b"}, "c": {"header": "b"}, "d": {"header": "b"}, "e": {"header": "b"}"#,
        ] {
            assert!(errors(section, r#"{"max_req_rate": 1}"#).starts_with("fingerprints"), "{section}");
        }
    }
}
