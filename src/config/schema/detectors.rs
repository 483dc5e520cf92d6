//! What is counted besides the operator's rates.

use super::*;

/// The fields, in the order of the reference.
pub const FIELDS: &[Field] = &[
    text(
        "volume.mode",
        "`observe` or `enforce`",
        GLOBAL,
        "Whether callers are held and refused for their volume. The section switches the detector on.",
        "",
    ),
    text(
        "volume.key",
        "`client`, `path`, `consumer`, `network`, `route`, a fingerprint method, `header:NAME`, `cookie:NAME`, or a list of these",
        "[\"client\", \"path\"]",
        "What is counted. Paths are those of a request in normal form: however they are spelled, without query and `;parameters`. A request that lacks a part is not counted.",
        "More parts count each combination apart.",
    ),
    Field {
        path: "volume.tick_seconds",
        form: Form::Number(TICK),
        meaning: "The time in which counts halve.",
        raising: "Counts last longer: fewer requests per second pass, longer bursts matter.",
    },
    text(
        "volume.tarpit_threshold",
        TARPIT_FORM,
        TARPIT_DEFAULT,
        "From this count on a request is held for `policy.tarpit.delay_ms`. Where it is the threshold, none is.",
        "Callers are slowed down later.",
    ),
    Field {
        path: "volume.threshold",
        form: Form::Count(THRESHOLD),
        meaning: "From this count on a request is refused with 429. A caller may send half of it in every tick, for ever.",
        raising: "More requests pass.",
    },
    text(
        "wallet.mode",
        "`observe` or `enforce`",
        GLOBAL,
        "Whether requests are held and refused for the use of their credential. The section switches the detector on; it needs `consumer`.",
        "",
    ),
    Field {
        path: "wallet.tick_seconds",
        form: Form::Number(TICK),
        meaning: "As `volume.tick_seconds`, of a credential, from wherever it is used.",
        raising: "Counts last longer.",
    },
    text(
        "wallet.tarpit_threshold",
        TARPIT_FORM,
        TARPIT_DEFAULT,
        "As `volume.tarpit_threshold`.",
        "Users of the credential are slowed down later.",
    ),
    Field {
        path: "wallet.threshold",
        form: Form::Count(THRESHOLD),
        meaning: "As `volume.threshold`.",
        raising: "More requests pass.",
    },
    text(
        "loop_breaker.mode",
        "`observe` or `enforce`",
        GLOBAL,
        "Whether callers that repeat what fails are refused. The section switches the detector on.",
        "",
    ),
    Field {
        path: "loop_breaker.threshold",
        form: Form::Count(LOOP_THRESHOLD),
        meaning: "So many failures of the upstream (5xx, or a gRPC status that comes to one) for one caller on one host and path, and its requests there are answered with 503 and Retry-After.",
        raising: "Callers may fail more often.",
    },
    Field {
        path: "loop_breaker.tick_seconds",
        form: Form::Number(LOOP_TICK),
        meaning: "The time in which failures halve: with the next tick after the last one the breaker closes.",
        raising: "It closes later; slower loops are found.",
    },
    text(
        "first_sighting.mode",
        "`observe` or `enforce`",
        GLOBAL,
        "Whether the signal counts towards tiers that bind. The section switches the detector on.",
        "",
    ),
    Field {
        path: "first_sighting.rate_threshold",
        form: Form::Count(NEWCOMERS),
        meaning: "While more clients per second than this come that were not seen before, each of them has the signal `anomaly:first_sighting`. After a start everybody is new.",
        raising: "Larger crowds of newcomers are no anomaly.",
    },
    Field {
        path: "first_sighting.weight",
        form: Form::Count(NEWCOMER_WEIGHT),
        meaning: "What the signal adds to the score. It never leads to a ban.",
        raising: "Newcomers in a crowd reach higher tiers.",
    },
];

const GLOBAL: &str = "`mode`";
const TARPIT_FORM: &str = "whole number, 2 to `threshold`";
const TARPIT_DEFAULT: &str = "40, or `threshold` if that is less";
