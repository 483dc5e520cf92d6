//! The table, in Markdown, as README has it.

use super::certificate::Certificate;
use super::visitors::End;
use super::{Row, Settings};
use crate::numbers::{Spread, quantile};
use crate::paper::{grouped, machine, today};

/// The table and what it was measured on. The first row is the one that all are compared with.
pub fn write(settings: &Settings, certificate: &Certificate, rows: &[Row]) -> String {
    let mut text = format!(
        "Measured with `make bench-envoy` on {}: {}; Envoy {} with one worker, which answers by itself; {} interleaved \
         rounds of {} new connections, eight at a time, all started anew {} times. Each connection is TLS 1.3 ({}), \
         resumes no session, and asks once, by HTTP/1.1. *Handshakes*, as Envoy counts them; *CPU* is that of the whole \
         Envoy for one connection; *per core*: how many of them a second of CPU is enough for; *over after*: from the \
         client's first packet to the answer or the end that it sees, with one connection at a time.\n\n",
        today(),
        machine(),
        settings.envoy_version,
        settings.rounds,
        settings.connections,
        settings.starts,
        certificate.kind,
    );
    text.push_str(
        "| a new connection | the client gets | handshakes | CPU | middle half | of the first row ",
    );
    text.push_str("| per core | over after, p50 |\n|---|---|--:|--:|--:|--:|--:|--:|\n");
    for row in rows {
        text.push_str(&line(row, &rows[0], settings));
    }
    text
}

fn line(row: &Row, first: &Row, settings: &Settings) -> String {
    let cpu = Spread::of(&row.cpu_us);
    let pairs = row.cpu_us.iter().zip(&first.cpu_us);
    let share = Spread::of(&pairs.map(|(this, first)| 100.0 * this / first).collect::<Vec<_>>());
    let handshakes = row.handshakes as f64 / (row.cpu_us.len() * settings.connections) as f64;
    format!(
        "| {} | {} | {handshakes} | **{:.0} µs** | {:.0} … {:.0} | {:.0} % | {} | {:.0} µs |\n",
        row.label,
        outcome(row.end),
        cpu.median,
        cpu.lower,
        cpu.upper,
        share.median,
        // To two digits: more would be noise.
        grouped(two_digits(1e6 / cpu.median)),
        quantile(&row.delays_us, 0.5),
    )
}

fn outcome(end: End) -> String {
    match end {
        End::Answered(status) => status.to_string(),
        End::BeforeHandshake => "an end in the handshake".to_owned(),
        End::AfterHandshake => "an end after the handshake".to_owned(),
    }
}

fn two_digits(number: f64) -> usize {
    let step = 10_f64.powf(number.log10().floor() - 1.0);
    ((number / step).round() * step) as usize
}
