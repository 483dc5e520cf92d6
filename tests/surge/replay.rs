//! Real traffic through the code that judges it: one key, one worker that counts everything, and no exchange between.
//!
//! A site is a list of counts, one per bucket of 10 s. Requests are spread over their bucket at random, from a fixed
//! seed.

use weir::detect::surge::baseline::Terms;
use weir::detect::surge::entry::{Entry, Folds};
use weir::detect::surge::verdict::View;
use weir::hash::mix;

/// Buckets of one day.
pub const DAY: usize = 8640;

/// Buckets of a minute: a surge that pauses for less is still the same.
const MINUTE: usize = 6;

/// A site that is `times` as busy: so many buckets of the file make one of its own, and its day is as much shorter.
pub fn faster(numbers: &[u32], times: usize) -> Vec<u32> {
    numbers.chunks_exact(times).map(|chunk| chunk.iter().sum()).collect()
}

/// A site that is `days` times as busy: so many days of the file, laid over one another.
pub fn overlaid(numbers: &[u32], days: usize) -> Vec<u32> {
    let together =
        |all: &[u32]| -> Vec<u32> { (0..DAY).map(|at| all.iter().skip(at).step_by(DAY).sum()).collect() };
    numbers.chunks_exact(days * DAY).flat_map(together).collect()
}

/// Buckets in which surges of the site's own traffic begin; pauses of less than a minute don't end one.
pub fn surges(site: &[u32], terms: &Terms) -> Vec<usize> {
    let (mut route, mut found, mut last) = (Route::new(terms), Vec::new(), None);
    for (number, &count) in site.iter().enumerate() {
        if route.bucket(number, &spread(count, 0.0, number as u64)).is_some() {
            if last.is_none_or(|last| number - last > MINUTE) {
                found.push(number);
            }
            last = Some(number);
        }
    }
    found
}

/// How many floods were noticed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floods {
    /// Floods that come to no more than the floor: nobody minds them.
    pub below_floor: usize,
    /// The others.
    pub above_floor: usize,
    /// Seconds until the first signal, of those that were noticed.
    pub seconds: Vec<f64>,
}

impl Floods {
    /// The share of those above the floor that was noticed within so many seconds.
    pub fn within(&self, seconds: f64) -> f64 {
        self.seconds.iter().filter(|&&at| at <= seconds).count() as f64 / self.above_floor.max(1) as f64
    }
}

/// Adds floods of `times` the usual traffic to a site's own, one at a time, at about `points` places among its quiet hours
/// (the quarter of all buckets in which least is usual) or its busy ones (most). Each begins anywhere in a bucket and lasts
/// for a minute.
pub fn floods(site: &[u32], terms: &Terms, times: f32, busy: bool, points: usize) -> Floods {
    let mut found = Floods::default();
    for (number, route) in places(site, terms, busy, points) {
        let flood = (route.mean() * times).round();
        if flood + route.mean() <= terms.judge.floor {
            found.below_floor += 1;
        } else {
            found.above_floor += 1;
            found.seconds.extend(noticed(route, &site[number..], number, flood));
        }
    }
    found
}

/// The route as its entry knows it.
#[derive(Clone, Copy)]
struct Route<'a> {
    entry: Entry,
    terms: &'a Terms,
}

impl<'a> Route<'a> {
    fn new(terms: &'a Terms) -> Route<'a> {
        Route { entry: Entry::new(0), terms }
    }

    fn mean(&self) -> f32 {
        self.entry.baseline.mean(self.terms)
    }

    /// Lets one bucket pass, with each request by the share of the bucket before it. Gives that of the first one with a
    /// signal.
    fn bucket(&mut self, number: usize, requests: &[f32]) -> Option<f32> {
        let folds = &mut Folds::default();
        self.entry.advance(number as u32, self.terms, folds);
        self.entry.close(self.terms, folds);
        let (surge, threshold) = (self.entry.surge(self.terms), self.entry.baseline.threshold(self.terms));
        self.entry.add(number as u32, requests.len() as u32, self.terms, folds);
        let view = |count, at| View { count, heard: count, heard_at: at, surge, threshold };
        requests
            .iter()
            .copied()
            .zip(1..)
            .find(|&(at, count)| view(count, at).ratio(at) > 1.0)
            .map(|(at, _)| at)
    }
}

/// So many requests at random in what is left of a bucket at `from`, in their order.
fn spread(count: u32, from: f32, seed: u64) -> Vec<f32> {
    let mut all: Vec<f32> =
        (0..count).map(|i| from + (1.0 - from) * unit(mix(seed) ^ u64::from(i))).collect();
    all.sort_by(f32::total_cmp);
    all
}

fn unit(seed: u64) -> f32 {
    (mix(seed) >> 40) as f32 / (1 << 24) as f32
}

/// Where floods begin, and the route as it was before: warm, and not surging by itself.
fn places<'a>(site: &[u32], terms: &'a Terms, busy: bool, points: usize) -> Vec<(usize, Route<'a>)> {
    let (mut route, mut all) = (Route::new(terms), Vec::new());
    for (number, &count) in site.iter().enumerate().take(site.len().saturating_sub(2 * MINUTE)) {
        let before = route;
        let calm = route.bucket(number, &vec![0.5; count as usize]).is_none();
        if calm && before.mean() > 0.0 && before.entry.baseline.threshold(terms).is_finite() {
            all.push((number, before));
        }
    }
    all.sort_by(|(_, a), (_, b)| a.mean().total_cmp(&b.mean()));
    let quarter = all.len() / 4;
    let mut chosen = if busy { all.split_off(all.len() - quarter) } else { all[..quarter].to_vec() };
    chosen.sort_by_key(|(number, _)| *number);
    let step = chosen.len().div_ceil(points).max(1);
    chosen.into_iter().step_by(step).collect()
}

/// Seconds from the beginning of a flood to its first signal.
fn noticed(mut route: Route, own: &[u32], first: usize, flood: f32) -> Option<f64> {
    let begin = unit(first as u64);
    for (number, &count) in (first..=first + MINUTE).zip(own) {
        let from = if number == first { begin } else { 0.0 };
        let mut requests = spread(count, 0.0, number as u64);
        requests.extend(spread((flood * (1.0 - from)) as u32, from, !(number as u64)));
        requests.sort_by(f32::total_cmp);
        // What is before the flood is no flood: a signal there would be the site's own.
        if let Some(at) = route.bucket(number, &requests) {
            return Some(((number - first) as f64 + f64::from(at - begin)) * 10.0);
        }
    }
    None
}
