//! Where a request came from. Envoy writes addresses as text with a port; keys must never depend on the port.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads `203.0.113.7:4711`, `[2001:db8::1]:4711`, `[::1]`, `203.0.113.7` or `2001:db8::1%eth0`.
/// A v4-mapped v6 address is the v4 address. Anything else (a pipe, garbage) is no address.
pub fn parse(text: &[u8]) -> Option<IpAddr> {
    let text = core::str::from_utf8(text).ok()?.trim();
    let host = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (after.is_empty() || is_port(after.strip_prefix(':')?)).then_some(host)?
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => is_port(port).then_some(host)?,
            _ => text,
        },
    };
    let host = host.split_once('%').map_or(host, |(address, _zone)| address);
    host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// Does the text name a port, other than the 0 that Envoy writes for an address which it took from a header?
pub fn has_port(text: &[u8]) -> bool {
    let port = text.iter().rposition(|&b| b == b':').and_then(|colon| text.get(colon + 1..));
    port.and_then(|port| core::str::from_utf8(port).ok()?.parse::<u16>().ok()).is_some_and(|port| port > 0)
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

/// The network of `prefix` bits that `address` lies in. More bits than the address has are all of them.
pub fn cut(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let keep = u32::MAX.checked_shl(32u32.saturating_sub(prefix.into())).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & keep))
        }
        IpAddr::V6(v6) => {
            let keep = u128::MAX.checked_shl(128u32.saturating_sub(prefix.into())).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & keep))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Option<String> {
        parse(text.as_bytes()).map(|address| address.to_string())
    }

    #[test]
    fn the_port_is_never_part_of_the_address() {
        for (text, address) in [
            ("203.0.113.7:4711", "203.0.113.7"),
            ("8.8.8.8:0", "8.8.8.8"),
            ("203.0.113.7", "203.0.113.7"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%eth0]:80", "fe80::1"),
        ] {
            assert_eq!(parsed(text).as_deref(), Some(address), "{text}");
        }
    }

    #[test]
    fn an_address_out_of_a_header_has_no_port() {
        assert!(has_port(b"203.0.113.7:4711") && has_port(b"[2001:db8::1]:443"));
        for text in [&b"203.0.113.7:0"[..], b"203.0.113.7", b"[2001:db8::1]:0", b"", b"a:\xff", b":"] {
            assert!(!has_port(text), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_v4_client_behind_a_v6_socket_is_a_v4_client() {
        assert_eq!(parsed("[::ffff:203.0.113.7]:80").as_deref(), Some("203.0.113.7"));
        assert_eq!(parsed("::ffff:cb00:7107").as_deref(), Some("203.0.113.7"));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in [
            "",
            ":",
            "@/tmp/pipe",
            "203.0.113:80",
            "203.0.113.7:x",
            "203.0.113.7:99999",
            "[::1",
            "[::1]x",
            "[]:1",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
        assert_eq!(parse(b"\xff\xfe"), None);
    }

    #[test]
    fn a_prefix_keeps_the_network_and_drops_the_host() {
        let v6 = parse(b"2001:db8:1:2:3::4").unwrap();
        assert_eq!(cut(v6, 64).to_string(), "2001:db8:1:2::");
        assert_eq!(cut(v6, 128), v6);
        assert_eq!(cut(v6, 0).to_string(), "::");
        let v4 = parse(b"203.0.113.77").unwrap();
        assert_eq!(cut(v4, 24).to_string(), "203.0.113.0");
        assert_eq!(cut(v4, 0).to_string(), "0.0.0.0");
        assert_eq!(cut(v4, 200), v4);
    }

    proptest! {
        #[test]
        fn every_address_is_read_back_with_and_without_a_port(bits: u128, v4: u32, port: u16) {
            let v6 = IpAddr::V6(Ipv6Addr::from_bits(bits));
            prop_assert_eq!(parse(format!("[{v6}]:{port}").as_bytes()), Some(v6.to_canonical()));
            let v4 = IpAddr::V4(Ipv4Addr::from_bits(v4));
            prop_assert_eq!(parse(format!("{v4}:{port}").as_bytes()), Some(v4));
        }

        #[test]
        fn any_bytes_give_an_address_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&bytes);
        }
    }
}
