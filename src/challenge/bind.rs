//! Whom a clearance is good for.

use super::secret::Secret;
use crate::request::Request;
use core::net::IpAddr;

/// What must be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Nothing: whoever has the cookie.
    None,
    /// The software, by its User-Agent.
    Agent,
    /// The software, and the network of the address: /24 of IPv4, /48 of IPv6. A browser with both has a clearance for each.
    Prefix,
}

impl Bind {
    /// All of them, in the order of documentation.
    pub const ALL: [Bind; 3] = [Bind::None, Bind::Agent, Bind::Prefix];

    /// The word of the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Bind::None => "none",
            Bind::Agent => "ua",
            Bind::Prefix => "prefix",
        }
    }

    /// The cookie that holds the clearance: one for each family of addresses where it is bound to one, so that a browser which
    /// takes now one, now the other is not challenged each time.
    pub fn cookie(self, address: Option<IpAddr>) -> &'static str {
        match (self, address) {
            (Bind::Prefix, Some(IpAddr::V6(_))) => "weir_clearance6",
            _ => "weir_clearance",
        }
    }

    /// What is the same for all whom the clearance is good for.
    pub fn digest(self, secret: &Secret, request: &Request, address: Option<IpAddr>) -> [u8; 8] {
        let agent = request.headers.get("user-agent").unwrap_or_default();
        match self {
            Bind::None => secret.word(&[b"bind none"]),
            Bind::Agent => secret.word(&[b"bind ua", agent]),
            Bind::Prefix => secret.word(&[b"bind prefix", agent, &network(address)]),
        }
    }
}

/// The first bytes of an address, by its family.
fn network(address: Option<IpAddr>) -> [u8; 7] {
    match address {
        None => [0; 7],
        Some(IpAddr::V4(v4)) => {
            let [a, b, c, _] = v4.octets();
            [4, a, b, c, 0, 0, 0]
        }
        Some(IpAddr::V6(v6)) => {
            let [a, b, c, d, e, f, ..] = v6.octets();
            [6, a, b, c, d, e, f]
        }
    }
}
