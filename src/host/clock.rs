//! Time. Limits use the monotonic clock, which all workers of the process share; events show the wall clock.

use super::abi;
use crate::time::Nanos;

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;

/// The process's monotonic clock.
pub fn now() -> Nanos {
    Nanos(abi::clock(MONOTONIC))
}

/// The wall clock, in milliseconds since 1970.
pub fn unix_ms() -> u64 {
    abi::clock(REALTIME) / 1_000_000
}
