//! Every field that this version has: the one table behind unknown-key errors, bounds, defaults and the README.

use super::later::{self, Later};
use super::units::Range;
use core::fmt::{self, Display};

mod callers;
mod detectors;
mod policy;
mod ranges;
mod rules;
mod traffic;
mod workers;

pub use ranges::*;

/// One field.
#[derive(Debug)]
pub struct Field {
    /// Where it stands: `rules[].filter.max_req_rate`, with `[]` for each element of a list, and `*` for each name
    /// that the operator gave.
    pub path: &'static str,
    /// What may be written, and what is meant when nothing is.
    pub form: Form,
    /// What it does.
    pub meaning: &'static str,
    /// What more of it, or another choice, changes.
    pub raising: &'static str,
}

/// What may be written in a field.
#[derive(Debug)]
pub enum Form {
    /// `true` or `false`.
    Switch {
        /// When absent.
        default: bool,
    },
    /// One of a few words.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// When absent, in words.
        default: &'static str,
    },
    /// A whole number.
    Count(Range),
    /// A number.
    Number(Range),
    /// Something else, described.
    Text {
        /// What may be written.
        form: &'static str,
        /// When absent, in words.
        default: &'static str,
    },
}

impl Form {
    /// What is meant when nothing is written.
    pub fn default(&self) -> String {
        match self {
            Form::Switch { default } => default.to_string(),
            Form::Choice { default, .. } | Form::Text { default, .. } => (*default).to_owned(),
            Form::Count(range) | Form::Number(range) => range.default.to_string(),
        }
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Form::Switch { .. } => f.write_str("true or false"),
            Form::Choice { words, .. } => write!(f, "{}", words.join(" or ")),
            Form::Count(range) => write!(f, "whole number, {range}"),
            Form::Number(range) => write!(f, "number, {range}"),
            Form::Text { form, .. } => f.write_str(form),
        }
    }
}

const NETWORKS: &str = "list of addresses and networks";
const NAME: &str = "name";

const fn text(
    path: &'static str,
    form: &'static str,
    default: &'static str,
    meaning: &'static str,
    raising: &'static str,
) -> Field {
    Field { path, form: Form::Text { form, default }, meaning, raising }
}

/// The table, part by part.
static PARTS: [&[Field]; 6] =
    [callers::FIELDS, traffic::FIELDS, rules::FIELDS, detectors::FIELDS, policy::FIELDS, workers::FIELDS];

/// All fields, in the order of the reference.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    PARTS.into_iter().flatten()
}

/// Does this version know a key?
pub enum Known {
    /// It has it.
    Built,
    /// A later one has it.
    Later(&'static Later),
    /// No version has it.
    No,
}

/// Looks up `key` in the section whose pattern is `section`.
pub fn lookup(section: &str, key: &str) -> Known {
    if let Some(later) = later::FIELDS
        .iter()
        .find(|later| child(later.path, section) == Some(key) && is_leaf(later.path, section))
    {
        return Known::Later(later);
    }
    let is_section_of_later = || later::FIELDS.iter().any(|later| child(later.path, section) == Some(key));
    if names(section).any(|name| name == key) || is_section_of_later() { Known::Built } else { Known::No }
}

/// The names that this version has in the section whose pattern is `section`.
pub fn names(section: &str) -> impl Iterator<Item = &'static str> {
    let mut last = None;
    fields().filter_map(move |field| {
        let name = child(field.path, section)?;
        (last.replace(name) != Some(name)).then_some(name)
    })
}

/// The name of `path` in `section`: in `rules[]`, `rules[].filter.key` is `filter`.
fn child(path: &'static str, section: &str) -> Option<&'static str> {
    let rest = path.strip_prefix(section)?;
    let rest = if section.is_empty() { rest } else { rest.strip_prefix('.')? };
    rest.split(['.', '[']).next()
}

/// Does `path` end in `section`, without a further section?
fn is_leaf(path: &str, section: &str) -> bool {
    let rest = path.strip_prefix(section).unwrap_or_default();
    !rest.trim_start_matches('.').contains(['.', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_section_stand_together_so_that_each_name_is_listed_once() {
        for section in [
            "",
            "client",
            "network.asn",
            "traffic",
            "traffic.routes.*",
            "rules[]",
            "rules[].filter",
            "rules[].filter.match",
            "policy",
            "policy.tiers[]",
            "tables",
        ] {
            let mut listed: Vec<_> = names(section).collect();
            let count = listed.len();
            listed.sort_unstable();
            listed.dedup();
            assert_eq!(listed.len(), count, "{section}");
            assert!(count > 1, "{section}");
        }
    }

    #[test]
    fn a_key_is_looked_up_in_its_own_section() {
        assert!(matches!(lookup("", "rules"), Known::Built));
        assert!(matches!(lookup("", "policy"), Known::Built));
        assert!(matches!(lookup("policy", "challenge"), Known::Built));
        assert!(matches!(lookup("policy", "shed"), Known::Later(_)));
        assert!(matches!(lookup("policy", "ban"), Known::Built));
        assert!(matches!(lookup("", "volume"), Known::Built));
        assert!(matches!(lookup("", "qos"), Known::Later(_)));
        assert!(matches!(lookup("rules[].filter", "max_conn_rate"), Known::Built));
        assert!(matches!(lookup("fingerprints.*", "filter_state"), Known::Built));
        assert!(matches!(lookup("rules[]", "max_req_rate"), Known::No));
        assert!(matches!(lookup("traffic", "routes"), Known::Built));
        assert!(matches!(lookup("traffic.routes.*", "surge_factor"), Known::Built));
        assert!(matches!(lookup("traffic.routes.*", "source_weight"), Known::No));
        assert!(matches!(lookup("client", "proxies[]"), Known::No));
        assert!(matches!(lookup("", ""), Known::No));
    }

    #[test]
    fn numbers_that_the_reference_says_in_words_are_those_of_the_ranges() {
        let form = |path: &str| fields().find(|field| field.path == path).unwrap().form.to_string();
        let of = |path: &str, range: &Range| assert!(form(path).ends_with(&range.to_string()), "{path}");
        of("traffic.routes.*.surge_factor", &SURGE_FACTOR);
        of("traffic.routes.*.surge_deviations", &DEVIATIONS);
        of("traffic.routes.*.route_floor_rps", &ROUTE_FLOOR);
        of("traffic.routes.*.route_weight", &WEIGHT);
        of("traffic.routes.*.relearn_after_buckets", &RELEARN);
        of("policy.tiers[].min_score", &SCORE);
        assert_eq!(BAN.max, crate::bans::MAX_BAN.0 as f64 / 1e9);
        assert_eq!(LEARNING.max, f64::from(crate::counters::ewma::Span::MAX));
    }
}
