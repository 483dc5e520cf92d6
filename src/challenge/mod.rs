//! The challenge: who looks suspicious proves that it is a browser, and then is left alone for a while.
//!
//! In the order of a visit: a navigation that a tier challenges gets a page with a [`puzzle`]; its script does the
//! [`work`] and takes the answer to an endpoint of Weir's; that gives a [`clearance`] in a cookie, and sends the
//! browser back to where it wanted to go. Puzzles and clearances are [`token`]s, signed under a key of the operator's or the
//! process's ([`secret`]): nothing is remembered of any of them, so they take no memory, and parallel puzzles don't
//! disturb each other.
//!
//! * A puzzle is bound to nobody, since a browser may fetch it over IPv6 and answer over IPv4. A clearance is bound as the
//!   operator says: see [`bind`].
//! * One answer gives one clearance, however often it is sent: the clearance's number follows from the puzzle's. A
//!   clearance is held to a rate of its own, so that to share it is worth little.

pub mod answer;
pub mod bind;
pub mod clearance;
pub mod endpoint;
pub mod navigation;
pub mod page;
pub mod puzzle;
pub mod secret;
pub mod token;
pub mod work;

/// How to challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Leading zero bits that an answer must have: at the score that just reaches the tier, and at 100.
    pub difficulty: [u8; 2],
    /// Seconds for which a clearance is good.
    pub clearance_seconds: u32,
    /// Whom a clearance is good for.
    pub bind: bind::Bind,
    /// The status of the page.
    pub status: u16,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { difficulty: [18, 22], clearance_seconds: 1_800, bind: bind::Bind::Prefix, status: 429 }
    }
}

impl Settings {
    /// The bits for a score, when the tier begins at `from`: in even steps from the least to the most.
    pub fn difficulty_at(&self, score: u8, from: u8) -> u8 {
        let [least, most] = self.difficulty;
        let (above, room) = (score.saturating_sub(from), 100u8.saturating_sub(from));
        let share = u32::from(most.saturating_sub(least)) * u32::from(above.min(room));
        least.saturating_add((share / u32::from(room.max(1))) as u8)
    }
}

#[cfg(test)]
mod tests;
