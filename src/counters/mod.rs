//! Fixed-memory structures. No word of HTTP in here, and time is an argument.
//!
//! [`bucket`] is the arithmetic of a token bucket; [`table`] keeps small cells by key in memory that is allocated once.

pub mod bucket;
pub mod table;
