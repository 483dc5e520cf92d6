//! Fixed-memory structures. No word of HTTP in here, and time is an argument.
//!
//! [`bucket`] is the arithmetic of a token bucket; [`table`] keeps small cells by key in memory that is allocated
//! once, and [`hints`] find them there; [`marks`] remembers some of a table's slots, one bit each.

pub mod bucket;
pub mod hints;
pub mod marks;
pub mod table;
