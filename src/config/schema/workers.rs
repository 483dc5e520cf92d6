//! What workers keep, share and report.

use super::{
    BANS, EXCHANGE_MS, Field, Form, LOG_INTERVAL, MAX_KEYS, SKETCH_BUCKETS, SLOTS, WEBHOOK_CALLS, text,
};

/// The fields, in the order of the reference.
pub const FIELDS: &[Field] = &[
    Field {
        path: "tables.slots",
        form: Form::Count(SLOTS),
        meaning: "Slots for callers: what one worker keeps at hand, one per key and rule, and one per client that has events. Rounded up to a multiple of 4,096.",
        raising: "More callers are at hand at once; memory grows by some 57 bytes each. All tables of a worker together: at most 44 MiB.",
    },
    Field {
        path: "tables.max_keys",
        form: Form::Count(MAX_KEYS),
        meaning: "Routes, clients, consumers and networks that the traffic guard follows at once. Where they are more, those with the most traffic are.",
        raising: "More of them are compared with what is usual; memory grows by some 42 bytes each.",
    },
    Field {
        path: "tables.sketch_buckets",
        form: Form::Count(SKETCH_BUCKETS),
        meaning: "Room for what callers owe who lost their slot: eight of them in each of these buckets of memory. One for every three keys that may owe something at once forgets next to none. Volume, wallet, loop breaker and first sightings, where they are on, have a sketch of as many buckets each. Rounded up to a power of two.",
        raising: "More debts and counts are remembered; memory grows by 64 bytes for each of these. A change forgets what only they knew.",
    },
    Field {
        path: "tables.bans",
        form: Form::Count(BANS),
        meaning: "Bans in force at once. Where there is no place for another, it is not made, and counted.",
        raising: "More bans; memory grows by some 58 bytes each.",
    },
    Field {
        path: "workers.exchange_ms",
        form: Form::Count(EXCHANGE_MS),
        meaning: "Time between two exchanges of a worker with the others of its process.",
        raising: "Less work; workers hear of each other later.",
    },
    Field {
        path: "events.log",
        form: Form::Switch { default: true },
        meaning: "Write events as JSON lines to Envoy's log.",
        raising: "",
    },
    Field {
        path: "events.log_interval_seconds",
        form: Form::Number(LOG_INTERVAL),
        meaning: "At most one event per client in this time.",
        raising: "Fewer events.",
    },
    text(
        "events.webhook.cluster",
        "name of a cluster",
        "none: no webhook",
        "Events are posted to this cluster of Envoy's too, as lines of JSON (`application/x-ndjson`), several at once. What can't be sent is dropped and counted; no request ever waits for it.",
        "",
    ),
    text("events.webhook.path", "path", "/", "The path to post to.", ""),
    Field {
        path: "events.webhook.max_concurrent",
        form: Form::Count(WEBHOOK_CALLS),
        meaning: "Calls of all workers together that have no answer yet; each worker may make one. Without an answer in 5 seconds a call has failed.",
        raising: "A slow service gets more at once.",
    },
];
