//! What tables take of a worker's memory, each by the field that sizes it, and whether all of them fit.

use super::error::Cause;
use super::plan::Plan;
use super::read::Section;
use super::schema;
use crate::detect::{Detector, surge};
use crate::exchange;
use crate::time::Nanos;
use core::fmt::{self, Display};

/// The tables that one field sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The field's name.
    pub field: &'static str,
    /// What the field says, rounded up where the tables are.
    pub entries: u32,
    /// What they take of each worker.
    pub bytes: u64,
}

/// Reads the sizes.
pub struct Sizes {
    /// Of the rules' tables.
    pub exchange: exchange::Settings,
    /// Of the traffic guard's.
    pub traffic: surge::Sizes,
    /// Of the list of bans.
    pub bans: crate::bans::Settings,
}

impl Sizes {
    /// Reads the section.
    pub fn read(tables: &Section, interval: Nanos) -> Sizes {
        let slots = tables.count("slots", &schema::SLOTS);
        let keys = tables.count("max_keys", &schema::MAX_KEYS);
        let sketch_buckets = tables.count("sketch_buckets", &schema::SKETCH_BUCKETS);
        let bans = tables.count("bans", &schema::BANS);
        Sizes {
            exchange: exchange::Settings { slots, sketch_buckets, interval },
            traffic: surge::Sizes { keys, interval },
            bans: crate::bans::Settings { bans },
        }
    }
}

/// All that are allocated under this plan, in the order of the reference.
pub fn shares(plan: &Plan) -> impl Iterator<Item = Share> {
    let share = |field, entries, bytes| Share { field, entries, bytes };
    let made = plan.exchange.rounded();
    let lines = u64::from(made.sketch_buckets) * 64; // a line of memory each
    let counting = Detector::ALL.into_iter().filter(|detector| plan.counts(*detector).is_some()).count();
    let sketches = 1 + counting as u64 + u64::from(plan.detectors.novelty.is_some());
    let slots = plan.exchange.memory_bytes().saturating_sub(lines);
    let learned = &plan.traffic_sizes;
    let held = plan.tarpit_room();
    [
        Some(share("slots", made.slots, slots)),
        plan.traffic.is_some().then(|| share("max_keys", learned.keys, learned.memory_bytes())),
        Some(share("sketch_buckets", made.sketch_buckets, sketches * lines)),
        Some(share("bans", plan.bans.bans, plan.bans.memory_bytes())),
        (held.max_concurrent > 0)
            .then(|| share("tarpit.max_concurrent", held.max_concurrent, held.memory_bytes())),
    ]
    .into_iter()
    .flatten()
}

/// Reports when the tables don't fit a worker's budget.
pub fn check(plan: &Plan, root: &Section) {
    let bytes = plan.tables_bytes();
    if bytes > schema::TABLES_BYTES {
        root.refuse_field("tables", Cause::TooLarge { shares: shares(plan).collect(), bytes });
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Share { field, entries, bytes } = self;
        let each = bytes / u64::from(*entries).max(1);
        let mib = *bytes as f64 / f64::from(1 << 20);
        write!(f, "{entries} {field} of {each} bytes ({mib:.1} MiB)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use crate::config::units::Range;

    /// Bytes of all tables with one of the sizes, and a policy that holds requests.
    fn bytes(field: &str, size: f64) -> u64 {
        let tarpit = r#""policy": {"tiers": [{"min_score": 50, "action": "tarpit"}]}"#;
        let text = format!(r#"{{"tables": {{"{field}": {size}}}, {tarpit}}}"#);
        parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}")).tables_bytes()
    }

    #[test]
    fn the_most_of_each_size_fits_beside_the_defaults_at_the_bytes_that_the_reference_says() {
        let sizes: [(&str, Range, f64); 4] = [
            ("slots", schema::SLOTS, 57.0),
            ("max_keys", schema::MAX_KEYS, 42.0),
            ("sketch_buckets", schema::SKETCH_BUCKETS, 64.0),
            ("bans", schema::BANS, 58.0),
        ];
        for (field, Range { max, default, .. }, each) in sizes {
            assert!(bytes(field, max) <= schema::TABLES_BYTES, "{field}: {}", bytes(field, max));
            let found = (bytes(field, max) - bytes(field, default)) as f64 / (max - default);
            assert!((each - 1.5..each + 1.5).contains(&found), "{field}: {found}");
        }
    }

    #[test]
    fn every_byte_of_the_tables_is_somebodys_but_for_what_has_one_size() {
        let text = br#"{"tables": {"slots": 100000, "bans": 100}, "policy": {"tiers": [{"min_score": 1, "action": "tarpit"}]}}"#;
        let plan = parse(text).unwrap();
        let shares: u64 = shares(&plan).map(|share| share.bytes).sum();
        let fixed = crate::exchange::sums::MEMORY_BYTES + crate::policy::quota::Quotas::memory_bytes();
        assert_eq!(shares + fixed, plan.tables_bytes());
    }

    #[test]
    fn what_is_not_allocated_takes_nothing() {
        let plan = parse(br#"{"traffic": {"route": false, "source": false}}"#).unwrap();
        let fields: Vec<_> = shares(&plan).map(|share| share.field).collect();
        assert_eq!(fields, ["slots", "sketch_buckets", "bans"]);
    }
}
