//! How the workers of one process share consumption, so that a limit is the process's and not a worker's.

use crate::time::Nanos;

/// How much is kept, and how often workers exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Keys that one worker keeps.
    pub slots: u32,
    /// Time between two exchanges.
    pub interval: Nanos,
}
