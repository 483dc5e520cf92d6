//! What a browser gets that brings an answer, or looks whether its clearance is kept.

use super::puzzle::{Fault, Puzzle};

/// What a browser gets that brings an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The clearance, as a cookie, and on to where it is looked for.
    Cleared {
        /// The cookie with its attributes.
        cookie: String,
        /// Where to go.
        to: String,
    },
    /// Back to where it came from: it has its cookie, or else is challenged again.
    Back {
        /// Where to go.
        to: String,
    },
    /// It has not kept the cookie.
    NoCookies {
        /// What the page showed.
        reason: String,
    },
}

/// The end of an answer: what the browser gets, and what is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it gets.
    pub gets: Answered,
    /// Did it bring work, or had it waited?
    pub by_work: bool,
    /// Was it one? `None`: it was no answer, but the look for the cookie.
    pub judged: Option<Result<Puzzle, Fault>>,
}
