//! What the operator chooses about the traffic guard, and of whom one request is.

use super::baseline::Terms;
use crate::counters::ewma::Span;
use crate::detect::signal::Kind;
use crate::hash::SubjectHash;
use crate::time::Nanos;

/// Whose traffic is compared with what is usual for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// What is called.
    Route,
    /// A client's address.
    Source,
    /// A credential.
    Consumer,
    /// A client's network.
    Network,
}

impl Dimension {
    /// All dimensions: an array by dimension is in this order.
    pub const ALL: [Dimension; 4] =
        [Dimension::Route, Dimension::Source, Dimension::Consumer, Dimension::Network];

    /// The name in metrics and key families.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Route => "route",
            Dimension::Source => "source",
            Dimension::Consumer => "consumer",
            Dimension::Network => "network",
        }
    }

    /// The signal of a surge in this dimension.
    pub const fn kind(self) -> Kind {
        match self {
            Dimension::Route => Kind::RouteSurge,
            Dimension::Source => Kind::SourceSurge,
            Dimension::Consumer => Kind::ConsumerSurge,
            Dimension::Network => Kind::NetworkSurge,
        }
    }
}

/// What makes a bucket of time a surge, and what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judge {
    /// A surge is more than this many times the mean …
    pub factor: f32,
    /// … and lies more than this many usual deviations above it …
    pub deviations: f32,
    /// … and is more than so many events per bucket.
    pub floor: f32,
    /// The weight of its signal, 1 to 100.
    pub weight: u8,
    /// After so many surged buckets in a row what has lasted is the new normal, and is learned. Never, if `None`:
    /// for what a caller does, as a flood would only have to last.
    pub relearn_after: Option<u16>,
}

/// What the operator chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The length of a bucket of time: at least 1 s is sensible.
    pub bucket: Nanos,
    /// How many buckets the mean remembers. After as many empty ones a key starts anew.
    pub learning: Span,
    /// Buckets that must have taught before one is judged.
    pub warmup: u16,
    /// How each dimension is judged, by [`Dimension::ALL`]; `None` is off.
    pub dimensions: [Option<Judge>; 4],
    /// Routes that are judged in their own way, by name: 250 at the most. They count where the dimension is on.
    pub routes: Box<[(Box<str>, Judge)]>,
}

impl Settings {
    /// These, and what another plan looks at beside: all plans of a worker learn in one table.
    pub fn and(mut self, other: &Settings) -> Settings {
        let scale = self.bucket.0 as f32 / other.bucket.0.max(1) as f32;
        let scaled = |judge: &Judge| Judge { floor: judge.floor * scale, ..*judge };
        for (own, other) in self.dimensions.iter_mut().zip(&other.dimensions) {
            *own = own.or(other.as_ref().map(scaled));
        }
        let known = |name: &str| self.routes.iter().any(|(own, _)| **own == *name);
        let more: Vec<_> = other.routes.iter().filter(|(name, _)| !known(name)).collect();
        let more = more.into_iter().map(|(name, judge)| (name.clone(), scaled(judge)));
        self.routes = self.routes.iter().cloned().chain(more).collect();
        self
    }

    /// How a key is judged, and the number by which [`Settings::numbered`] finds that again.
    pub(super) fn judge(&self, dimension: Dimension, route: Option<&[u8]>) -> Option<(u8, Judge)> {
        let own = (*self.dimensions.get(dimension as usize)?)?;
        let named = |name: &[u8]| self.routes.iter().position(|(other, _)| other.as_bytes() == name);
        let special = route.filter(|_| dimension == Dimension::Route).and_then(named);
        let number = special.map_or(dimension as usize, |at| at + Dimension::ALL.len());
        let judge = special.and_then(|at| self.routes.get(at)).map_or(own, |(_, judge)| *judge);
        Some((u8::try_from(number).unwrap_or(dimension as u8), judge))
    }

    /// How a key with that judge is judged and taught.
    pub(super) fn terms(&self, judge: &Judge) -> Terms {
        Terms { judge: *judge, span: self.learning, warmup: self.warmup }
    }

    /// The judge of that number: that of the dimension where a special one is gone.
    pub(super) fn numbered(&self, number: u8) -> Option<Judge> {
        let special = usize::from(number).checked_sub(Dimension::ALL.len());
        let special = special.and_then(|at| self.routes.get(at)).map(|(_, judge)| *judge);
        special.or(*self.dimensions.get(dimension_of(number) as usize)?)
    }
}

/// The dimension of a judge's number.
pub(super) fn dimension_of(number: u8) -> Dimension {
    *Dimension::ALL.get(usize::from(number)).unwrap_or(&Dimension::Route)
}

/// Whose one request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subjects<'a> {
    /// The subject in each dimension, by [`Dimension::ALL`]: who is not known is not counted.
    pub of: [Option<SubjectHash>; 4],
    /// The route's name, by which a special judge is found.
    pub route: Option<&'a [u8]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUDGE: Judge = Judge { factor: 3.0, deviations: 0.0, floor: 50.0, weight: 40, relearn_after: None };

    #[test]
    fn a_named_route_has_its_own_judge_and_the_rest_have_that_of_their_dimension() {
        let special = Judge { factor: 5.0, ..JUDGE };
        let settings = Settings {
            bucket: Nanos::from_secs(10),
            learning: Span::new(60),
            warmup: 6,
            dimensions: [Some(JUDGE), Some(JUDGE), None, None],
            routes: Box::new([("checkout".into(), special)]),
        };
        let judge = |dimension, route: &'static str| settings.judge(dimension, Some(route.as_bytes()));
        assert_eq!(judge(Dimension::Route, "checkout"), Some((4, special)));
        assert_eq!(judge(Dimension::Route, "other"), Some((0, JUDGE)));
        assert_eq!(judge(Dimension::Source, "checkout"), Some((1, JUDGE)));
        assert_eq!(judge(Dimension::Network, "checkout"), None);
        assert_eq!((settings.numbered(4), settings.numbered(9)), (Some(special), Some(JUDGE)));
        assert_eq!((settings.numbered(1), settings.numbered(2)), (Some(JUDGE), None));
        assert_eq!((dimension_of(4), dimension_of(2)), (Dimension::Route, Dimension::Consumer));
    }

    #[test]
    fn plans_together_look_at_all_that_one_of_them_does() {
        let plan = |bucket, dimensions, routes: &[(&str, Judge)]| Settings {
            bucket: Nanos::from_secs(bucket),
            learning: Span::new(60),
            warmup: 6,
            dimensions,
            routes: routes.iter().map(|(name, judge)| (Box::from(*name), *judge)).collect(),
        };
        let of = |factor| Judge { factor, ..JUDGE };
        let first = plan(10, [Some(of(2.0)), None, None, None], &[("a", of(3.0))]);
        let second = plan(5, [Some(of(4.0)), Some(of(5.0)), None, None], &[("a", of(6.0)), ("b", of(7.0))]);
        let both = first.and(&second);
        assert_eq!(both.dimensions[..2], [Some(of(2.0)), Some(Judge { floor: 100.0, ..of(5.0) })]);
        let judge =
            |route: &'static str| both.judge(Dimension::Route, Some(route.as_bytes())).unwrap().1.factor;
        assert_eq!([judge("a"), judge("b"), judge("c")], [3.0, 7.0, 2.0]);
    }
}
