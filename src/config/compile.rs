//! The document, section by section, into a [`Plan`]. Goes on after an error, so that all are found at once; what a
//! broken part yields is then never used.

use super::error::Report;
use super::json::Value;
use super::known::Known;
use super::place::Place;
use super::plan::Plan;
use super::read::{ANY, Section};
use super::sizes::{self, Sizes};
use super::{
    addresses, bannable, detectors, fingerprints, names, policy, rules, schema, states, traffic, units,
};
use crate::identity::exempt::{Exemption, PathPattern};
use crate::identity::prefixes::Prefixes;
use crate::identity::subjects::Keys;
use crate::identity::{self, credential::Credential};
use crate::policy::Mode;
use crate::telemetry::{events, webhook};
use crate::time::Nanos;

/// Each is looked at once per request, so a list has an end.
const MOST_EXEMPTIONS: usize = 256;
/// Each is looked for in every request that a rule counts by consumer.
const MOST_CREDENTIALS: usize = 16;

/// Compiles the document. The plan is meant only if nothing was reported.
pub fn plan(document: &Value, report: &Report) -> Plan {
    let root = Section::open(document, &Place::Root, report);
    let root = root.unwrap_or(Section::empty(&Place::Root, report));
    let fingerprints = fingerprints::supplies(&root);
    let known = Known::of(&root, &fingerprints);
    let mode = root.read("mode", names::mode).unwrap_or(Mode::Observe);
    let consumer = root.optional_section("consumer", credentials).unwrap_or_default();
    let identity = root.section("client", |client| identity(client, consumer));
    let network = root.optional_section("network", network).flatten();
    let exempt = root.sections("exempt", MOST_EXEMPTIONS, exemption).into();
    let (traffic, traffic_mode) = root.section("traffic", |section| {
        (traffic::read(section, known), section.read("mode", names::mode).unwrap_or(mode))
    });
    let mut keys = Keys::default();
    let (rules, responses) = rules::read(&root, mode, known, &mut keys);
    let detectors = detectors::read(&root, mode, known, &mut keys);
    let policy = root.section("policy", |section| policy::read(section, responses, known));
    let exchange_ms = root.section("workers", |workers| workers.count("exchange_ms", &schema::EXCHANGE_MS));
    let interval = Nanos::from_millis(exchange_ms.into());
    let sizes = root.section("tables", |tables| Sizes::read(tables, interval));
    let mut plan = Plan {
        mode,
        identity,
        network,
        fingerprints: fingerprints.clone(),
        keys,
        exempt,
        rules,
        traffic,
        traffic_mode,
        traffic_sizes: sizes.traffic,
        detectors,
        bans: sizes.bans,
        policy,
        exchange: sizes.exchange,
        events: root.section("events", events),
    };
    bannable::complete(&mut plan, known);
    sizes::check(&plan, &root);
    plan
}

/// The path of the property that is the number of a client's network.
fn network(section: &Section) -> Option<Box<str>> {
    section.need("asn", "say where the number is, as in {\"filter_state\": \"weir.asn\"}");
    section.optional_section("asn", |asn| {
        asn.need("filter_state", "name the filter state, as in \"weir.asn\"");
        states::path(asn)
    })?
}

fn identity(client: &Section, consumer: Box<[Credential]>) -> identity::Settings {
    identity::Settings {
        ipv4_prefix: client.count("ipv4_prefix", &schema::IPV4_PREFIX) as u8,
        ipv6_prefix: client.count("ipv6_prefix", &schema::IPV6_PREFIX) as u8,
        proxies: Prefixes::new(client.list("proxies", ANY, addresses::network)),
        trusted: Prefixes::new(client.list("trusted_ips", ANY, addresses::network)),
        consumer,
    }
}

fn credentials(consumer: &Section) -> Box<[Credential]> {
    const EXAMPLE: &str = "say where credentials are, as in [{\"header\": \"authorization\"}]";
    consumer.need("from", EXAMPLE);
    consumer.need_items("from", EXAMPLE);
    consumer.sections("from", MOST_CREDENTIALS, credential).into()
}

fn credential(place: &Section) -> Option<Credential> {
    let header = place.read("header", names::header).map(Credential::Header);
    let cookie = place.read("cookie", names::cookie).map(Credential::Cookie);
    let query = place.read("query", names::query).map(Credential::Query);
    place.require_one(&["header", "cookie", "query"]);
    header.or(cookie).or(query)
}

fn exemption(entry: &Section) -> Option<Exemption> {
    let exact = entry.read("path", names::path).map(PathPattern::Exactly);
    let prefix = entry.read("path_prefix", names::path).map(PathPattern::Prefix);
    entry.require_one(&["path", "path_prefix"]);
    entry.need_items("source", "name an address, or leave source out to exempt everybody");
    let source = entry.has("source").then(|| Prefixes::new(entry.list("source", ANY, addresses::network)));
    Some(Exemption { path: exact.or(prefix)?, source })
}

fn events(section: &Section) -> events::Settings {
    let interval = section.read("log_interval_seconds", |v| units::seconds(v, &schema::LOG_INTERVAL));
    events::Settings {
        log: section.switch("log", true),
        log_interval: interval.unwrap_or(units::nanos(schema::LOG_INTERVAL.default)),
        webhook: section.optional_section("webhook", webhook).flatten(),
    }
}

/// Without a cluster there is none, whatever else is said.
fn webhook(section: &Section) -> Option<webhook::Settings> {
    let cluster = section.read("cluster", names::cluster);
    let path = section.read("path", names::target);
    let max_concurrent = section.count("max_concurrent", &schema::WEBHOOK_CALLS);
    let cluster = cluster?;
    let authority = names::authority_of(&cluster);
    Some(webhook::Settings { cluster, authority, path: path.unwrap_or("/".into()), max_concurrent })
}

#[cfg(test)]
mod tests;
