//! Which subjects can be told apart at all: what needs others is refused.

use super::read::Section;

/// What the document says how to find.
#[derive(Clone, Copy)]
pub struct Known {
    /// Callers' credentials.
    pub consumers: bool,
    /// The numbers of clients' networks.
    pub networks: bool,
}

impl Known {
    /// A section that is there and wrong counts as one: what is wrong with it is reported already.
    pub fn of(root: &Section) -> Known {
        Known { consumers: root.has("consumer"), networks: root.has("network") }
    }
}
