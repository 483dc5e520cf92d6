//! The bounds of all numbers with their reasons, and the words of all choices.

use crate::config::units::Range;

/// The two modes.
pub const MODES: &[&str] = &["observe", "enforce"];
/// The actions that rules have in this version.
pub const RULE_ACTIONS: &[&str] = &["log", "tarpit", "throttle", "challenge", "deny", "block", "close"];
/// The actions of tiers.
pub const TIER_ACTIONS: &[&str] = RULE_ACTIONS;
/// Whom a clearance is good for.
pub const BINDS: &[&str] = &["none", "ua", "prefix"];
/// What this version can count by.
pub const KEYS: &[&str] =
    &["client", "consumer", "network", "route", "JA3", "JA4", "header:NAME", "cookie:NAME"];
/// What volumes can be counted by.
pub const VOLUME_KEYS: &[&str] =
    &["client", "path", "consumer", "network", "route", "JA3", "JA4", "header:NAME", "cookie:NAME"];
/// A fingerprint of a method of which nothing is known.
pub const OPAQUE: &str = "1 to 64 bytes, not - alone and without spaces at the ends";
/// Words for a surge factor, and which one each stands for.
pub const SENSITIVITIES: &[&str] = &["low", "medium", "high"];
/// The factors of [`SENSITIVITIES`].
pub const SENSITIVE_FACTORS: [f64; 3] = [5.0, 3.0, 2.0];

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
pub const SLOTS: Range = Range { min: 1_024.0, max: 520_000.0, default: 50_000.0, unit: "slots" };
/// Fewer than the sets of a shard would have keys fight for places; more would not fit shared data.
pub const MAX_KEYS: Range = Range { min: 256.0, max: 500_000.0, default: 200_000.0, unit: "keys" };
/// At least one for each of the 64 shards; shared data has room for some more than the most.
pub const BANS: Range = Range { min: 64.0, max: 75_000.0, default: 50_000.0, unit: "bans" };
/// At least one line of 64 bytes for each shard; at most what fits beside the default of the others.
pub const SKETCH_BUCKETS: Range = Range { min: 512.0, max: 262_144.0, default: 65_536.0, unit: "buckets" };
/// Faster than 10 ms is all exchange and no work; slower than 10 s lets workers drift apart.
pub const EXCHANGE_MS: Range = Range { min: 10.0, max: 10_000.0, default: 200.0, unit: "ms" };
/// Between two events about one client.
pub const LOG_INTERVAL: Range = Range { min: 1.0, max: 86_400.0, default: 10.0, unit: "s" };

/// Below 1.1 what is usual would be a surge.
pub const SURGE_FACTOR: Range = Range { min: 1.1, max: 1_000.0, default: 3.0, unit: "times" };
/// Usual deviations above the mean. For counts of independent events four are passed once in 30,000 buckets.
pub const DEVIATIONS: Range = Range { min: 0.0, max: 100.0, default: 5.0, unit: "deviations" };
/// Shorter buckets have counts too small to compare.
pub const BUCKET: Range = Range { min: 1.0, max: 3_600.0, default: 10.0, unit: "s" };
/// A mean of one bucket is none; for the most see [`Span::MAX`](crate::counters::ewma::Span::MAX).
pub const LEARNING: Range = Range { min: 2.0, max: 10_000.0, default: 60.0, unit: "buckets" };
/// At most as many as the mean remembers.
pub const WARMUP: Range = Range { min: 1.0, max: LEARNING.max, default: 6.0, unit: "buckets" };
/// What an entry can count.
pub const RELEARN: Range = Range { min: 1.0, max: 65_535.0, default: 360.0, unit: "buckets" };
/// Requests per second that are no surge, whatever is usual: of a route …
pub const ROUTE_FLOOR: Range = floor(20.0);
/// … a client …
pub const SOURCE_FLOOR: Range = floor(5.0);
/// … a consumer …
pub const CONSUMER_FLOOR: Range = floor(10.0);
/// … and a network.
pub const NETWORK_FLOOR: Range = floor(20.0);
/// What the surge of a route, a client or a consumer adds to the score …
pub const WEIGHT: Range = Range { default: 40.0, ..SCORE };
/// … and that of a network, whose other clients have done nothing.
pub const NETWORK_WEIGHT: Range = Range { default: 30.0, ..SCORE };
/// A threat score, or a part of one. There is no default where it must be written.
pub const SCORE: Range = Range { min: 1.0, max: 100.0, default: 1.0, unit: "points" };

/// Below a tenth of a second counts are too small to compare; above an hour they are quotas.
pub const TICK: Range = Range { min: 0.1, max: 3_600.0, default: 1.0, unit: "s" };
/// Failures are fewer than requests.
pub const LOOP_TICK: Range = Range { default: 10.0, ..TICK };
/// A single request must pass. At most what is counted.
pub const THRESHOLD: Range = Range { min: 2.0, max: 60_000.0, default: 80.0, unit: "requests" };
/// At most the threshold.
pub const TARPIT_THRESHOLD: Range = Range { default: 40.0, ..THRESHOLD };
/// One failure is no loop.
pub const LOOP_THRESHOLD: Range = Range { min: 2.0, max: 60_000.0, default: 20.0, unit: "failures" };
/// New clients per second.
pub const NEWCOMERS: Range = Range { min: 1.0, max: 1_000_000.0, default: 500.0, unit: "clients per second" };
/// Half of what a surge weighs: to be new is no offence.
pub const NEWCOMER_WEIGHT: Range = Range { default: 20.0, ..SCORE };
/// Calls without an answer: each keeps 64 KiB at the most.
pub const WEBHOOK_CALLS: Range = Range { min: 1.0, max: 256.0, default: 8.0, unit: "calls" };

/// Requests that pass in each window of a tier that throttles.
pub const QUOTA: Range = Range { min: 1.0, max: 1_000_000.0, default: 20.0, unit: "requests" };
/// The window of that quota: at most a day.
pub const QUOTA_WINDOW: Range = Range { min: 1.0, max: 86_400.0, default: 10.0, unit: "s" };
/// Longer than a minute no caller waits.
pub const TARPIT_DELAY_MS: Range = Range { min: 1.0, max: 60_000.0, default: 3_000.0, unit: "ms" };
/// Each of them keeps a connection and Envoy's buffers.
pub const TARPIT_MOST: Range = Range { min: 1.0, max: 10_000.0, default: 1_000.0, unit: "requests" };
/// Leading zero bits: 8 are a blink, 26 a minute or more of a fast machine.
pub const DIFFICULTY: Range = Range { min: 1.0, max: 26.0, default: 18.0, unit: "bits" };
/// At most a day.
pub const CLEARANCE: Range = Range { min: 10.0, max: 86_400.0, default: 1_800.0, unit: "s" };
/// A page that is no answer must not look like one.
pub const STATUS: Range = Range { min: 400.0, max: 599.0, default: 429.0, unit: "" };
/// Points that make a ban.
pub const LEDGER_LIMIT: Range = Range { min: 1.0, max: 1_000_000.0, default: 100.0, unit: "points" };
/// The window in which they add up: at most a day.
pub const LEDGER_WINDOW: Range = Range { min: 1.0, max: 86_400.0, default: 3_600.0, unit: "s" };
/// At most [`MAX_BAN`](crate::bans::MAX_BAN): 31 days.
pub const BAN: Range = Range { min: 1.0, max: 2_678_400.0, default: 300.0, unit: "s" };

/// Above a million per second nothing surges; above zero, so that a key with one request in its life can't.
const fn floor(default: f64) -> Range {
    Range { min: 0.001, max: 1_000_000.0, default, unit: "requests per second" }
}
