//! What each worker keeps, in words.

use super::units::{count, mib};
use std::fmt::Write;
use weir::config::plan::Plan;
use weir::config::schema::TABLES_BYTES;
use weir::config::sizes::{Share, shares};
use weir::connections::{Connections, ROOM};

/// A line per table, and all together.
pub fn describe(plan: &Plan, out: &mut String) {
    let total = plan.tables_bytes();
    let _ = writeln!(out, "memory   {} of each worker, of {} at most", mib(total), mib(TABLES_BYTES));
    for share in shares(plan) {
        let _ = writeln!(out, "         {}: {}", contents(&share), mib(share.bytes));
    }
    let connections = mib(Connections::MEMORY_BYTES);
    let _ =
        writeln!(out, "         and with the network filter weir_l4 {connections} more: {ROOM} connections");
}

/// Debts have one sketch, and each detector that counts another.
fn sketches(share: &Share) -> String {
    let words = 8 * u64::from(share.entries);
    let debts = format!("room for {words} debts of callers without a slot");
    match (share.bytes / (8 * words)).saturating_sub(1) {
        0 => debts,
        others => format!("{debts}, and for as many counts of {}", count(others, "detector")),
    }
}

fn contents(share: &Share) -> String {
    let entries = share.entries;
    match share.field {
        "slots" => format!("{entries} slots for callers that rules count"),
        "max_keys" => format!("{entries} keys that the traffic guard follows"),
        "sketch_buckets" => sketches(share),
        "bans" => format!("{entries} bans"),
        _ => format!("{entries} places for requests that are held"),
    }
}
