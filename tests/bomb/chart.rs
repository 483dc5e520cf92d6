//! What pictures are made of: scales, axes, lines and areas, as SVG.

use std::fmt::{Display, Write};

/// Ticks that fit beside a chart, and below it.
const UPWARDS: f64 = 5.0;
const ACROSS: f64 = 8.0;

/// Numbers from the bottom of a panel to its top.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// From 0.
    Linear { to: f64 },
    /// Each decade is as high as the next.
    Logarithmic { from: f64, to: f64 },
}

impl Scale {
    /// From 0 to somewhat above the greatest, ending with a tick.
    pub fn up_to(greatest: f64) -> Scale {
        let step = step_of(greatest, UPWARDS);
        Scale::Linear { to: (greatest / step).ceil().max(1.0) * step }
    }

    /// Decades around all of these.
    pub fn decades(numbers: impl Iterator<Item = f64>) -> Scale {
        let (least, greatest) =
            numbers.filter(|n| *n > 0.0).fold((1.0_f64, 1.0_f64), |(low, high), n| (low.min(n), high.max(n)));
        let to = 10_f64.powf(greatest.log10().ceil()).max(10.0);
        Scale::Logarithmic { from: 10_f64.powf(least.log10().floor()).min(0.1), to }
    }

    /// Where a number is: 0 at the bottom, 1 at the top.
    fn part(self, number: f64) -> f64 {
        let part = match self {
            Scale::Linear { to } => number / to,
            Scale::Logarithmic { from, to } => (number.max(from) / from).log10() / (to / from).log10(),
        };
        part.clamp(0.0, 1.0)
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Scale::Linear { to } => {
                let step = step_of(to, UPWARDS);
                (0..=(to / step).round() as usize).map(|n| n as f64 * step).collect()
            }
            Scale::Logarithmic { from, to } => {
                let decades = (to / from).log10().round() as usize;
                (0..=decades).map(|n| from * 10_f64.powi(n as i32)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that no more than so many of them reach the greatest.
fn step_of(greatest: f64, at_most: f64) -> f64 {
    let decade = 10_f64.powf((greatest.max(1e-9) / at_most).log10().floor());
    let step = [1.0, 2.0, 5.0].into_iter().find(|n| greatest / (n * decade) <= at_most).unwrap_or(10.0);
    step * decade
}

/// Where one chart is, and what its axes mean.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    /// Seconds from left to right.
    pub seconds: f64,
    pub scale: Scale,
}

/// Second and number.
pub type Point = (f64, f64);

impl Panel {
    fn at(&self, (second, number): Point) -> (f64, f64) {
        let x = self.x + self.width * (second / self.seconds).clamp(0.0, 1.0);
        (x, self.y + self.height * (1.0 - self.scale.part(number)))
    }

    /// The grid with its numbers; those of seconds if there is nothing below.
    pub fn axes(&self, svg: &mut String, is_lowest: bool) {
        let right = self.x + self.width;
        for tick in self.scale.ticks() {
            let (_, y) = self.at((0.0, tick));
            push(svg, format_args!(r#"<path class="grid" d="M{:.1} {y:.1}H{right:.1}"/>"#, self.x));
            text(svg, self.x - 8.0, y + 4.0, "faint end", number(tick));
        }
        let bottom = self.y + self.height;
        let step = step_of(self.seconds, ACROSS);
        for tick in (0..=(self.seconds / step) as usize).map(|n| n as f64 * step) {
            let (x, _) = self.at((tick, 0.0));
            push(svg, format_args!(r#"<path class="axis" d="M{x:.1} {bottom:.1}v4"/>"#));
            if is_lowest {
                text(svg, x, bottom + 18.0, "faint middle", number(tick));
            }
        }
        push(svg, format_args!(r#"<path class="axis" d="M{:.1} {bottom:.1}H{right:.1}"/>"#, self.x));
    }

    pub fn line(&self, svg: &mut String, class: &str, points: &[Point]) {
        if points.len() > 1 {
            push(svg, format_args!(r#"<path class="line {class}" d="M{}"/>"#, self.path(points)));
        }
    }

    /// What is below a line.
    pub fn area(&self, svg: &mut String, class: &str, points: &[Point]) {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
        let bottom = self.y + self.height;
        let ((left, _), (right, _)) = (self.at(*first), self.at(*last));
        let path = self.path(points);
        push(
            svg,
            format_args!(
                r#"<path class="area {class}" d="M{left:.1} {bottom:.1}L{path}L{right:.1} {bottom:.1}Z"/>"#
            ),
        );
    }

    /// A moment, marked from top to bottom.
    pub fn moment(&self, svg: &mut String, second: f64) {
        let (x, _) = self.at((second, 0.0));
        let (y, height) = (self.y, self.height);
        push(svg, format_args!(r#"<path class="moment" d="M{x:.1} {y:.1}v{height:.1}"/>"#));
    }

    fn path(&self, points: &[Point]) -> String {
        let points = points.iter().map(|point| {
            let (x, y) = self.at(*point);
            format!("{x:.1} {y:.1}")
        });
        points.collect::<Vec<_>>().join("L")
    }
}

/// A line of text; its class says where it is anchored, too.
pub fn text(svg: &mut String, x: f64, y: f64, class: &str, words: impl Display) {
    let words = words.to_string().replace('&', "&amp;").replace('<', "&lt;");
    push(svg, format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{words}</text>"#));
}

/// "40k", "2.5k", "150", "0.1"
pub fn number(n: f64) -> String {
    let short = |n: f64| {
        let text = format!("{n:.1}");
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    };
    match n {
        1e6.. => format!("{}M", short(n / 1e6)),
        1e3.. => format!("{}k", short(n / 1e3)),
        0.1.. => short(n),
        0.0 => "0".to_owned(),
        _ => format!("{n}"),
    }
}

fn push(svg: &mut String, element: std::fmt::Arguments) {
    // Written to memory: it can't fail.
    let _ = writeln!(svg, "{element}");
}
