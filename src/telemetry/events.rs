//! Events.
use crate::time::Nanos;

/// Where events go and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// To the host's log.
    pub log: bool,
    /// At most one event per client in this time.
    pub log_interval: Nanos,
}
