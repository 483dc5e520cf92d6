//! Where Envoy keeps something that it tells of a connection: a filter state, or a field in one.

use super::names;
use super::read::Section;

/// The path of the property that `filter_state` and `field` name, in which NUL stands between the steps. `None` where no
/// filter state is named, or something is wrong and reported.
pub fn path(section: &Section) -> Option<Box<str>> {
    let field = section.read("field", names::state);
    let state = section.read("filter_state", names::state)?;
    Some(match field {
        Some(field) => format!("filter_state\0{state}\0{field}").into(),
        None => format!("filter_state\0{state}").into(),
    })
}
