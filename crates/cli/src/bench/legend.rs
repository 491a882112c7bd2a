//! Legend of the columns of `bench`, with the meaning of each heading.

use std::fmt::Write;

/// Headings in the order of the tables, each with its meaning and unit.
const LEGEND: [(&str, &str); 31] = [
    (
        "runs",
        "number of runs in the row's means; spoiled runs are left out",
    ),
    (
        "+-",
        "half of the 95 % interval of the figure before it; for watts the error of the meter's steps and sampling",
    ),
    ("IOPS", "I/Os per second, all jobs together"),
    ("MiB/s", "mebibytes per second, all jobs together"),
    (
        "mean us",
        "mean latency of an I/O, from arrival to completion, in microseconds",
    ),
    (
        "stddev us",
        "standard deviation of the latencies, in microseconds; on request",
    ),
    ("p50 us", "median latency, in microseconds"),
    (
        "p99 us",
        "99th percentile of the latencies, in microseconds",
    ),
    (
        "p99.9 us",
        "99.9th percentile of the latencies, in microseconds",
    ),
    (
        "p99.99 us",
        "99.99th percentile of the latencies, in microseconds; on request",
    ),
    ("max us", "longest latency, in microseconds"),
    (
        "CPU us/IO",
        "CPU time of the jobs' threads per I/O, in microseconds; without an emulated device's own thread",
    ),
    (
        "polls/IO",
        "polls of a completion queue per I/O, including those that found nothing",
    ),
    ("intr/IO", "device interrupts per I/O"),
    (
        "cs/IO",
        "voluntary context switches of the jobs' threads per I/O",
    ),
    ("wakes/IO", "blocks per I/O that an interrupt ended"),
    ("sleeps/IO", "timer sleeps per I/O"),
    (
        "pauses/IO",
        "waits in PAUSE, TPAUSE or MWAITX per I/O, for modes that have them",
    ),
    (
        "umwaits/IO",
        "waits in UMWAIT per I/O, for modes that have them",
    ),
    (
        "uintr/IO",
        "user interrupts per I/O, for modes that have them",
    ),
    (
        "W",
        "mean watts during the measurement, at the boundary of the row; * is modelled",
    ),
    ("uJ/IO", "energy of the window per I/O, in microjoules"),
    ("IO/J", "I/Os per joule"),
    ("energy", "the run that an energy figure belongs to"),
    (
        "boundary",
        "what the meter includes: cores, package, device or wall; a wider one includes the narrower ones, so they are not added",
    ),
    ("source", "the meter, or the profiles of the model"),
    (
        "from",
        "watts with all of the model's figures at the lower ends of their bands",
    ),
    (
        "to",
        "watts with all of the model's figures at the upper ends of their bands",
    ),
    ("MiB/J", "mebibytes for a joule"),
    (
        "mixed",
        "the run whose reads, writes, trims and flushes (sync) are shown separately",
    ),
    (
        "completion",
        "the effective completion mode; a ! marks a run that the machine spoiled",
    ),
];

/// Returns the legend, one heading a line.
pub fn legend() -> String {
    let mut text = String::new();
    for (heading, what) in LEGEND {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading:<11}  {what}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{means, table};

    #[test]
    fn every_column_has_a_line() {
        for heading in table::headings().chain(means::headings()) {
            let mut all = LEGEND.iter();
            assert!(all.any(|(known, _)| *known == heading), "{heading}");
        }
    }

    #[test]
    fn the_documentation_has_the_same_lines() {
        let page = include_str!("../../docs/columns.md");
        for (heading, what) in LEGEND {
            let row = format!("| `{heading}` | {what} |");
            assert!(page.contains(&row), "docs/columns.md lacks: {row}");
        }
        assert_eq!(page.matches("\n| `").count(), LEGEND.len(), "as many rows");
    }
}
