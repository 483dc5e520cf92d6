//! Who calls: the mode, clients, exemptions, consumers and networks.

use super::{Field, Form, IPV4_PREFIX, IPV6_PREFIX, MODES, NAME, NETWORKS, text};

/// The fields, in the order of the reference.
pub const FIELDS: &[Field] = &[
    Field {
        path: "mode",
        form: Form::Choice { words: MODES, default: "observe" },
        meaning: "`observe` decides and reports and lets everything pass; `enforce` acts.",
        raising: "`enforce` refuses requests.",
    },
    Field {
        path: "client.ipv4_prefix",
        form: Form::Count(IPV4_PREFIX),
        meaning: "Bits of an IPv4 address that make one client.",
        raising: "Smaller clients; less makes neighbours share a limit.",
    },
    Field {
        path: "client.ipv6_prefix",
        form: Form::Count(IPV6_PREFIX),
        meaning: "Bits of an IPv6 address that make one client. A household or host owns a whole /64.",
        raising: "Smaller clients; above 64 one host can have as many limits as it likes.",
    },
    text(
        "client.proxies",
        NETWORKS,
        "none",
        "Addresses that stand for many users (a load balancer, a CDN): never limited as a client.",
        "More addresses go without a per-client limit.",
    ),
    text(
        "client.trusted_ips",
        NETWORKS,
        "none",
        "Addresses that are never judged or counted.",
        "More addresses go without any limit.",
    ),
    text(
        "exempt[].path",
        "path",
        "one of the two is required",
        "This path is never judged or counted. Compared in normal form, without the query.",
        "",
    ),
    text(
        "exempt[].path_prefix",
        "beginning of a path",
        "one of the two is required",
        "Every path that begins so is never judged or counted.",
        "A longer prefix exempts less.",
    ),
    text(
        "exempt[].source",
        NETWORKS,
        "everybody",
        "Only requests from these addresses are exempt.",
        "More addresses are exempt.",
    ),
    text(
        "consumer.from[].header",
        NAME,
        "one of the three is required",
        "A header that holds the caller's credential. The first entry with a value in the request names the consumer; only its SHA-256 is kept.",
        "",
    ),
    text(
        "consumer.from[].cookie",
        NAME,
        "one of the three is required",
        "A cookie that holds the caller's credential.",
        "",
    ),
    text(
        "consumer.from[].query",
        NAME,
        "one of the three is required",
        "A query parameter that holds the caller's credential.",
        "",
    ),
    text(
        "network.asn.filter_state",
        NAME,
        "required",
        "The filter state in which Envoy keeps the number (ASN) of a client's network.",
        "",
    ),
    text(
        "network.asn.field",
        NAME,
        "none: the filter state is the number",
        "The part of the filter state that is the number: `x-asn`, say, in the `envoy.geoip` of Envoy's network filter geoip.",
        "",
    ),
    text(
        "fingerprints.*.filter_state",
        NAME,
        "one of the two is required",
        "The filter state in which Envoy keeps the fingerprints of this method. `*` is JA3, JA4, or a name of yours for values that are compared byte by byte; four methods at most.",
        "",
    ),
    text(
        "fingerprints.*.field",
        NAME,
        "none: the filter state is the value",
        "The part of the filter state that is the fingerprint.",
        "",
    ),
    text(
        "fingerprints.*.header",
        NAME,
        "one of the two is required",
        "The request header in which Envoy hands the fingerprint on. Known of requests alone, and believed: Envoy must overwrite what callers send.",
        "",
    ),
];
