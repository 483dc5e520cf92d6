//! Metrics and events as data. The host carries them out.

pub mod events;
