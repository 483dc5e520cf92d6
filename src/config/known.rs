//! Which subjects can be told apart at all: what needs others is refused.

use super::error::{Cause, Shown};
#[cfg(test)]
use super::plan::Origin;
use super::plan::Supply;
use super::read::Section;
use crate::identity::Method;
use crate::request::fingerprint::Layout;
#[cfg(test)]
use std::sync::LazyLock;

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
    pub fn method(&self, name: &str) -> Result<&'a Method, Cause> {
        let methods = self.fingerprints.iter().map(|supply| &supply.method);
        let mut called = methods.filter(|method| method.is_called(name));
        called.next().ok_or_else(|| Cause::NoFingerprint { method: Shown::new(name) })
    }

    /// The same where the name may be no method's at all, which is `None`.
    pub fn supplied(&self, name: &str) -> Option<Result<&'a Method, Cause>> {
        let method = self.method(name);
        (method.is_ok() || Layout::of(name) != Layout::Opaque).then_some(method)
    }
}

#[cfg(test)]
impl Known<'static> {
    /// All that can be counted by: JA3 at place 0 and JA4 at 1.
    pub fn all() -> Known<'static> {
        static SUPPLIES: LazyLock<[Supply; 2]> = LazyLock::new(|| {
            let supply = |place, name: &str| Supply {
                method: Method { name: name.into(), place, layout: Layout::of(name) },
                from: Origin::Header(name.into()),
            };
            [supply(0, "JA3"), supply(1, "JA4")]
        });
        Known { consumers: true, networks: true, fingerprints: &*SUPPLIES }
    }
}
