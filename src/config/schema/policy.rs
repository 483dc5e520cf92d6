//! What is done about what was found.

use super::*;

/// The fields, in the order of the reference.
pub const FIELDS: &[Field] = &[
    text(
        "policy.tiers[].min_score",
        "whole number, 1–100 points",
        "required",
        "The tier is reached from this score on; of those reached the highest acts. Without `tiers`: 40 challenge, 60 throttle, 90 deny. `[]` is none.",
        "Fewer requests reach it.",
    ),
    text(
        "policy.tiers[].action",
        "`log`, `tarpit`, `throttle`, `challenge`, `deny`, `block` or `close`",
        "required",
        "What happens to a request in this tier, as in rules. `throttle` lets pass what `policy.throttle` says. `challenge` asks browsers that go to a page to prove that they are some, and throttles others.",
        "",
    ),
    text(
        "policy.why_header",
        "name of a header",
        "none",
        "A response header that says the action, its tier or rule, the score, the signals and whom they are about. For finding out why: callers see it too.",
        "",
    ),
    Field {
        path: "policy.throttle.quota",
        form: Form::Count(QUOTA),
        meaning: "Requests of one caller that pass in each window while it is in a tier that throttles.",
        raising: "More requests pass.",
    },
    Field {
        path: "policy.throttle.window_seconds",
        form: Form::Number(QUOTA_WINDOW),
        meaning: "The window of that quota.",
        raising: "Fewer requests pass per second.",
    },
    Field {
        path: "policy.tarpit.delay_ms",
        form: Form::Count(TARPIT_DELAY_MS),
        meaning: "How long `tarpit` holds a request before it passes.",
        raising: "Callers wait longer.",
    },
    Field {
        path: "policy.tarpit.max_concurrent",
        form: Form::Count(TARPIT_MOST),
        meaning: "Requests that the process holds at once. Beyond, they pass at once.",
        raising: "More requests wait; each keeps a stream of Envoy's, and 16 bytes of each worker.",
    },
    text(
        "policy.challenge.difficulty",
        "two whole numbers, 1–26 bits",
        "[18, 22]",
        "What a browser has to work: on average 2 to the power of so many hashes, the first where the score just reaches the tier, the second at 100. At the first there is a way for browsers without scripts, by waiting.",
        "Programs pay more, and people wait longer: twice as long for each bit.",
    ),
    Field {
        path: "policy.challenge.clearance_seconds",
        form: Form::Count(CLEARANCE),
        meaning: "For how long a browser that has proved itself is not challenged again.",
        raising: "People are challenged less often; a clearance that was stolen is good for longer.",
    },
    Field {
        path: "policy.challenge.bind",
        form: Form::Choice { words: BINDS, default: "prefix" },
        meaning: "Whom a clearance is good for: `none`, whoever has the cookie; `ua`, the same User-Agent; `prefix`, the same User-Agent in the same /24 of IPv4 or /48 of IPv6.",
        raising: "People whose addresses change are challenged again.",
    },
    Field {
        path: "policy.challenge.status",
        form: Form::Count(STATUS),
        meaning: "The status of the page.",
        raising: "",
    },
    text(
        "policy.challenge.secret",
        "text of 16 characters or more",
        "random, made by each process",
        "What puzzles and clearances are signed with. Envoys that have the same one honour each other's clearances, also after a restart.",
        "",
    ),
    text(
        "policy.challenge.previous_secret",
        "text of 16 characters or more",
        "none",
        "What this signed is still good: move the old secret here when you change it.",
        "",
    ),
    Field {
        path: "policy.ledger.limit",
        form: Form::Count(LEDGER_LIMIT),
        meaning: "Each request that is refused by `deny` or `block` charges its caller with its score, as far as that is the caller's own doing. Who is charged so much within the window is banned.",
        raising: "Bans come later.",
    },
    Field {
        path: "policy.ledger.window_seconds",
        form: Form::Number(LEDGER_WINDOW),
        meaning: "The window, which begins with the first charge.",
        raising: "Charges count for longer; bans come earlier.",
    },
    Field {
        path: "policy.ban.duration_seconds",
        form: Form::Number(BAN),
        meaning: "How long a ban lasts: one by the ledger or by `block`.",
        raising: "Longer bans.",
    },
    text(
        "policy.ban.never",
        "list of `client:203.0.113.7`, `client:10.0.0.0/8`, `network:64500`, `JA4:` and a fingerprint, `consumer:sha256:` and 64 hex digits",
        "nobody",
        "Callers that are refused like others, and never banned.",
        "More callers are never banned.",
    ),
];
