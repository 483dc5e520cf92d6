//! Fixed-memory structures. No word of HTTP in here, and time is an argument.
//!
//! | structure | question | per key | exact? |
//! |---|---|--:|---|
//! | [`bucket`] | is one more event within the rate? | 8 B | to the nanosecond |
//! | [`table`] | where is this key's cell? | 9 B and the cell | yes, for keys that have a place |
//! | [`arrears`] | what does a key owe that lost its place? | 8 B | to the millisecond |
//! | [`sketch`] | how often was this key seen lately, or never? | 8 B | to 1⅛ events, for keys that have a word |
//! | [`ewma`] | what is usual for this key? | 8 B | to 1e-7 × span |
//! | [`flow`] | how much of it comes per second lately? | 16 B | an average over its time constant |
//! | [`histogram`] | how long did a share of them take? | 208 B per window | to a 10th |
//! | [`register`] | what belongs to this id, until it is struck out? | 16 B and the value | yes, for what finds room |
//! | [`marks`] | which slots of a table are marked? | 1 bit | yes |
//!
//! [`price`] says what a bucket is worth remembering, for all who have to forget. [`hints`] find the slots of a `table`,
//! [`lines`] are what `arrears` and `sketch` are made of. Each file opens with its formula, its bounds, and with what
//! happens when it is full: nothing here grows.

pub mod arrears;
pub mod bucket;
pub mod ewma;
pub mod flow;
pub mod hints;
pub mod histogram;
pub mod lines;
pub mod marks;
pub mod price;
pub mod register;
pub mod sketch;
pub mod table;
