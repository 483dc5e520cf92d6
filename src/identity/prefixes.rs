//! A set of addresses as an operator lists it. Looked up by binary search over merged ranges: a list of ten
//! thousand networks costs fourteen comparisons.

use core::net::IpAddr;
use ipnet::IpNet;

/// A set of addresses and networks of both families. A v4-mapped v6 network is the v4 network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

impl Prefixes {
    /// Collects networks in any order, overlapping or not.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Prefixes {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for network in networks {
            match (network.network().to_canonical(), network.broadcast().to_canonical()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => v4.push((first.to_bits(), last.to_bits())),
                (IpAddr::V6(first), IpAddr::V6(last)) => v6.push((first.to_bits(), last.to_bits())),
                _ => {} // a v6 network wider than ::ffff:0:0/96 canonicalises at neither end or at both
            }
        }
        Prefixes { v4: Ranges::merged(v4), v6: Ranges::merged(v6) }
    }

    /// Is the address in one of the networks?
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(v4) => self.v4.contains(v4.to_bits()),
            IpAddr::V6(v6) => self.v6.contains(v6.to_bits()),
        }
    }

    /// Nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.v4.0.is_empty() && self.v6.0.is_empty()
    }

    /// Heap bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.v4.0) + size_of_val(&*self.v6.0)
    }

    #[cfg(test)]
    pub(crate) fn of<const N: usize>(networks: [&str; N]) -> Prefixes {
        Prefixes::new(networks.map(|network| network.parse().unwrap()))
    }
}

/// Disjoint ranges, both ends included, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ranges<T>(Box<[(T, T)]>);

impl<T: Copy + Ord> Ranges<T> {
    fn merged(mut ranges: Vec<(T, T)>) -> Ranges<T> {
        ranges.sort_unstable();
        let mut merged: Vec<(T, T)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1 => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Ranges(merged.into_boxed_slice())
    }

    fn contains(&self, value: T) -> bool {
        let after = self.0.partition_point(|&(first, _)| first <= value);
        after.checked_sub(1).and_then(|i| self.0.get(i)).is_some_and(|&(_, last)| value <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_network_holds_its_first_and_its_last_address_and_no_neighbour() {
        let set = Prefixes::of(["10.0.0.0/8", "203.0.113.7/32", "2001:db8::/32"]);
        for inside in ["10.0.0.0", "10.255.255.255", "203.0.113.7", "2001:db8::", "2001:db8:ffff::1"] {
            assert!(set.contains(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["9.255.255.255", "11.0.0.0", "203.0.113.6", "203.0.113.8", "2001:db9::", "::1"] {
            assert!(!set.contains(outside.parse().unwrap()), "{outside}");
        }
        assert!(!Prefixes::default().contains("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn everything_is_a_network_too() {
        let all = Prefixes::of(["0.0.0.0/0", "::/0"]);
        assert!(all.contains("255.255.255.255".parse().unwrap()) && all.contains("ffff::".parse().unwrap()));
    }

    #[test]
    fn a_mapped_network_is_its_v4_network() {
        assert!(Prefixes::of(["::ffff:10.0.0.0/104"]).contains("10.1.2.3".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn a_set_holds_what_one_of_its_networks_holds(
            nets in proptest::collection::vec((any::<u32>(), 0u8..=32), 0..20), address: u32,
        ) {
            let nets: Vec<IpNet> = nets.iter()
                .map(|&(bits, len)| IpNet::new(IpAddr::V4(bits.into()), len).unwrap()).collect();
            let address = IpAddr::V4(address.into());
            let expected = nets.iter().any(|net| net.contains(&address));
            prop_assert_eq!(Prefixes::new(nets).contains(address), expected);
        }
    }
}
