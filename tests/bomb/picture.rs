//! The picture: memory, latency and decisions from top to bottom, Weir on the left and the naive limiter on the right,
//! both at one scale. One SVG that needs nothing else, for light and dark.

use super::chart::{Panel, Point, Scale, number, text};
use super::paper::grouped;
use super::sides::Side;
use super::watch::{Sample, Seen};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 860.0;
/// Where columns begin, how wide they are, where rows begin, how high they are.
const COLUMNS: [f64; 2] = [76.0, 660.0];
const COLUMN: f64 = 510.0;
const ROWS: [f64; 3] = [166.0, 398.0, 630.0];
const ROW: f64 = 160.0;

/// Above the greatest number there is room for the names of lines.
const HEADROOM: f64 = 1.2;

const STYLE: &str = "\
    text{font:13px system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2328}\
    .title{font-size:22px;font-weight:600}.name{font-size:17px;font-weight:600}.row{font-weight:600}\
    .faint{fill:#59636e;font-size:12px}.end{text-anchor:end}.middle{text-anchor:middle}\
    .ground{fill:#fff}.grid{stroke:#e4e8ec;fill:none}.axis{stroke:#8c959f;fill:none}\
    .moment{stroke:#8c959f;stroke-dasharray:2 4;fill:none}\
    .line{fill:none;stroke-width:2;stroke-linejoin:round}.area{opacity:.18}\
    .blue{stroke:#0969da}.area.blue{fill:#0969da;stroke:none}\
    .green{stroke:#1a7f37}.area.green{fill:#1a7f37;stroke:none}\
    .red{stroke:#cf222e}.area.red{fill:#cf222e;stroke:none}\
    .violet{stroke:#8250df}.dashed{stroke-dasharray:6 4}\
    @media (prefers-color-scheme:dark){\
    text{fill:#e6edf3}.faint{fill:#9198a1}.ground{fill:#0d1117}.grid{stroke:#21262d}.axis,.moment{stroke:#59636e}\
    .area{opacity:.28}.blue{stroke:#58a6ff}.area.blue{fill:#58a6ff}.green{stroke:#3fb950}.area.green{fill:#3fb950}\
    .red{stroke:#ff7b72}.area.red{fill:#ff7b72}.violet{stroke:#bc8cff}}";

/// What does not change from one picture of a show to the next.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The whole show, in seconds, and where in it the attack begins and ends.
    pub seconds: f64,
    pub attack: (f64, f64),
    /// The attack's last rate.
    pub top: u64,
}

/// All that was seen so far. `now` says in words what is going on.
pub fn draw(frame: &Frame, samples: &[Sample], now: &str) -> String {
    // The last answers may come late.
    let end = samples.last().map_or(0.0, |sample| sample.at.as_secs_f64());
    let frame = &Frame { seconds: frame.seconds.max(end), ..*frame };
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="Memory, latency and decisions of two Envoys under a flood of distinct clients"><style>{STYLE}</style><rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>
"#
    );
    heading(&mut svg, frame, samples, now);
    for side in Side::BOTH {
        let x = COLUMNS[side.index()];
        text(&mut svg, x, 124.0, "name", headline(side));
        memory(&mut svg, frame, samples, side);
        latency(&mut svg, frame, samples, side);
        decisions(&mut svg, frame, samples, side);
        text(&mut svg, x + COLUMN, ROWS[2] + ROW + 38.0, "faint end", "seconds");
    }
    svg.push_str("</svg>\n");
    svg
}

fn headline(side: Side) -> &'static str {
    match side {
        Side::Weir => "Envoy with Weir: tables of fixed size",
        Side::Naive => "Envoy with a naive limiter: a map of all clients",
    }
}

fn heading(svg: &mut String, frame: &Frame, samples: &[Sample], now: &str) {
    let clients = samples.last().map_or(0, Sample::clients);
    text(svg, COLUMNS[0], 44.0, "title", "The cardinality bomb: each request from another client");
    let so_far = format!(
        "{} distinct clients, all with one of 20 stolen tokens, up to {} requests per second at each Envoy",
        grouped(clients as usize),
        grouped(frame.top as usize)
    );
    text(svg, COLUMNS[0], 70.0, "", so_far);
    text(svg, COLUMNS[1] + COLUMN, 44.0, "end", now);
    text(
        svg,
        COLUMNS[0],
        92.0,
        "faint",
        "A client that behaves asks each of them 20 times a second all the while.",
    );
}

/// The axes of one chart, what it shows, and when the attack is.
fn panel(svg: &mut String, frame: &Frame, side: Side, row: usize, scale: Scale) -> Panel {
    let panel = Panel {
        x: COLUMNS[side.index()],
        y: ROWS[row],
        width: COLUMN,
        height: ROW,
        seconds: frame.seconds,
        scale,
    };
    panel.axes(svg, row + 1 == ROWS.len());
    panel.moment(svg, frame.attack.0);
    panel.moment(svg, frame.attack.1);
    panel
}

/// What a chart shows, and above it on the right the latest numbers.
fn caption(svg: &mut String, panel: &Panel, words: &str, latest: &str) {
    text(svg, panel.x, panel.y - 12.0, "row", words);
    text(svg, panel.x + panel.width, panel.y - 12.0, "end", latest);
}

/// Names of lines, below the top, clear of where the attack begins.
fn legend(svg: &mut String, panel: &Panel, frame: &Frame, names: &[(&str, &str)]) {
    let mut x = panel.x + panel.width * frame.attack.0 / frame.seconds + 14.0;
    for (class, name) in names {
        svg.push_str(&format!("<path class=\"line {class}\" d=\"M{x:.1} {:.1}h22\"/>\n", panel.y + 14.0));
        text(svg, x + 30.0, panel.y + 18.0, "faint", name);
        // About as wide as the text is.
        x += 30.0 + 6.8 * name.len() as f64 + 16.0;
    }
}

fn series(samples: &[Sample], side: Side, of: impl Fn(&Seen) -> f64) -> Vec<Point> {
    samples.iter().map(|sample| (sample.at.as_secs_f64(), of(sample.of(side)))).collect()
}

/// The greatest of both, so that the two columns have one scale.
fn greatest(samples: &[Sample], of: impl Fn(&Seen) -> f64) -> f64 {
    samples.iter().flat_map(|sample| &sample.sides).map(of).fold(0.0, f64::max)
}

fn memory(svg: &mut String, frame: &Frame, samples: &[Sample], side: Side) {
    let scale = Scale::up_to(greatest(samples, |seen| seen.resident_mib).max(100.0) * HEADROOM);
    let panel = panel(svg, frame, side, 0, scale);
    let resident = series(samples, side, |seen| seen.resident_mib);
    panel.area(svg, "blue", &resident);
    panel.line(svg, "blue", &resident);
    let mut names = vec![("blue", "the process (RSS)")];
    if samples.iter().any(|sample| sample.of(side).tables_mib.is_some()) {
        panel.line(svg, "violet dashed", &series(samples, side, |seen| seen.tables_mib.unwrap_or(0.0)));
        names.push(("violet dashed", "its tables, allocated once"));
    }
    legend(svg, &panel, frame, &names);
    let latest = samples.last().map_or(0.0, |sample| sample.of(side).resident_mib);
    caption(svg, &panel, "Memory, MiB", &format!("{latest:.0} MiB"));
}

fn latency(svg: &mut String, frame: &Frame, samples: &[Sample], side: Side) {
    let of_both = samples.iter().flat_map(|sample| &sample.sides);
    let scale = Scale::decades(of_both.flat_map(|seen| [seen.good.p50_ms, seen.good.p99_ms * HEADROOM]));
    let panel = panel(svg, frame, side, 1, scale);
    panel.line(svg, "green", &series(samples, side, |seen| seen.good.p50_ms));
    panel.line(svg, "violet", &series(samples, side, |seen| seen.good.p99_ms));
    legend(svg, &panel, frame, &[("green", "p50"), ("violet", "p99, over 5 s")]);
    let good = samples.last().map(|sample| sample.of(side).good).unwrap_or_default();
    let latest = format!("{:.2} % of {} served", good.percent_served(), grouped(good.asked));
    caption(svg, &panel, "The client that behaves, ms until its answer", &latest);
}

fn decisions(svg: &mut String, frame: &Frame, samples: &[Sample], side: Side) {
    let scale = Scale::up_to(
        greatest(samples, |seen| seen.passed_per_s.max(seen.refused_per_s)).max(100.0) * HEADROOM,
    );
    let panel = panel(svg, frame, side, 2, scale);
    for (class, of) in
        [("green", (|seen| seen.refused_per_s) as fn(&Seen) -> f64), ("red", |seen| seen.passed_per_s)]
    {
        let points = series(samples, side, of);
        panel.area(svg, class, &points);
        panel.line(svg, class, &points);
    }
    legend(svg, &panel, frame, &[("red", "passed to the upstream"), ("green", "refused")]);
    let seen = samples.last().map(|sample| *sample.of(side)).unwrap_or_default();
    let latest = format!(
        "{} passed, {} refused so far",
        number(seen.attack.passed as f64),
        number(seen.attack.refused as f64)
    );
    caption(svg, &panel, "The attack, requests per second", &latest);
}
