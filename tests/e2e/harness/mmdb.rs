//! Writes a small MaxMind DB: networks with their numbers, as Envoy's geoip filter reads them.
//!
//! A binary tree over the bits of an IPv6 address (IPv4 lies under ::/96), 16 zero bytes, the data, the metadata.

use ipnet::IpNet;

/// A node's two branches; its number is its place.
type Node = [Branch; 2];

#[derive(Clone, Copy)]
enum Branch {
    Nothing,
    Node(usize),
    /// Begins so far into the data.
    Data(usize),
}

/// Metadata begins after this.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";

/// Between the tree and the data.
const GAP: usize = 16;

/// The content of a file that knows these networks (`"127.0.0.0/30"`); the narrowest that holds an address counts.
///
/// `fs::write(path, mmdb::of_networks(&[("127.0.0.0/30".into(), 64500)]))`
pub fn of_networks(numbers: &[(String, u32)]) -> Vec<u8> {
    let mut networks: Vec<(IpNet, u32)> =
        numbers.iter().map(|(network, number)| (network.parse().unwrap(), *number)).collect();
    // A narrow one splits the wide one that is already there.
    networks.sort_by_key(|(network, _)| bits_of(network).1);
    let (mut nodes, mut data) = (vec![[Branch::Nothing; 2]], Vec::new());
    for (network, number) in networks {
        insert(&mut nodes, bits_of(&network), Branch::Data(data.len()));
        data.extend(map(&[("autonomous_system_number", uint(6, u64::from(number)))]));
    }
    let mut file: Vec<u8> = nodes.iter().flatten().flat_map(|branch| record(*branch, nodes.len())).collect();
    file.extend([0; GAP]);
    file.extend(data);
    file.extend(MARKER);
    file.extend(metadata(nodes.len()));
    file
}

/// A network's address as one of IPv6, and how many of its bits count.
fn bits_of(network: &IpNet) -> (u128, u8) {
    match network {
        IpNet::V4(v4) => (u128::from(u32::from(v4.network())), 96 + v4.prefix_len()),
        IpNet::V6(v6) => (u128::from(v6.network()), v6.prefix_len()),
    }
}

fn insert(nodes: &mut Vec<Node>, (address, bits): (u128, u8), data: Branch) {
    assert!(bits > 0, "the tree has no root to put everything at");
    let side = |depth: u8| (address >> (127 - depth) & 1) as usize;
    let mut at = 0;
    for depth in 0..bits - 1 {
        at = match nodes[at][side(depth)] {
            Branch::Node(next) => next,
            wide => {
                nodes.push([wide; 2]);
                let next = nodes.len() - 1;
                nodes[at][side(depth)] = Branch::Node(next);
                next
            }
        };
    }
    nodes[at][side(bits - 1)] = data;
}

/// Three bytes: a node's number, the number of nodes for nothing, or what lies beyond for data.
fn record(branch: Branch, nodes: usize) -> [u8; 3] {
    let value = match branch {
        Branch::Nothing => nodes,
        Branch::Node(number) => number,
        Branch::Data(offset) => nodes + GAP + offset,
    };
    let [0, bytes @ ..] = u32::try_from(value).unwrap().to_be_bytes() else { panic!("too much for 24 bits") };
    bytes
}

fn metadata(nodes: usize) -> Vec<u8> {
    map(&[
        ("node_count", uint(6, nodes as u64)),
        ("record_size", uint(5, 24)),
        ("ip_version", uint(5, 6)),
        ("database_type", text("Weir-Test-ASN")),
        ("binary_format_major_version", uint(5, 2)),
        ("binary_format_minor_version", uint(5, 0)),
        ("build_epoch", uint(9, 1)),
        ("languages", control(11, 0)),
        ("description", map(&[])),
    ])
}

fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = control(7, entries.len());
    for (key, value) in entries {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [control(2, text.len()), text.as_bytes().to_vec()].concat()
}

/// Type 5 is of 16 bits, 6 of 32, 9 of 64; leading zeros are left out.
fn uint(kind: u8, value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let significant = &bytes[value.leading_zeros() as usize / 8..];
    [control(kind, significant.len()), significant.to_vec()].concat()
}

/// Type and size of what follows; types above 7 have a byte of their own.
fn control(kind: u8, size: usize) -> Vec<u8> {
    assert!(size < 29, "longer sizes have another form");
    match kind {
        1..=7 => vec![kind << 5 | size as u8],
        _ => vec![size as u8, kind - 7],
    }
}
