//! Metrics and events as data. The host carries them out.
//!
//! * [`metrics`]: the closed list of what is counted.
//! * [`events`]: what is told about one decision, as a line of JSON.

pub mod events;
mod json;
pub mod metrics;
