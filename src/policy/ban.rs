//! Who is banned, for how long, and who never is.

use crate::detect::rules::Listed;
use crate::identity::credential::Digest256;
use crate::identity::key::Caller;
use crate::identity::prefixes::Prefixes;
use crate::time::Nanos;

/// How bans are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a ban lasts.
    pub duration: Nanos,
    /// Who is never banned.
    pub never: Never,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { duration: Nanos::from_secs(300), never: Never::default() }
    }
}

/// Callers that are refused like others, and never banned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Never {
    /// By their address.
    pub clients: Prefixes,
    /// By their credential.
    pub consumers: Box<[Digest256]>,
    /// By the network of their address.
    pub networks: Box<[u32]>,
    /// By their software.
    pub prints: Box<[Listed]>,
}

impl Never {
    /// Is this caller one of them, in any respect?
    pub fn covers(&self, caller: &mut Caller) -> bool {
        let client = || caller.source.address().is_some_and(|address| self.clients.contains(address));
        let network = || caller.network().is_some_and(|number| self.networks.contains(&number));
        if client() || (!self.networks.is_empty() && network()) || self.has_print_of(caller) {
            return true;
        }
        !self.consumers.is_empty() && caller.consumer().is_some_and(|c| self.consumers.contains(&c))
    }

    fn has_print_of(&self, caller: &Caller) -> bool {
        self.prints.iter().any(|listed| listed.has(caller.fingerprints()))
    }
}
