//! Detectors: each answers one question about a request. They know neither configuration text, metrics, policy
//! nor each other.

pub mod rules;
