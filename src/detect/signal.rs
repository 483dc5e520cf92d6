//! What a detector that learns has to say about a request: that somebody departs from what is usual, by how much, and
//! how heavily that weighs.
//!
//! A signal is not a verdict: the weights of a request's signals add up to its threat score, and the operator's tiers
//! say what follows from it.

use crate::hash::SubjectHash;

/// One departure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// What departs.
    pub kind: Kind,
    /// What it adds to the threat score, escalation included: 1 to 100.
    pub weight: u8,
    /// Whose traffic it is.
    pub subject: SubjectHash,
    /// The numbers that it rests on.
    pub evidence: Evidence,
}

/// The source and kind of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A route gets far more requests than usual.
    RouteSurge,
    /// A client sends far more requests than usual.
    SourceSurge,
    /// A credential is used far more than usual.
    ConsumerSurge,
    /// A network sends far more requests than usual.
    NetworkSurge,
    /// A client was not seen before, as are many at this time.
    FirstSighting,
    /// A client is challenged again and again, and never answers.
    ChallengeIgnored,
}

impl Kind {
    /// All kinds, in the order of metrics and documentation.
    pub const ALL: [Kind; 6] = [
        Kind::RouteSurge,
        Kind::SourceSurge,
        Kind::ConsumerSurge,
        Kind::NetworkSurge,
        Kind::FirstSighting,
        Kind::ChallengeIgnored,
    ];

    /// The name that events and metrics use: `source:kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::RouteSurge => "traffic:route_surge",
            Kind::SourceSurge => "traffic:source_surge",
            Kind::ConsumerSurge => "traffic:consumer_surge",
            Kind::NetworkSurge => "traffic:network_surge",
            Kind::FirstSighting => "anomaly:first_sighting",
            Kind::ChallengeIgnored => "challenge:ignored",
        }
    }

    /// Is it about the caller itself? Only such a signal may lead to a ban: what happens to a route or a network is the
    /// doing of many, most of whom are innocent, to be new is no offence, and a person may have
    /// reasons not to answer.
    pub const fn is_personal(self) -> bool {
        matches!(self, Kind::SourceSurge | Kind::ConsumerSurge)
    }

    /// Does it weigh more the further it goes? A route's is the same for everybody, and so is a newcomer's.
    pub const fn escalates(self) -> bool {
        !matches!(self, Kind::RouteSurge | Kind::FirstSighting | Kind::ChallengeIgnored)
    }
}

/// The numbers behind a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Events of this bucket of time so far.
    pub count: u32,
    /// Events of a usual bucket.
    pub baseline: f32,
    /// Events that a whole bucket may have.
    pub threshold: f32,
    /// How many times what is allowed by now: above 1.
    pub factor: f32,
}

/// The signals of one request: at most one per kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals([Option<Signal>; 6]);

impl Signals {
    /// These signals.
    pub fn new(signals: impl IntoIterator<Item = Option<Signal>>) -> Signals {
        let mut all = Signals::default();
        signals.into_iter().flatten().for_each(|signal| all.add(signal));
        all
    }

    /// One more.
    pub fn add(&mut self, signal: Signal) {
        if let Some(place) = self.0.get_mut(signal.kind as usize) {
            *place = Some(signal);
        }
    }

    /// The signals there are, by [`Kind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &Signal> {
        self.0.iter().flatten()
    }

    /// Those of the kinds that `are_meant`.
    #[must_use]
    pub fn only(&self, are_meant: impl Fn(Kind) -> bool) -> Signals {
        Signals(self.0.map(|signal| signal.filter(|signal| are_meant(signal.kind))))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_caller_does_is_personal() {
        let personal: Vec<&str> =
            Kind::ALL.into_iter().filter(|kind| kind.is_personal()).map(Kind::name).collect();
        assert_eq!(personal, ["traffic:source_surge", "traffic:consumer_surge"]);
    }
}
