//! The document, section by section, into a [`Plan`]. Goes on after an error, so that all are found at once; what a
//! broken part yields is then never used.

use super::error::{Cause, Report};
use super::json::Value;
use super::place::Place;
use super::plan::Plan;
use super::read::Section;
use super::{addresses, names, rules, schema, units};
use crate::identity::exempt::{Exemption, PathPattern};
use crate::identity::prefixes::Prefixes;
use crate::identity::{self, Credential};
use crate::policy::Mode;
use crate::telemetry::events;
use crate::time::Nanos;
use crate::{exchange, policy};

/// Each is looked at once per request, so a list has an end.
const MOST_EXEMPTIONS: usize = 256;
/// Each is looked for in every request that a rule counts by consumer.
const MOST_CREDENTIALS: usize = 16;
/// No bound but the text's own.
const ANY: usize = usize::MAX;

/// Compiles the document. The plan is meant only if nothing was reported.
pub fn plan(document: &Value, report: &Report) -> Plan {
    let root = Section::open(document, &Place::Root, report);
    let root = root.unwrap_or(Section::empty(&Place::Root, report));
    let mode = root.read("mode", names::mode).unwrap_or(Mode::Observe);
    let consumer = root.optional_section("consumer", credentials).unwrap_or_default();
    let identity = root.section("client", |client| identity(client, consumer));
    let exempt = root.sections("exempt", MOST_EXEMPTIONS, exemption).into();
    let (rules, responses) = rules::read(&root, mode);
    root.section("policy", |_| ()); // all its fields belong to later versions, which opening it reports
    let slots = root.section("tables", |tables| tables.count("slots", &schema::SLOTS));
    let exchange_ms = root.section("workers", |workers| workers.count("exchange_ms", &schema::EXCHANGE_MS));
    Plan {
        mode,
        identity,
        exempt,
        rules,
        policy: policy::Settings { rules: responses },
        exchange: exchange::Settings { slots, interval: Nanos::from_millis(exchange_ms.into()) },
        events: root.section("events", events),
    }
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
    consumer.need("from", "say where credentials are, as in [{\"header\": \"authorization\"}]");
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
    if entry.is_empty_list("source") {
        let write = "name an address, or leave source out to exempt everybody";
        entry.refuse_field("source", Cause::Empty { write });
    }
    let source = entry.has("source").then(|| Prefixes::new(entry.list("source", ANY, addresses::network)));
    Some(Exemption { path: exact.or(prefix)?, source })
}

fn events(section: &Section) -> events::Settings {
    let interval = section.read("log_interval_seconds", |v| units::seconds(v, &schema::LOG_INTERVAL));
    events::Settings {
        log: section.read("log", units::switch).unwrap_or(true),
        log_interval: interval.unwrap_or(units::nanos(schema::LOG_INTERVAL.default)),
    }
}
