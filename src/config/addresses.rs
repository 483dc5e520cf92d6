//! Addresses and networks as an operator writes them.

use super::error::{Cause, Shown};
use super::json::Value;
use super::units::text;
use core::net::IpAddr;
use ipnet::IpNet;

/// `192.0.2.10`, `10.0.0.0/8`, `2001:db8::/32`. Bits after a network's length are a slip, and never guessed away.
pub fn network(value: &Value) -> Result<IpNet, Cause> {
    read(text(value)?)
}

/// The same, where it is a part of a text.
pub fn read(text: &str) -> Result<IpNet, Cause> {
    let found = || Shown::new(text);
    let network = parse(text).ok_or_else(|| Cause::Address { found: found() })?;
    if network != network.trunc() {
        return Err(Cause::HostBits { found: found(), network: network.trunc() });
    }
    // A v4-mapped network is its v4 network; one that holds mapped addresses and others would be neither.
    let (first, last) = (network.network().to_canonical(), network.broadcast().to_canonical());
    match first.is_ipv4() == last.is_ipv4() {
        true => Ok(network),
        false => Err(Cause::BothFamilies { found: found() }),
    }
}

fn parse(text: &str) -> Option<IpNet> {
    let Some((address, length)) = text.split_once('/') else {
        return text.parse::<IpAddr>().ok().map(IpNet::from);
    };
    let is_number = length.bytes().all(|b| b.is_ascii_digit());
    let length = length.parse().ok().filter(|_| is_number)?;
    IpNet::new(address.parse().ok()?, length).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_network_of_its_own() {
        assert_eq!(read("192.0.2.10").unwrap().to_string(), "192.0.2.10/32");
        assert_eq!(read("2001:db8::1").unwrap().to_string(), "2001:db8::1/128");
        assert_eq!(read("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert!(read("0.0.0.0/0").is_ok() && read("::/0").is_ok() && read("::ffff:10.0.0.0/104").is_ok());
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for bad in [
            "",
            "10.0.0",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "::/129",
            "010.0.0.1",
            "a",
            "fe80::1%eth0",
        ] {
            assert!(matches!(read(bad), Err(Cause::Address { .. })), "{bad}");
        }
        let network = "10.0.0.0/8".parse().unwrap();
        assert_eq!(read("10.0.0.1/8"), Err(Cause::HostBits { found: Shown::new("10.0.0.1/8"), network }));
    }

    #[test]
    fn a_network_that_is_half_mapped_would_lose_a_half() {
        for half in ["::/80", "::fffe:0:0/95"] {
            assert!(matches!(read(half), Err(Cause::BothFamilies { .. })), "{half}");
        }
    }
}
