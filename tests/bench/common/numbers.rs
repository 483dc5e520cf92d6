//! Order statistics: noise on a shared machine is one-sided and heavy, so no mean is taken anywhere.

/// A median and the quartiles around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub lower: f64,
    pub median: f64,
    pub upper: f64,
}

impl Spread {
    /// Of at least one number.
    pub fn of(numbers: &[f64]) -> Spread {
        let at = |q| quantile(numbers, q);
        Spread { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }
}

/// A quantile, linear between neighbours, of at least one number.
pub fn quantile(numbers: &[f64], q: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = q * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}
