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
        "required",
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
        "`client`, `consumer`, `network`, `route`, `header:NAME`, `cookie:NAME`, or a list of these",
        "client",
        "What has its own bucket. A list is one composite key. A request that lacks a part is not counted by this rule.",
        "More parts make more and smaller buckets.",
    ),
    text(
        "rules[].action",
        "list of `log`, `tarpit`, `throttle`, `deny`, `block`, `close`",
        "required",
        "What happens to requests over the rate. `tarpit` lets them pass after a while, `throttle` answers 429; both charge only what they admit. `deny` answers 403, `block` also bans whom the rule counts. Without `tarpit` or `throttle` every request is charged, so a caller that hammers on stays out until it has been quiet. `close` acts as `deny` in this version.",
        "",
    ),
];
