//! What the service offers, and what each costs it.

use std::time::Duration;

use super::chance::Chance;

/// A kind of request, a route of its own in Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Asset,
    Page,
    Search,
    /// What is asymmetric: a line to ask for, ten pages' worth of work.
    Report,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Asset, Kind::Page, Kind::Search, Kind::Report];

    /// The route's name, and its path without the slash.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Asset => "asset",
            Kind::Page => "page",
            Kind::Search => "search",
            Kind::Report => "report",
        }
    }

    /// Mean time of service, in seconds.
    pub const fn mean(self) -> f64 {
        match self {
            Kind::Asset => 0.010,
            Kind::Page => 0.030,
            Kind::Search => 0.040,
            Kind::Report => 0.400,
        }
    }

    /// How long a slot serves the request of this number: whoever asks, and in every run, the same.
    pub fn service(self, number: u64) -> Duration {
        let seconds = match self {
            Kind::Search => Chance::seeded(number).log_normal(self.mean(), 1.8),
            _ => self.mean(),
        };
        Duration::from_secs_f64(seconds)
    }

    /// `/search?n=17`: the number is in the query, which is no part of a path.
    pub fn path(self, number: u64) -> String {
        format!("/{}?n={number}", self.name())
    }

    pub fn of_path(path: &str) -> Option<(Kind, u64)> {
        let (name, number) = path.strip_prefix('/')?.split_once("?n=")?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name)?;
        Some((kind, number.parse().ok()?))
    }
}
