//! What a rule can count, and when it has its say.

use crate::counters::bucket::Quota;

/// What happens at a certain rate, and what one is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rate {
    /// Requests.
    #[default]
    Requests,
    /// New connections.
    Connections,
    /// HTTP/2 streams that the caller reset, and its breaches of the protocol.
    Errors,
}

impl Rate {
    /// All of them, in the order of [`Rates`].
    pub const ALL: [Rate; 3] = [Rate::Requests, Rate::Connections, Rate::Errors];

    /// With the rule's name, what its buckets are known by across reloads; the word of events.
    pub fn name(self) -> &'static str {
        match self {
            Rate::Requests => "requests",
            Rate::Connections => "connections",
            Rate::Errors => "h2_errors",
        }
    }
}

/// The most of each that one subject may do; `None`: it is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates(pub [Option<Quota>; 3]);

impl Rates {
    /// Of one kind.
    pub fn of(&self, rate: Rate) -> Option<&Quota> {
        self.0.get(rate as usize)?.as_ref()
    }

    /// Of every kind that is counted.
    pub fn iter(&self) -> impl Iterator<Item = (Rate, &Quota)> {
        Rate::ALL.into_iter().filter_map(|rate| Some((rate, self.of(rate)?)))
    }

    /// Is nothing counted? Then the rule goes by fingerprints alone.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The rate under which a rule has its say when one of these happens; `None`: it has none. It judges what it counts.
    /// Who makes too many errors is also judged at its requests, by a rule whose answer is one to requests: an error
    /// itself can't be answered any more.
    pub fn asked_at(&self, happens: Rate, answers_requests: bool) -> Option<Rate> {
        let errors_alone = self.iter().all(|(rate, _)| rate == Rate::Errors);
        if self.of(happens).is_some() || (self.is_empty() && happens != Rate::Errors) {
            return Some(happens);
        }
        let gates = happens == Rate::Requests && answers_requests && errors_alone && !self.is_empty();
        gates.then_some(Rate::Errors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::bucket::Charge;
    use crate::time::Nanos;

    fn rates(kinds: &[Rate]) -> Rates {
        let quota = Quota { interval: Nanos::from_secs(1), burst: 1, charge: Charge::Every };
        let mut rates = Rates::default();
        kinds.iter().for_each(|kind| rates.0[*kind as usize] = Some(quota));
        rates
    }

    fn asked(kinds: &[Rate], answers_requests: bool) -> Vec<Option<Rate>> {
        Rate::ALL.map(|happens| rates(kinds).asked_at(happens, answers_requests)).into()
    }

    #[test]
    fn a_rule_has_its_say_about_what_it_counts() {
        use Rate::{Connections, Errors, Requests};
        assert_eq!(asked(&[Requests], true), [Some(Requests), None, None]);
        assert_eq!(asked(&[Connections], true), [None, Some(Connections), None]);
        assert_eq!(asked(&[Requests, Connections], true), [Some(Requests), Some(Connections), None]);
        assert_eq!(asked(&[Connections, Errors], true), [None, Some(Connections), Some(Errors)]);
    }

    #[test]
    fn a_rule_without_a_rate_judges_connections_and_requests_alike() {
        assert_eq!(asked(&[], false), [Some(Rate::Requests), Some(Rate::Connections), None]);
    }

    #[test]
    fn errors_are_answered_at_requests_where_the_answer_is_one_to_requests() {
        assert_eq!(asked(&[Rate::Errors], true), [Some(Rate::Errors), None, Some(Rate::Errors)]);
        assert_eq!(asked(&[Rate::Errors], false), [None, None, Some(Rate::Errors)]);
    }
}
