//! The traffic guard.

use super::*;

/// The fields, in the order of the reference.
pub const FIELDS: &[Field] = &[
    Field {
        path: "traffic.route",
        form: Form::Switch { default: true },
        meaning: "Compare the traffic of each route with what is usual for it. With all four off nothing is learned.",
        raising: "",
    },
    Field {
        path: "traffic.source",
        form: Form::Switch { default: true },
        meaning: "Compare the traffic of each client.",
        raising: "",
    },
    text(
        "traffic.consumer",
        SWITCH,
        "true where there is a `consumer` section",
        "Compare the traffic of each consumer.",
        "",
    ),
    text(
        "traffic.asn",
        SWITCH,
        "true where there is a `network` section",
        "Compare the traffic of each network.",
        "",
    ),
    Field {
        path: "traffic.mode",
        form: Form::Choice { words: MODES, default: "the global mode" },
        meaning: "The mode of the tiers, which act on what the traffic guard finds.",
        raising: "`enforce` refuses requests.",
    },
    Field {
        path: "traffic.surge_factor",
        form: Form::Number(SURGE_FACTOR),
        meaning: "A surge is more than this many times what is usual.",
        raising: "Fewer surges; small ones pass.",
    },
    Field {
        path: "traffic.sensitivity",
        form: Form::Choice { words: SENSITIVITIES, default: "none" },
        meaning: "The same in a word, in place of `surge_factor`: low is 5 times, medium 3, high 2.",
        raising: "`high` finds smaller surges.",
    },
    Field {
        path: "traffic.surge_deviations",
        form: Form::Number(DEVIATIONS),
        meaning: "A surge also lies more than this many usual deviations above what is usual: what goes up and down a lot must rise further. 0 asks for none.",
        raising: "Fewer surges where traffic is uneven.",
    },
    Field {
        path: "traffic.bucket_seconds",
        form: Form::Number(BUCKET),
        meaning: "Requests are counted in buckets of time of this length.",
        raising: "Steadier counts; a short surge may pass unseen, and what is usual takes longer to learn.",
    },
    Field {
        path: "traffic.learning_buckets",
        form: Form::Count(LEARNING),
        meaning: "What is usual is the mean of about so many buckets. Who has been silent for as long is learned anew.",
        raising: "What is usual follows slow changes later.",
    },
    text(
        "traffic.warmup_buckets",
        "whole number, 1 to `learning_buckets`",
        "6, or `learning_buckets` if that is less",
        "Buckets that must have been learned before one is judged.",
        "Newcomers are judged later, by a better mean.",
    ),
    Field {
        path: "traffic.route_floor_rps",
        form: Form::Number(ROUTE_FLOOR),
        meaning: "So many requests per second of a route, or fewer, over a bucket, are never a surge.",
        raising: "Routes with little traffic are left alone.",
    },
    Field {
        path: "traffic.source_floor_rps",
        form: Form::Number(SOURCE_FLOOR),
        meaning: "The same of a client.",
        raising: "Quiet clients are left alone.",
    },
    Field {
        path: "traffic.consumer_floor_rps",
        form: Form::Number(CONSUMER_FLOOR),
        meaning: "The same of a consumer.",
        raising: "Quiet consumers are left alone.",
    },
    Field {
        path: "traffic.asn_floor_rps",
        form: Form::Number(NETWORK_FLOOR),
        meaning: "The same of a network.",
        raising: "Quiet networks are left alone.",
    },
    Field {
        path: "traffic.route_weight",
        form: Form::Count(WEIGHT),
        meaning: "What the surge of a route adds to the score of every request on it. It never leads to a ban.",
        raising: "Requests on a route that surges reach higher tiers.",
    },
    Field {
        path: "traffic.source_weight",
        form: Form::Count(WEIGHT),
        meaning: "What the surge of a client adds to the score of its requests; 20 more from twice a surge on, 40 more from four times.",
        raising: "Clients that surge reach higher tiers.",
    },
    Field {
        path: "traffic.consumer_weight",
        form: Form::Count(WEIGHT),
        meaning: "The same of a consumer.",
        raising: "Consumers that surge reach higher tiers.",
    },
    Field {
        path: "traffic.asn_weight",
        form: Form::Count(NETWORK_WEIGHT),
        meaning: "The same of a network.",
        raising: "Clients of a network that surges reach higher tiers.",
    },
    Field {
        path: "traffic.relearn_after_buckets",
        form: Form::Count(RELEARN),
        meaning: "After so many surged buckets in a row the traffic of a route is its new usual. Clients, consumers and networks don't relearn: a flood would only have to last.",
        raising: "A launch that lasts is a surge for longer.",
    },
    text(
        "traffic.routes.*.surge_factor",
        "number, 1.1–1000 times",
        SECTION,
        "For the route of this name alone: put it in place of the `*`.",
        "",
    ),
    Field {
        path: "traffic.routes.*.sensitivity",
        form: Form::Choice { words: SENSITIVITIES, default: SECTION },
        meaning: "For this route alone, in place of `surge_factor`.",
        raising: "",
    },
    text(
        "traffic.routes.*.surge_deviations",
        "number, 0–100 deviations",
        SECTION,
        "For this route alone.",
        "",
    ),
    text(
        "traffic.routes.*.route_floor_rps",
        "number, 0.001–1000000 requests per second",
        SECTION,
        "For this route alone.",
        "",
    ),
    text("traffic.routes.*.route_weight", "whole number, 1–100 points", SECTION, "For this route alone.", ""),
    text(
        "traffic.routes.*.relearn_after_buckets",
        "whole number, 1–65535 buckets",
        SECTION,
        "For this route alone.",
        "",
    ),
];

const SWITCH: &str = "true or false";
const SECTION: &str = "that of `traffic`";
