//! Who calls: the client by its address, the consumer by its credential, and the keys made of them.
//!
//! * [`prefixes`]: sets of addresses that an operator lists.
//! * [`credential`]: the consumer, whatever the spelling of its credential.
//! * [`key`]: what a rule counts by, as a typed composite, and its readable form.
//! * [`subjects`]: what one caller is under all keys of a configuration.
//! * [`exempt`]: what is neither judged nor counted.

pub mod credential;
pub mod exempt;
pub mod key;
pub mod prefixes;
pub mod subjects;

use crate::request::fingerprint::Layout;
use crate::request::{Request, address};
use core::net::IpAddr;
use credential::Credential;
use prefixes::Prefixes;

/// One way to tell callers' software apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name, as the configuration has it: `JA4`.
    pub name: Box<str>,
    /// Where [`Fingerprints`](crate::request::fingerprint::Fingerprints) have its values.
    pub place: usize,
    /// How these look.
    pub layout: Layout,
}

impl Method {
    /// Is this its name? The case of JA3 and JA4 doesn't matter.
    pub fn is_called(&self, name: &str) -> bool {
        match self.layout {
            Layout::Opaque => *self.name == *name,
            Layout::Ja3 | Layout::Ja4 => self.name.eq_ignore_ascii_case(name),
        }
    }
}

/// How callers are told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bits of a v4 address that make one client. 32: each address.
    pub ipv4_prefix: u8,
    /// Bits of a v6 address that make one client. 64: one household or host, which owns all addresses in it.
    pub ipv6_prefix: u8,
    /// Addresses that stand for many users: never limited by client.
    pub proxies: Prefixes,
    /// Addresses that are never judged.
    pub trusted: Prefixes,
    /// Where a consumer's credential is looked for, in this order.
    pub consumer: Box<[Credential]>,
}

impl Default for Settings {
    fn default() -> Settings {
        let none = Prefixes::default;
        Settings {
            ipv4_prefix: 32,
            ipv6_prefix: 64,
            proxies: none(),
            trusted: none(),
            consumer: Box::default(),
        }
    }
}

/// Where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The address itself.
    pub address: IpAddr,
    /// The network of `prefix` bits that is counted.
    pub network: IpAddr,
    /// Bits of `network` that count.
    pub prefix: u8,
}

/// What the address of a request says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// No address, or none that can be read: no verdict by client.
    Unknown,
    /// A proxy of the operator's: many users, so no verdict by client.
    Proxy(Client),
    /// An address that is never judged.
    Trusted(Client),
    /// One client.
    Client(Client),
}

impl Source {
    /// Reads where a request came from.
    pub fn of(settings: &Settings, request: &Request) -> Source {
        let Some(address) = request.source.and_then(address::parse) else { return Source::Unknown };
        let prefix = if address.is_ipv4() { settings.ipv4_prefix } else { settings.ipv6_prefix };
        let client = Client { address, network: address::cut(address, prefix), prefix };
        if settings.trusted.contains(address) {
            Source::Trusted(client)
        } else if settings.proxies.contains(address) {
            Source::Proxy(client)
        } else {
            Source::Client(client)
        }
    }

    /// The address that was read, whatever it stands for.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Source::Unknown => None,
            Source::Proxy(client) | Source::Trusted(client) | Source::Client(client) => Some(client.address),
        }
    }

    /// The client that may be counted and limited.
    pub fn client(&self) -> Option<&Client> {
        match self {
            Source::Client(client) => Some(client),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(settings: &Settings, text: &str) -> Source {
        Source::of(settings, &Request { source: Some(text.as_bytes()), ..Request::default() })
    }

    #[test]
    fn all_addresses_of_a_v6_network_are_one_client() {
        let settings = Settings::default();
        let client = |text| source(&settings, text).client().map(|client| client.network);
        assert_eq!(client("[2001:db8::1]:80"), client("[2001:db8::ffff:2]:4711"));
        assert_ne!(client("[2001:db8::1]:80"), client("[2001:db8:0:1::1]:80"));
        assert_ne!(client("203.0.113.7:80"), client("203.0.113.8:80"));
        assert_eq!(client("203.0.113.7:80"), client("[::ffff:203.0.113.7]:9"));
    }

    #[test]
    fn trust_is_a_list_of_its_own_and_wins_over_being_a_proxy() {
        let settings = Settings {
            proxies: Prefixes::of(["10.0.0.0/8"]),
            trusted: Prefixes::of(["10.1.0.0/16"]),
            ..Settings::default()
        };
        assert!(matches!(source(&settings, "10.1.0.1:1"), Source::Trusted(_)));
        assert!(matches!(source(&settings, "10.2.0.1:1"), Source::Proxy(_)));
        assert!(matches!(source(&settings, "11.2.0.1:1"), Source::Client(_)));
        assert_eq!(source(&settings, "10.2.0.1:1").client(), None);
    }

    #[test]
    fn no_readable_address_is_no_client() {
        assert_eq!(Source::of(&Settings::default(), &Request::default()), Source::Unknown);
        assert_eq!(source(&Settings::default(), "/var/run/socket"), Source::Unknown);
    }
}
