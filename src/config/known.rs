//! Which subjects can be told apart at all: what needs others is refused.

use super::plan::Supply;
use super::read::Section;
use crate::identity::Method;

/// What the document says how to find.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Callers' credentials.
    pub consumers: bool,
    /// The numbers of clients' networks.
    pub networks: bool,
    /// Fingerprints.
    pub fingerprints: &'a [Supply],
}

impl<'a> Known<'a> {
    /// A section that is there and wrong counts as one: what is wrong with it is reported already.
    pub fn of(root: &Section, fingerprints: &'a [Supply]) -> Known<'a> {
        Known { consumers: root.has("consumer"), networks: root.has("network"), fingerprints }
    }

    /// The method of this name, whose case doesn't matter where the method is a known one.
    pub fn method(&self, name: &str) -> Option<&'a Method> {
        self.fingerprints.iter().map(|supply| &supply.method).find(|method| method.is_called(name))
    }
}
