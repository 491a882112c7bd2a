//! Throughput and latency of all I/Os in the table of runs, and of each operation below it.

use crate::columns::columns;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{Varied, run_name};
use joulio_workload::{Counts, DirectionResult};

/// Headings of the columns of [`cells`].
pub const NAMES: [&str; 9] = [
    "IOPS",
    "MiB/s",
    "mean us",
    "stddev us",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "p99.99 us",
    "max us",
];

/// Headings that are shown only on request, by name or with `all`.
pub const RARE: [&str; 2] = ["stddev us", "p99.99 us"];

/// Formats I/Os and MiB per second, and latencies in microseconds.
pub fn cells(side: &DirectionResult) -> [String; 9] {
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
    let latency = &side.latency_ns;
    let bandwidth = side.bandwidth_bytes_per_second / (1 << 20) as f64;
    [
        format!("{:.0}", side.iops),
        format!("{bandwidth:.1}"),
        us(latency.mean),
        latency.stddev.map_or_else(|| "-".into(), us),
        us(latency.p50 as f64),
        us(latency.p99 as f64),
        us(latency.p999 as f64),
        latency.p9999.map_or_else(|| "-".into(), |ns| us(ns as f64)),
        us(latency.max as f64),
    ]
}

/// Returns the operations of a run that are shown separately: reads, writes and trims if it did at least two of them,
/// and flushes.
fn apart(counts: &Counts) -> Vec<(&'static str, &DirectionResult)> {
    let mut sides = vec![("read", &counts.read), ("write", &counts.write)];
    sides.extend(counts.trim.iter().map(|trim| ("trim", trim)));
    sides.retain(|(_, side)| side.ios > 0);
    if sides.len() == 1 {
        sides.clear();
    }
    sides.extend(counts.sync.iter().map(|sync| ("sync", sync)));
    sides
}

/// Formats the operations of runs that did several, one a line; `None` if there is no such run.
pub fn table(varied: &Varied, records: &[&RunRecord]) -> Option<String> {
    let rows = records.iter().flat_map(|record| {
        let run = &record.result;
        let sides = run.counts.iter().flat_map(apart);
        sides.map(|(direction, side)| {
            let words = [run_name(run), direction.to_string()];
            let place = varied.values(&record.point).into_iter();
            let figures = NAMES.into_iter().zip(cells(side));
            let usual = figures.filter(|(name, _)| !RARE.contains(name));
            let usual = usual.map(|(_, cell)| cell);
            place.chain(words).chain(usual).collect()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let modelled = records.iter().any(|record| record.result.modelled);
    let star = if modelled { "*" } else { "" };
    let usual = NAMES.into_iter().filter(|name| !RARE.contains(name));
    let figures = usual.map(|name| format!("{name}{star}"));
    let words = ["mixed", ""].map(String::from);
    let header = varied.names().chain(words).chain(figures);
    let left = 2 + varied.count();
    (!rows.is_empty()).then(|| format!("\n{}", columns(header, rows, left)))
}
