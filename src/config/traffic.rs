//! The traffic guard of a document: how each dimension is judged.

use super::error::Cause;
use super::known::Known;
use super::read::Section;
use super::units::Range;
use super::{names, schema, units};
use crate::counters::ewma::Span;
use crate::detect::surge::{Dimension, Judge, Settings};

/// Each is looked for at every request.
const MOST_ROUTES: usize = 250;

/// Reads the section. `None`: all dimensions are off.
pub fn read(traffic: &Section, known: Known) -> Option<Settings> {
    let bucket = traffic.number("bucket_seconds", &schema::BUCKET);
    let learning = traffic.count("learning_buckets", &schema::LEARNING);
    let common = Common::read(traffic, bucket);
    let dimensions = Dimension::ALL.map(|dimension| common.judge(traffic, dimension, known));
    let of_routes = common.routes(traffic);
    let warmup = warmup(traffic, learning);
    dimensions.iter().any(Option::is_some).then(|| Settings {
        bucket: units::nanos(bucket),
        learning: Span::new(small(learning)),
        warmup: small(warmup),
        dimensions,
        routes: of_routes.into(),
    })
}

/// What all dimensions share.
struct Common {
    bucket_seconds: f64,
    factor: f64,
    deviations: f64,
    relearn_after: u32,
}

impl Common {
    fn read(traffic: &Section, bucket_seconds: f64) -> Common {
        Common {
            bucket_seconds,
            factor: factor(traffic).unwrap_or(schema::SURGE_FACTOR.default),
            deviations: traffic.number("surge_deviations", &schema::DEVIATIONS),
            relearn_after: traffic.count("relearn_after_buckets", &schema::RELEARN),
        }
    }

    fn judge(&self, traffic: &Section, dimension: Dimension, known: Known) -> Option<Judge> {
        let words = Words::of(dimension);
        let can_count = match dimension {
            Dimension::Route | Dimension::Source => true,
            Dimension::Consumer => known.consumers,
            Dimension::Network => known.networks,
        };
        let is_on = traffic.switch(words.switch, can_count);
        let floor = traffic.number(words.floor, words.floors);
        let weight = traffic.count(words.weight, words.weights);
        is_on.then(|| Judge {
            factor: self.factor as f32,
            deviations: self.deviations as f32,
            floor: self.floor(floor),
            weight: weight as u8,
            relearn_after: (dimension == Dimension::Route).then_some(small(self.relearn_after)),
        })
    }

    fn floor(&self, per_second: f64) -> f32 {
        (per_second * self.bucket_seconds) as f32
    }

    /// The routes that have a judge of their own. What one doesn't say is as for all routes, on or off.
    fn routes(&self, traffic: &Section) -> Vec<(Box<str>, Judge)> {
        let words = Words::of(Dimension::Route);
        let floor = fallback(traffic.number(words.floor, words.floors), words.floors);
        let weight = fallback(traffic.count(words.weight, words.weights).into(), words.weights);
        let factor_of = |route: &Section| factor(route).unwrap_or(self.factor);
        let deviations = fallback(self.deviations, &schema::DEVIATIONS);
        let relearn = fallback(self.relearn_after.into(), &schema::RELEARN);
        traffic.named("routes", MOST_ROUTES, names::route_name, |route| Judge {
            factor: factor_of(route) as f32,
            deviations: route.number("surge_deviations", &deviations) as f32,
            floor: self.floor(route.number(words.floor, &floor)),
            weight: route.count(words.weight, &weight) as u8,
            relearn_after: Some(small(route.count("relearn_after_buckets", &relearn))),
        })
    }
}

/// A range with another default.
fn fallback(default: f64, range: &Range) -> Range {
    Range { default, ..*range }
}

/// The factor, as a number or as a word.
fn factor(section: &Section) -> Option<f64> {
    section.keep_one(["surge_factor", "sensitivity"]);
    let number = section.read("surge_factor", |value| units::number(value, &schema::SURGE_FACTOR));
    let word = section.read("sensitivity", names::sensitivity);
    number.or(word)
}

fn warmup(traffic: &Section, learning: u32) -> u32 {
    let usual = (schema::WARMUP.default as u32).min(learning);
    let Some(warmup) = traffic.read("warmup_buckets", |value| units::count(value, &schema::WARMUP)) else {
        return usual;
    };
    if warmup > learning {
        let cause = Cause::AboveField { found: warmup, most: learning, field: "learning_buckets" };
        traffic.refuse_field("warmup_buckets", cause);
    }
    warmup
}

/// Counts whose range ends below 65,536.
fn small(count: u32) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The fields of one dimension.
struct Words {
    switch: &'static str,
    floor: &'static str,
    floors: &'static Range,
    weight: &'static str,
    weights: &'static Range,
}

impl Words {
    const fn of(dimension: Dimension) -> Words {
        match dimension {
            Dimension::Route => Words {
                switch: "route",
                floor: "route_floor_rps",
                floors: &schema::ROUTE_FLOOR,
                weight: "route_weight",
                weights: &schema::WEIGHT,
            },
            Dimension::Source => Words {
                switch: "source",
                floor: "source_floor_rps",
                floors: &schema::SOURCE_FLOOR,
                weight: "source_weight",
                weights: &schema::WEIGHT,
            },
            Dimension::Consumer => Words {
                switch: "consumer",
                floor: "consumer_floor_rps",
                floors: &schema::CONSUMER_FLOOR,
                weight: "consumer_weight",
                weights: &schema::WEIGHT,
            },
            Dimension::Network => Words {
                switch: "asn",
                floor: "asn_floor_rps",
                floors: &schema::NETWORK_FLOOR,
                weight: "asn_weight",
                weights: &schema::NETWORK_WEIGHT,
            },
        }
    }
}

#[cfg(test)]
mod tests;
