//! Legend of the columns of `bench`: each heading, and what it says.

use std::fmt::Write;

/// Headings in the order of the tables, each with what it says and its unit.
const LEGEND: [(&str, &str); 31] = [
    (
        "runs",
        "runs that the row's means are of, without those that were spoiled",
    ),
    (
        "+-",
        "half of the 95 % interval of the figure before it; of watts what the meter's steps and sampling allow",
    ),
    ("IOPS", "I/Os a second, all jobs together"),
    ("MiB/s", "mebibytes a second, all jobs together"),
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
        "CPU time of the jobs' threads for an I/O, in microseconds; the device's own thread not counted",
    ),
    (
        "polls/IO",
        "polls of a completion queue for an I/O, those that found nothing among them",
    ),
    ("intr/IO", "device interrupts for an I/O"),
    (
        "cs/IO",
        "voluntary context switches of the jobs' threads for an I/O",
    ),
    (
        "wakes/IO",
        "ends of a block for an I/O: the thread was woken by an interrupt",
    ),
    ("sleeps/IO", "timer sleeps for an I/O"),
    (
        "pauses/IO",
        "waits in PAUSE, TPAUSE or MWAITX for an I/O, where a mode has them",
    ),
    (
        "umwaits/IO",
        "waits in UMWAIT for an I/O, where a mode has them",
    ),
    (
        "uintr/IO",
        "user interrupts for an I/O, where a mode has them",
    ),
    (
        "W",
        "mean watts over the measured part, at the boundary of the row; * is modelled",
    ),
    ("uJ/IO", "energy of the window for an I/O, in microjoules"),
    ("IO/J", "I/Os for a joule"),
    ("energy", "the run that a figure of energy is of"),
    (
        "boundary",
        "what the meter has in it: cores, package, device or wall; they lie within one another and are not added",
    ),
    ("source", "the meter, or the profiles of the model"),
    (
        "from",
        "watts with the model's profiles at the lower ends of their bands",
    ),
    (
        "to",
        "watts with the model's profiles at the upper ends of their bands",
    ),
    ("MiB/J", "mebibytes for a joule"),
    (
        "mixed",
        "the run whose reads, writes, trims and flushes (sync) are shown apart",
    ),
    (
        "completion",
        "the completion mode that was effective; a ! marks a run that the machine spoiled",
    ),
];

/// The legend for people, a line each.
pub fn legend() -> String {
    let mut text = String::new();
    for (heading, what) in LEGEND {
        // Writing to a string does not fail.
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
