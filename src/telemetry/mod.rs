//! Metrics and events as data. The host carries them out.
//!
//! * [`families`]: the closed list of what is counted; [`metrics`]: the numbers of one worker.
//! * [`events`]: what is told about one decision, as lines of JSON; [`webhook`]: on their way to who collects them.

pub mod events;
pub mod families;
mod json;
pub mod metrics;
pub mod webhook;
