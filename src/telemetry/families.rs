//! What is counted: one closed list. A series is a family with one value for each of its labels, all from closed
//! sets; the only open sets are the operator's: rule names, and the scores at which tiers begin. Nothing that a client
//! sends becomes a name or a label.

use crate::detect::Detector;

/// How a family's numbers behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down; the workers' values add up.
    Gauge,
}

/// One label: its name and all values that it can have.
pub type Label = (&'static str, &'static [&'static str]);

/// One family of series.
pub struct Family {
    /// Which.
    pub metric: Metric,
    /// Prometheus name.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// Its labels with their values. The rule label of [`RULES_MATCHED`] is the operator's.
    pub labels: &'static [Label],
    /// What it means.
    pub help: &'static str,
}

/// The families with fixed series, in the order of [`FAMILIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is described by its row in FAMILIES
pub enum Metric {
    Requests,
    RequestsExempt,
    RequestsInFlight,
    Connections,
    ConnectionsOpen,
    ConnectionsRejected,
    ConnectionsRejectFailed,
    ConnectionsUntracked,
    ConnectionsClosed,
    Http2Errors,
    FingerprintsMatched,
    FingerprintsRejected,
    FingerprintsUnavailable,
    FingerprintsMissing,
    Actions,
    ActionsFailed,
    Events,
    WebhookEvents,
    WebhookCalls,
    FactsMissing,
    Signals,
    Surges,
    DetectorsDecided,
    FirstSightings,
    LoopsOpen,
    ChallengesIssued,
    ChallengesPassed,
    ChallengesFailed,
    BansIssued,
    BansActive,
    BansRejected,
    BansFull,
    LedgerCharges,
    TarpitHeld,
    TarpitSkipped,
    QuotaUnsynced,
    IdentitySuspect,
    ConfigRejected,
    ClockSteps,
    TableTracked,
    TableUntracked,
    TableEvictions,
    TableScanExhausted,
    TableSlotsUsed,
    ExchangeSyncs,
    ExchangeConflicts,
    ExchangeCorrupt,
    ExchangeFull,
    ExchangeUnsynced,
    ExchangeLost,
    ExchangeReseeded,
    ExchangeGivenUp,
    ExchangeAge,
    CountsUntold,
    TrafficAsks,
    TrafficUnjudged,
    TrafficLate,
    Workers,
    PlanMemory,
}

const ACTION: Label =
    ("action", &["log", "tarpit", "throttle", "challenge", "shed", "deny", "block", "close"]);
pub(super) const MODE: Label = ("mode", &["observe", "enforce"]);
const TABLE: Label = (
    "table",
    &["limits", "arrears", "baselines", "bans", "volume", "wallet", "loop_breaker", "first_sighting"],
);
const FAULT: Label = ("fault", &["forged", "expired", "early", "unsolved", "cookies"]);
const DETECTOR: Label = ("detector", &["volume", "wallet", "loop_breaker"]);
const DIMENSION: Label = ("dimension", &["route", "source", "consumer", "network"]);
const SIGNAL: Label = (
    "signal",
    &[
        "traffic_route_surge",
        "traffic_source_surge",
        "traffic_consumer_surge",
        "traffic_network_surge",
        "anomaly_first_sighting",
        "challenge_ignored",
    ],
);
const REASON: Label = ("reason", &["rule", "tier", "ledger", "operator"]);

const ERROR: Label = ("error", &["reset", "protocol"]);
const METHOD: Label = ("method", &["JA3", "JA4", "other"]);

/// How a request for a connection's end went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// It was ended.
    Closed,
    /// Others use it too.
    Shared,
    /// No network filter knows it.
    Unknown,
    /// Envoy did not end it.
    Failed,
}

/// Who paid for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorFate {
    /// The caller.
    Charged,
    /// Nobody, as the connection is a proxy's.
    Shared,
}

/// A table of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// The buckets that a worker keeps in slots.
    Limits,
    /// What keys without a slot owe.
    Arrears,
    /// What is usual for whom.
    Baselines,
    /// Who is banned.
    Bans,
    /// Who comes to a path how often.
    Volume,
    /// Which credential is used how often.
    Wallet,
    /// What fails for whom.
    Loops,
    /// Who was seen before.
    Sightings,
}

impl Table {
    /// That of a detector's counts.
    pub fn of(detector: Detector) -> Table {
        match detector {
            Detector::Volume => Table::Volume,
            Detector::Wallet => Table::Wallet,
            Detector::Loops => Table::Loops,
        }
    }
}

/// Why a request was not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExemptReason {
    /// Its path is exempt.
    Path,
    /// Its address is trusted.
    Trusted,
    /// It is a CORS preflight.
    Preflight,
}

/// A fact that a verdict needed and the request did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// No readable client address.
    Address,
    /// No `:path`.
    Path,
    /// No `:authority`.
    Authority,
    /// A part of a rule's key.
    Key,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutcome {
    /// Written.
    Sent,
    /// This client had one within the interval, or the worker wrote too many.
    Suppressed,
    /// No place to remember the client, so not written.
    Untracked,
    /// The host did not take it.
    Dropped,
}

/// Every family but [`RULES_MATCHED`] and [`TIERS_DECIDED`].
#[rustfmt::skip]
pub const FAMILIES: &[Family] = &[
    Family { metric: Metric::Requests, name: "weir_requests_total", kind: Kind::Counter, labels: &[], help: "requests seen" },
    Family { metric: Metric::RequestsExempt, name: "weir_requests_exempt_total", kind: Kind::Counter, labels: &[("reason", &["path", "trusted", "preflight"])], help: "requests, connections and errors that were not judged and not counted, by why" },
    Family { metric: Metric::RequestsInFlight, name: "weir_requests_in_flight", kind: Kind::Gauge, labels: &[], help: "requests that have begun and not ended" },
    Family { metric: Metric::Connections, name: "weir_connections_total", kind: Kind::Counter, labels: &[], help: "connections that the network filter weir_l4 saw" },
    Family { metric: Metric::ConnectionsOpen, name: "weir_connections_open", kind: Kind::Gauge, labels: &[], help: "connections that are open and known, over all workers" },
    Family { metric: Metric::ConnectionsRejected, name: "weir_connections_rejected_total", kind: Kind::Counter, labels: &[MODE], help: "connections closed before their handshake because their client is banned (those that rules refuse are in weir_rules_matched_total); mode observe: would have been" },
    Family { metric: Metric::ConnectionsRejectFailed, name: "weir_connections_reject_failed_total", kind: Kind::Counter, labels: &[], help: "connections that were to be closed at once, and that Envoy did not close" },
    Family { metric: Metric::ConnectionsUntracked, name: "weir_connections_untracked_total", kind: Kind::Counter, labels: &[], help: "connections that were judged and found no room to be remembered: their requests ask Envoy for fingerprints, and they can't be ended" },
    Family { metric: Metric::ConnectionsClosed, name: "weir_connections_closed_total", kind: Kind::Counter, labels: &[("outcome", &["closed", "shared", "unknown", "failed"])], help: "connections to be ended after a reply: ended; a proxy's, which goes on for its other users; unknown to any network filter weir_l4; not ended by Envoy" },
    Family { metric: Metric::Http2Errors, name: "weir_h2_errors_total", kind: Kind::Counter, labels: &[ERROR, ("fate", &["charged", "shared"])], help: "HTTP/2 streams reset by their caller and breaches of the protocol: charged to the caller, or to nobody as the connection is a proxy's. Looked at where a rule has max_h2_error_rate" },
    Family { metric: Metric::FingerprintsMatched, name: "weir_fingerprints_matched_total", kind: Kind::Counter, labels: &[], help: "connections and requests that a rule for certain fingerprints matched" },
    Family { metric: Metric::FingerprintsRejected, name: "weir_fingerprints_rejected_total", kind: Kind::Counter, labels: &[], help: "connections closed before their handshake by a rule for certain fingerprints" },
    Family { metric: Metric::FingerprintsUnavailable, name: "weir_fingerprints_unavailable_total", kind: Kind::Counter, labels: &[METHOD], help: "connections (requests, where no network filter tells of connections) without a fingerprint by this method: absent, or of a wrong form. It matches nothing" },
    Family { metric: Metric::FingerprintsMissing, name: "weir_fingerprints_missing_methods_total", kind: Kind::Counter, labels: &[], help: "connections (or requests) that have a fingerprint by one configured method and none by another" },
    Family { metric: Metric::Actions, name: "weir_actions_total", kind: Kind::Counter, labels: &[ACTION, MODE], help: "actions of the rules, tiers and bans that decided; mode observe: what would have been done. How many of the action log became events is in weir_events_total" },
    Family { metric: Metric::ActionsFailed, name: "weir_actions_failed_total", kind: Kind::Counter, labels: &[ACTION], help: "actions that Envoy did not carry out" },
    Family { metric: Metric::Events, name: "weir_events_total", kind: Kind::Counter, labels: &[("outcome", &["sent", "suppressed", "untracked", "dropped"])], help: "events in Envoy's log: written; held back as the client's second in its interval, or above 100 a second of a worker (1,000 at once); held back as there was no place to remember the client; refused by Envoy" },
    Family { metric: Metric::WebhookEvents, name: "weir_webhook_events_total", kind: Kind::Counter, labels: &[("outcome", &["delivered", "failed", "dropped"])], help: "events for the webhook: taken by it (2xx); of calls that it refused, that failed, or that had no answer in 5 s; not sent as 256 KiB waited already" },
    Family { metric: Metric::WebhookCalls, name: "weir_webhook_calls_in_flight", kind: Kind::Gauge, labels: &[], help: "calls to the webhook that have no answer yet" },
    Family { metric: Metric::FactsMissing, name: "weir_facts_missing_total", kind: Kind::Counter, labels: &[("fact", &["address", "path", "authority", "key"])], help: "requests without a fact that a verdict needs: no verdict was given on it" },
    Family { metric: Metric::Signals, name: "weir_signals_total", kind: Kind::Counter, labels: &[SIGNAL], help: "requests in which a signal was raised" },
    Family { metric: Metric::Surges, name: "weir_surges_total", kind: Kind::Counter, labels: &[DIMENSION], help: "buckets of time in which somebody's traffic was a surge: counted once per process, when the bucket is over" },
    Family { metric: Metric::DetectorsDecided, name: "weir_detectors_decided_total", kind: Kind::Counter, labels: &[DETECTOR, MODE], help: "requests that a detector decided by itself: a caller on a path or a credential that comes too often, a caller that repeats what fails; mode observe: would have decided" },
    Family { metric: Metric::FirstSightings, name: "weir_first_sightings_total", kind: Kind::Counter, labels: &[], help: "clients that a worker saw for the first time, or again after it had to forget them" },
    Family { metric: Metric::LoopsOpen, name: "weir_loops_open", kind: Kind::Gauge, labels: &[], help: "callers on paths whose loop breaker is open, over all workers: one that comes to two of them counts twice" },
    Family { metric: Metric::ChallengesIssued, name: "weir_challenges_issued_total", kind: Kind::Counter, labels: &[], help: "pages with a puzzle" },
    Family { metric: Metric::ChallengesPassed, name: "weir_challenges_passed_total", kind: Kind::Counter, labels: &[("by", &["work", "waiting"])], help: "answers that gave a clearance: by the work of a script, by waiting" },
    Family { metric: Metric::ChallengesFailed, name: "weir_challenges_failed_total", kind: Kind::Counter, labels: &[FAULT], help: "answers that were none, each of which starts a new challenge; cookies: the browser did not keep its clearance" },
    Family { metric: Metric::BansIssued, name: "weir_bans_issued_total", kind: Kind::Counter, labels: &[REASON], help: "bans made or made longer, by what made them" },
    Family { metric: Metric::BansActive, name: "weir_bans_active", kind: Kind::Gauge, labels: &[], help: "bans in force in the process" },
    Family { metric: Metric::BansRejected, name: "weir_bans_rejected_total", kind: Kind::Counter, labels: &[MODE], help: "requests refused because their caller is banned; mode observe: would have been" },
    Family { metric: Metric::BansFull, name: "weir_bans_full_total", kind: Kind::Counter, labels: &[], help: "bans that found no place: not in force, or on one worker alone" },
    Family { metric: Metric::LedgerCharges, name: "weir_ledger_charges_total", kind: Kind::Counter, labels: &[], help: "refusals charged to the ledger" },
    Family { metric: Metric::TarpitHeld, name: "weir_tarpit_held", kind: Kind::Gauge, labels: &[], help: "requests held by the tarpit" },
    Family { metric: Metric::TarpitSkipped, name: "weir_tarpit_skipped_total", kind: Kind::Counter, labels: &[], help: "requests that the tarpit had no place for: they passed at once" },
    Family { metric: Metric::QuotaUnsynced, name: "weir_quota_unsynced_total", kind: Kind::Counter, labels: &[], help: "sums of tier quotas and of the ledger that could not be had: the request had no quota left, the charge was lost" },
    Family { metric: Metric::IdentitySuspect, name: "weir_identity_suspect_total", kind: Kind::Counter, labels: &[], help: "requests whose client address is a proxy's of client.proxies: not limited by client" },
    Family { metric: Metric::ConfigRejected, name: "weir_config_rejected_total", kind: Kind::Counter, labels: &[], help: "configurations refused" },
    Family { metric: Metric::ClockSteps, name: "weir_clock_steps_total", kind: Kind::Counter, labels: &[], help: "readings of the monotonic clock that lay behind an earlier one" },
    Family { metric: Metric::TableTracked, name: "weir_table_tracked_total", kind: Kind::Counter, labels: &[TABLE], help: "keys that found a place" },
    Family { metric: Metric::TableUntracked, name: "weir_table_untracked_total", kind: Kind::Counter, labels: &[TABLE], help: "keys that found none. Of limits: let pass, uncounted (which does not happen as long as debts can be evicted). Of arrears: what they owed is forgotten, as others owe more" },
    Family { metric: Metric::TableEvictions, name: "weir_table_evictions_total", kind: Kind::Counter, labels: &[TABLE], help: "keys that gave their place to another before they were idle. Of limits: what they owe goes to the arrears. Of arrears: it is forgotten here, as others owe more" },
    Family { metric: Metric::TableScanExhausted, name: "weir_table_scan_exhausted_total", kind: Kind::Counter, labels: &[TABLE], help: "searches for a place that met only keys which may not be evicted" },
    Family { metric: Metric::TableSlotsUsed, name: "weir_table_slots_used", kind: Kind::Gauge, labels: &[TABLE], help: "places taken, over all workers. Of volume, wallet, loop_breaker and first_sighting: words of their sketch" },
    Family { metric: Metric::ExchangeSyncs, name: "weir_exchange_syncs_total", kind: Kind::Counter, labels: &[], help: "requests that asked the process's ledger" },
    Family { metric: Metric::ExchangeConflicts, name: "weir_exchange_conflicts_total", kind: Kind::Counter, labels: &[], help: "writes that met another worker's and were done again" },
    Family { metric: Metric::ExchangeCorrupt, name: "weir_exchange_corrupt_total", kind: Kind::Counter, labels: &[], help: "shared values of a wrong form, treated as empty" },
    Family { metric: Metric::ExchangeFull, name: "weir_exchange_full_total", kind: Kind::Counter, labels: &[], help: "entries for which a ledger shard had no place: that key is limited per worker" },
    Family { metric: Metric::ExchangeUnsynced, name: "weir_exchange_unsynced_total", kind: Kind::Counter, labels: &[], help: "requests judged on the worker's own view, as the budget for asking was spent" },
    Family { metric: Metric::ExchangeLost, name: "weir_exchange_lost_total", kind: Kind::Counter, labels: &[], help: "charges lost with an evicted key before they were exchanged" },
    Family { metric: Metric::ExchangeReseeded, name: "weir_exchange_reseeded_total", kind: Kind::Counter, labels: &[], help: "times a worker forgot all buckets, as the process's seed or epoch changed" },
    Family { metric: Metric::ExchangeGivenUp, name: "weir_exchange_given_up_total", kind: Kind::Counter, labels: &[], help: "writes given up as every try met another worker's, or as Envoy refused; what they held goes out with the next" },
    Family { metric: Metric::ExchangeAge, name: "weir_exchange_age_ms", kind: Kind::Gauge, labels: &[], help: "milliseconds between a worker's last two exchanges, over all workers: divide by weir_workers" },
    Family { metric: Metric::CountsUntold, name: "weir_counts_untold_total", kind: Kind::Counter, labels: &[DETECTOR], help: "counts of a detector that the other workers did not hear of, as there was no place for them or shared data could not be had: each worker goes by its own" },
    Family { metric: Metric::TrafficAsks, name: "weir_traffic_asks_total", kind: Kind::Counter, labels: &[], help: "requests that asked the process what is usual before they were judged" },
    Family { metric: Metric::TrafficUnjudged, name: "weir_traffic_unjudged_total", kind: Kind::Counter, labels: &[], help: "exchanges in which a key found no place among the baselines: it is not judged" },
    Family { metric: Metric::TrafficLate, name: "weir_traffic_late_total", kind: Kind::Counter, labels: &[], help: "requests that were counted after their bucket of time was closed, or whose count was lost with an evicted key: learned by nobody" },
    Family { metric: Metric::Workers, name: "weir_workers", kind: Kind::Gauge, labels: &[], help: "workers that serve requests" },
    Family { metric: Metric::PlanMemory, name: "weir_plan_memory_bytes", kind: Kind::Gauge, labels: &[], help: "bytes of tables and configuration, over all workers that serve" },
];

/// Which rule matched, and whether it binds. Its first label is the operator's rule name.
pub const RULES_MATCHED: &str = "weir_rules_matched_total";
/// What [`RULES_MATCHED`] means.
pub const RULES_MATCHED_HELP: &str =
    "requests, connections and errors that a rule decided; mode observe: would have decided";

/// Which tier decided, and whether it binds. Its first label is the operator's `min_score`.
pub const TIERS_DECIDED: &str = "weir_tiers_decided_total";
/// What [`TIERS_DECIDED`] means.
pub const TIERS_DECIDED_HELP: &str =
    "requests that a tier decided, by its min_score; mode observe: would have decided";

/// The families whose first label is the operator's.
pub const OPERATORS: &[(&str, &str, &str)] =
    &[(RULES_MATCHED, "rule", RULES_MATCHED_HELP), (TIERS_DECIDED, "tier", TIERS_DECIDED_HELP)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::signal::Kind as Signal;
    use crate::detect::surge::Dimension;
    use crate::policy::{Action, Mode};
    use crate::request::fault::Fault;

    #[test]
    fn families_stand_in_the_order_of_their_names() {
        for (index, family) in FAMILIES.iter().enumerate() {
            assert_eq!(family.metric as usize, index, "{}", family.name);
        }
    }

    #[test]
    fn labels_have_the_words_of_actions_and_modes() {
        assert_eq!(ACTION.1, Action::ALL.map(Action::name));
        assert_eq!(MODE.1, Mode::ALL.map(Mode::name));
        assert_eq!(DIMENSION.1, Dimension::ALL.map(Dimension::name));
        assert_eq!(ERROR.1, Fault::ALL.map(Fault::name));
        assert_eq!(DETECTOR.1, Detector::ALL.map(Detector::name));
        assert_eq!(SIGNAL.1, Signal::ALL.map(|signal| signal.name().replace(':', "_")));
    }
}
