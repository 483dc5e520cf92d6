//! Every field that this version has: the one table behind unknown-key errors, bounds, defaults and the README.

use super::later::{self, Later};
use super::units::Range;
use core::fmt::{self, Display};

/// One field.
pub struct Field {
    /// Where it stands: `rules[].filter.max_req_rate`, with `[]` for each element of a list.
    pub path: &'static str,
    /// What may be written, and what is meant when nothing is.
    pub form: Form,
    /// What it does.
    pub meaning: &'static str,
    /// What more of it, or another choice, changes.
    pub raising: &'static str,
}

/// What may be written in a field.
pub enum Form {
    /// `true` or `false`.
    Switch {
        /// When absent.
        default: bool,
    },
    /// One of a few words.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// When absent, in words.
        default: &'static str,
    },
    /// A whole number.
    Count(Range),
    /// A number.
    Number(Range),
    /// Something else, described.
    Text {
        /// What may be written.
        form: &'static str,
        /// When absent, in words.
        default: &'static str,
    },
}

impl Form {
    /// What is meant when nothing is written.
    pub fn default(&self) -> String {
        match self {
            Form::Switch { default } => default.to_string(),
            Form::Choice { default, .. } | Form::Text { default, .. } => (*default).to_owned(),
            Form::Count(range) | Form::Number(range) => range.default.to_string(),
        }
    }
}

impl Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Form::Switch { .. } => f.write_str("true or false"),
            Form::Choice { words, .. } => write!(f, "{}", words.join(" or ")),
            Form::Count(range) => write!(f, "whole number, {range}"),
            Form::Number(range) => write!(f, "number, {range}"),
            Form::Text { form, .. } => f.write_str(form),
        }
    }
}

/// The two modes.
pub const MODES: &[&str] = &["observe", "enforce"];
/// The actions that this version has.
pub const ACTIONS: &[&str] = &["log", "throttle", "deny"];
/// What this version can count by.
pub const KEYS: &[&str] = &["client", "consumer", "route", "header:NAME", "cookie:NAME"];

/// Bits of an address. 0 would make one client of everybody.
pub const IPV4_PREFIX: Range = Range { min: 1.0, max: 32.0, default: 32.0, unit: "bits" };
/// Bits of an address.
pub const IPV6_PREFIX: Range = Range { min: 1.0, max: 128.0, default: 64.0, unit: "bits" };
/// Seconds' worth of the rate. The upper end lets a rate of one per day have a burst of 11.
pub const MULTIPLIER: Range = Range { min: 0.001, max: 1_000_000.0, default: 1.0, unit: "seconds' worth" };
/// What tables may take of a worker's budget of 48 MiB: the module and its buffers have the rest.
pub const TABLES_BYTES: u64 = 44 << 20;
/// At least two slots for each of the 512 shards that workers exchange; at most what fits beside the default of the
/// others, at some 57 bytes each.
pub const SLOTS: Range = Range { min: 1_024.0, max: 700_000.0, default: 50_000.0, unit: "slots" };
/// At least one line of 64 bytes for each shard.
pub const SKETCH_BUCKETS: Range = Range { min: 512.0, max: 524_288.0, default: 65_536.0, unit: "buckets" };
/// Faster than 10 ms is all exchange and no work; slower than 10 s lets workers drift apart.
pub const EXCHANGE_MS: Range = Range { min: 10.0, max: 10_000.0, default: 200.0, unit: "ms" };
/// Between two events about one client.
pub const LOG_INTERVAL: Range = Range { min: 1.0, max: 86_400.0, default: 10.0, unit: "s" };

const NETWORKS: &str = "list of addresses and networks";
const NAME: &str = "name";

const fn text(
    path: &'static str,
    form: &'static str,
    default: &'static str,
    meaning: &'static str,
    raising: &'static str,
) -> Field {
    Field { path, form: Form::Text { form, default }, meaning, raising }
}

/// The table.
pub static FIELDS: &[Field] = &[
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
        "`client`, `consumer`, `route`, `header:NAME`, `cookie:NAME`, or a list of these",
        "client",
        "What has its own bucket. A list is one composite key. A request that lacks a part is not counted by this rule.",
        "More parts make more and smaller buckets.",
    ),
    text(
        "rules[].action",
        "list of `log`, `throttle`, `deny`",
        "required",
        "What happens to requests over the rate. `throttle` answers 429 and charges only what it admits. `deny` answers 403; without `throttle` every request is charged, so a caller that hammers on stays out until it has been quiet.",
        "",
    ),
    Field {
        path: "tables.slots",
        form: Form::Count(SLOTS),
        meaning: "Slots for callers: what one worker keeps at hand, one per key and rule, and one per client that has events. Rounded up to a multiple of 4,096.",
        raising: "More callers are at hand at once; memory grows by some 57 bytes each. All tables of a worker together: at most 44 MiB.",
    },
    Field {
        path: "tables.sketch_buckets",
        form: Form::Count(SKETCH_BUCKETS),
        meaning: "Room for what callers owe who lost their slot: eight of them in each of these buckets of memory. One for every three keys that may owe something at once forgets next to none. Rounded up to a power of two.",
        raising: "More debts are remembered; memory grows by 64 bytes each. A change forgets what only these knew.",
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
];

/// Does this version know a key?
pub enum Known {
    /// It has it.
    Built,
    /// A later one has it.
    Later(&'static Later),
    /// No version has it.
    No,
}

/// Looks up `key` in the section whose pattern is `section`.
pub fn lookup(section: &str, key: &str) -> Known {
    if let Some(later) = later::FIELDS
        .iter()
        .find(|later| child(later.path, section) == Some(key) && is_leaf(later.path, section))
    {
        return Known::Later(later);
    }
    let is_section_of_later = || later::FIELDS.iter().any(|later| child(later.path, section) == Some(key));
    if names(section).any(|name| name == key) || is_section_of_later() { Known::Built } else { Known::No }
}

/// The names that this version has in the section whose pattern is `section`.
pub fn names(section: &str) -> impl Iterator<Item = &'static str> {
    let mut last = None;
    FIELDS.iter().filter_map(move |field| {
        let name = child(field.path, section)?;
        (last.replace(name) != Some(name)).then_some(name)
    })
}

/// The name of `path` in `section`: in `rules[]`, `rules[].filter.key` is `filter`.
fn child(path: &'static str, section: &str) -> Option<&'static str> {
    let rest = path.strip_prefix(section)?;
    let rest = if section.is_empty() { rest } else { rest.strip_prefix('.')? };
    rest.split(['.', '[']).next()
}

/// Does `path` end in `section`, without a further section?
fn is_leaf(path: &str, section: &str) -> bool {
    let rest = path.strip_prefix(section).unwrap_or_default();
    !rest.trim_start_matches('.').contains(['.', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_section_stand_together_so_that_each_name_is_listed_once() {
        for section in ["", "client", "rules[]", "rules[].filter", "rules[].filter.match"] {
            let mut listed: Vec<_> = names(section).collect();
            let count = listed.len();
            listed.sort_unstable();
            listed.dedup();
            assert_eq!(listed.len(), count, "{section}");
            assert!(count > 1, "{section}");
        }
    }

    #[test]
    fn a_key_is_looked_up_in_its_own_section() {
        assert!(matches!(lookup("", "rules"), Known::Built));
        assert!(matches!(lookup("", "policy"), Known::Built));
        assert!(matches!(lookup("policy", "ban"), Known::Later(_)));
        assert!(matches!(lookup("", "traffic"), Known::Later(_)));
        assert!(matches!(lookup("rules[].filter", "max_conn_rate"), Known::Later(_)));
        assert!(matches!(lookup("rules[]", "max_req_rate"), Known::No));
        assert!(matches!(lookup("client", "proxies[]"), Known::No));
        assert!(matches!(lookup("", ""), Known::No));
    }
}
