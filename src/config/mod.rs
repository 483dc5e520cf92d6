//! What the operator writes, and the [`plan`] that it is compiled to. The only room that reads JSON.
//!
//! text → [`json`] (syntax, order, repeated keys) → `read` (sections, unknown and later keys) → `compile`, with `rules`,
//! `fingerprints`, `traffic`, `detectors`, `policy`, `challenge` and [`sizes`] for their sections, and `units`, `names`, `addresses`, `states` and `never`
//! for single values → [`plan::Plan`]. Every error is collected on the way; one is
//! enough to refuse the whole. [`advice`] doubts what is allowed. [`schema`] is the table of all fields: what the
//! reader knows, and the documentation.
//!
//! Runs when a configuration arrives, in the VM and in `weir check` alike; never while a request waits.

mod addresses;
pub mod advice;
mod bannable;
mod challenge;
mod compile;
mod detectors;
mod error;
mod fingerprints;
pub mod json;
mod known;
mod later;
mod names;
mod nearest;
mod never;
mod place;
pub mod plan;
mod policy;
mod read;
mod rules;
pub mod schema;
pub mod sizes;
mod states;
mod traffic;
mod units;

use error::Report;
pub use error::{Cause, Error, Errors, HostFault, Shown};
use place::Place;
use plan::Plan;

/// The longest text that is read: some 50,000 networks. The tree it makes is memory that a VM never gives back
/// (half a million values at worst, 16 MiB), and Kubernetes objects end near here anyway.
pub const MAX_BYTES: usize = 1 << 20;

/// Reads a configuration. Empty text is the empty configuration.
pub fn parse(text: &[u8]) -> Result<Plan, Errors> {
    let report = Report::default();
    let plan = match json::parse(text) {
        Ok(document) => Some(compile::plan(&document, &report)),
        Err(cause) => {
            report.add(&Place::Root, cause);
            None
        }
    };
    match (plan, report.finish()) {
        (Some(plan), None) => Ok(plan),
        (_, errors) => Err(errors.unwrap_or_default()),
    }
}
