//! Challenges: what a browser is asked to prove itself, and how it is told.

pub mod page;
