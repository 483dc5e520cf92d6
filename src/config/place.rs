//! Where in the document a value stands. A chain on the stack: written out only when there is an error to report.

use super::error::Shown;
use core::fmt::{self, Display};

/// One step from the value it stands in.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The document.
    Root,
    /// A member of an object.
    Member(&'a Place<'a>, &'a str),
    /// A member of an object whose keys are names that the operator gave.
    Named(&'a Place<'a>, &'a str),
    /// An element of a list.
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    /// The place as [`super::schema`] names it: `rules[].filter`. Empty for the document.
    pub fn pattern(&self) -> String {
        let mut out = String::new();
        self.write_pattern(&mut out);
        out
    }

    fn write_pattern(&self, out: &mut String) {
        match self {
            Place::Root => {}
            Place::Member(parent, name) => {
                parent.write_pattern(out);
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Place::Named(parent, _) => {
                parent.write_pattern(out);
                out.push_str(".*");
            }
            Place::Item(parent, _) => {
                parent.write_pattern(out);
                out.push_str("[]");
            }
        }
    }
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Root => f.write_str("configuration"),
            Place::Member(Place::Root, name) if is_plain(name) => f.write_str(name),
            Place::Member(Place::Root, name) => write!(f, "[{}]", Shown::new(name)),
            Place::Member(parent, name) | Place::Named(parent, name) => match is_plain(name) {
                true => write!(f, "{parent}.{name}"),
                false => write!(f, "{parent}[{}]", Shown::new(name)),
            },
            Place::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// May a name stand in a path without quotes? Names may be anything: an unknown one is the operator's typing.
fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_like_the_way_to_it() {
        let rules = Place::Member(&Place::Root, "rules");
        let rule = Place::Item(&rules, 3);
        let filter = Place::Member(&rule, "filter");
        assert_eq!(filter.to_string(), "rules[3].filter");
        assert_eq!(filter.pattern(), "rules[].filter");
        let routes = Place::Member(&Place::Root, "routes");
        let route = Place::Named(&routes, "a.b");
        assert_eq!((route.to_string().as_str(), route.pattern().as_str()), (r#"routes["a.b"]"#, "routes.*"));
        assert_eq!(Place::Root.to_string(), "configuration");
        assert_eq!(Place::Member(&filter, "a b\n").to_string(), r#"rules[3].filter["a b\n"]"#);
        assert_eq!(Place::Member(&Place::Root, "").to_string(), r#"[""]"#);
    }
}
