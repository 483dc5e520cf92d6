//! Detectors: each answers one question about a request. They know neither configuration text, metrics, policy
//! nor each other. A detector that learns says what it noticed as a [`signal`]; one that counts has a verdict of its own.
//!
//! * [`rules`]: the operator's rates.  * [`volume`]: who comes too often, by caller and path and by credential.
//! * [`loops`]: who repeats what fails.  * [`surge`]: what is unusual.  * [`novelty`]: who was not seen before.
//! * [`misses`]: who is challenged and never answers.

pub mod loops;
pub mod misses;
pub mod novelty;
pub mod rules;
pub mod signal;
pub mod surge;
pub mod volume;

/// A detector that answers by itself, without rules or tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// A caller comes to a path too often.
    Volume,
    /// A credential is used too often.
    Wallet,
    /// A caller repeats what fails.
    Loops,
}

impl Detector {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Detector; 3] = [Detector::Volume, Detector::Wallet, Detector::Loops];

    /// The word of the configuration, the metrics and the events.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Volume => "volume",
            Detector::Wallet => "wallet",
            Detector::Loops => "loop_breaker",
        }
    }
}
