//! The rules.

use super::{Field, Form, MODES, MULTIPLIER, NAME, NETWORKS, text};

/// The fields, in the order of the reference.
pub const FIELDS: &[Field] = &[
    text(
        "rules[].name",
        "1–64 of A–Z a–z 0–9 _ -",
        "required",
        "Names the rule in metrics, events and across reloads. Unique.",
        "",
    ),
    Field {
        path: "rules[].enabled",
        form: Form::Switch { default: true },
        meaning: "A rule that is not enabled counts nothing.",
        raising: "",
    },
    Field {
        path: "rules[].mode",
        form: Form::Choice { words: MODES, default: "the global mode" },
        meaning: "The mode of this rule alone. A rule that observes never hides one that enforces.",
        raising: "`enforce` refuses requests.",
    },
    text(
        "rules[].filter.max_req_rate",
        "rate, 1/d–1000000/s",
        "requests are not counted",
        "Sustained requests per key and process: a number per second, or `\"6/m\"`, `\"100/s\"`, `\"1/h\"`, `\"1/d\"`.",
        "More requests pass.",
    ),
    Field {
        path: "rules[].filter.req_burst_multiplier",
        form: Form::Number(MULTIPLIER),
        meaning: "How many may come at once, in seconds' worth of the rate: burst = rate per second × multiplier, rounded down, at least 1.",
        raising: "Larger bursts pass after a pause; the sustained rate stays.",
    },
    text(
        "rules[].filter.max_conn_rate",
        "rate, 1/d–1000000/s",
        "connections are not counted",
        "Sustained new connections per key and process, judged before the TLS handshake by the network filter `weir_l4`. The key must be known of a connection: `client`, `network`, a fingerprint.",
        "More connections pass.",
    ),
    Field {
        path: "rules[].filter.conn_burst_multiplier",
        form: Form::Number(MULTIPLIER),
        meaning: "How many connections may come at once, as with requests.",
        raising: "Larger bursts pass after a pause.",
    },
    text(
        "rules[].filter.max_h2_error_rate",
        "rate, 1/d–1000000/s",
        "errors are not counted",
        "Sustained HTTP/2 streams that the caller resets, and breaches of the protocol, per key and process. Requests over a proxy's connection are counted for nobody. Who is over it is also answered so at its requests, where the action is `tarpit`, `throttle` or `deny`.",
        "More errors pass: a browser resets streams when its user leaves a page.",
    ),
    Field {
        path: "rules[].filter.h2_burst_multiplier",
        form: Form::Number(MULTIPLIER),
        meaning: "How many errors may come at once, as with requests.",
        raising: "Larger bursts pass after a pause.",
    },
    text(
        "rules[].filter.fingerprints.*",
        "list of fingerprints",
        "everybody",
        "Only callers with one of these, by any of the methods. Alone, without a rate, the rule is for each of their connections and requests; with `match`, for these requests. JA3 and JA4 in any case.",
        "The rule is for more callers.",
    ),
    text(
        "rules[].filter.rate_limited_ips",
        NETWORKS,
        "everybody",
        "The rule applies to these addresses only, and rules without such a list pass over them.",
        "More addresses have this rule for their limit.",
    ),
    text(
        "rules[].filter.match.host",
        "`www.example.com` or `*.example.com`",
        "every host",
        "Only requests for this host; case and port don't matter.",
        "",
    ),
    text(
        "rules[].filter.match.path_prefix",
        "beginning of a path",
        "every path",
        "Only requests whose path in normal form begins so.",
        "A longer prefix limits less.",
    ),
    text(
        "rules[].filter.match.methods",
        "list of methods in capitals",
        "every method",
        "Only these methods.",
        "More requests are counted.",
    ),
    text(
        "rules[].filter.match.route",
        NAME,
        "every route",
        "Only requests that Envoy sends over the route of this name.",
        "",
    ),
    text(
        "rules[].filter.key",
        "`client`, `consumer`, `network`, `route`, a method of `fingerprints`, `header:NAME`, `cookie:NAME`, or a list of these",
        "client",
        "What has its own bucket. A list is one composite key. A request that lacks a part is not counted by this rule.",
        "More parts make more and smaller buckets.",
    ),
    text(
        "rules[].action",
        "list of `log`, `tarpit`, `throttle`, `challenge`, `deny`, `block`, `close`",
        "required",
        "What happens to what is over the rates. `tarpit` lets them pass after a while, `throttle` answers 429; both charge only what they admit. `deny` answers 403, `block` also bans whom the rule counts. Without `tarpit` or `throttle` every request is charged, so a caller that hammers on stays out until it has been quiet. `close` answers 403 and ends the connection; a connection is refused before its handshake by each of these but `log` and `tarpit`.",
        "",
    ),
];
