//! How threatening is a request? The sum of its signals' weights, at most 100; and of these, those that speak of the
//! caller itself. What many have in common (a route or a network that surges) raises the score of all of them, but counts
//! for nothing where somebody is to be banned.

use crate::detect::signal::{Signal, Signals};

/// 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(pub u8);

/// The threat of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threat {
    /// All signals.
    pub score: Score,
    /// Those of the caller itself.
    pub personal: Score,
}

/// What was noticed about one request, and how threatening that is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noticed {
    /// What.
    pub signals: Signals,
    /// How threatening.
    pub threat: Threat,
}

impl Noticed {
    /// Weighs these signals.
    pub fn of(signals: Signals) -> Noticed {
        Noticed { signals, threat: Threat::of(signals.iter()) }
    }
}

impl Threat {
    /// Adds up what was noticed.
    pub fn of<'a>(signals: impl IntoIterator<Item = &'a Signal>) -> Threat {
        signals.into_iter().fold(Threat::default(), |threat, signal| Threat {
            score: threat.score.plus(signal.weight),
            personal: threat.personal.plus(if signal.kind.is_personal() { signal.weight } else { 0 }),
        })
    }
}

impl Score {
    /// The highest.
    pub const MAX: Score = Score(100);

    fn plus(self, weight: u8) -> Score {
        Score(self.0.saturating_add(weight)).min(Score::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::signal::{Evidence, Kind};
    use crate::hash::SubjectHash;

    fn threat(signals: &[(Kind, u8)]) -> (u8, u8) {
        let signal = |&(kind, weight): &(Kind, u8)| Signal {
            kind,
            weight,
            subject: SubjectHash(0),
            evidence: Evidence::default(),
        };
        let signals: Vec<Signal> = signals.iter().map(signal).collect();
        let threat = Threat::of(&signals);
        (threat.score.0, threat.personal.0)
    }

    #[test]
    fn a_score_is_the_sum_of_the_weights_and_never_more_than_a_hundred() {
        assert_eq!(threat(&[]), (0, 0));
        assert_eq!(threat(&[(Kind::SourceSurge, 60), (Kind::ConsumerSurge, 30)]), (90, 90));
        assert_eq!(threat(&[(Kind::SourceSurge, 80), (Kind::ConsumerSurge, 255)]), (100, 100));
    }

    #[test]
    fn what_happens_to_a_route_or_a_network_says_nothing_about_the_caller() {
        assert_eq!(threat(&[(Kind::NetworkSurge, 70), (Kind::SourceSurge, 20)]), (90, 20));
        assert_eq!(threat(&[(Kind::RouteSurge, 40), (Kind::SourceSurge, 40)]), (80, 40));
    }
}
