//! Detectors: each answers one question about a request. They know neither configuration text, metrics, policy
//! nor each other. A detector that learns says what it noticed as a [`signal`].

pub mod rules;
pub mod signal;
pub mod surge;
