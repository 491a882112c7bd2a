//! The comparison of real runs with virtual time, for people.

use crate::columns::columns;
use joulio_lab::calibrate::{Checked, Figures};

/// Two lines for each completion mode: real, and in virtual time.
pub fn table(checked: &Checked) -> String {
    let header = [
        "completion",
        "",
        "intr/IO",
        "sleeps/IO",
        "wakes/IO",
        "alike %",
        "p50 us",
        "error",
        "",
    ];
    let rows = checked.check.iter().flat_map(|one| {
        let row = |name: &str, of: &Figures, alike: String, more: [String; 2]| {
            let counts = of.counts().map(|n| match n.fract() == 0.0 {
                true => n.to_string(),
                false => format!("{n:.3}"),
            });
            let median = format!("{:.2}", of.median_ns as f64 / 1e3);
            let words = [one.completion.clone(), name.into()].into_iter();
            words
                .chain(counts)
                .chain([alike, median])
                .chain(more)
                .collect::<Vec<_>>()
        };
        let error = format!("{:+.1} %", 100.0 * one.error());
        let verdict = match (one.same_counts(), one.agrees()) {
            (_, true) => "agrees",
            (false, _) => "counts differ",
            (true, false) => "latency differs",
        };
        let none = [String::new(), String::new()];
        [
            row("real", &one.real, format!("{:.2}", 100.0 * one.alike), none),
            row("twin*", &one.twin, String::new(), [error, verdict.into()]),
        ]
    });
    let mut text = columns(header, rows, 2);
    for one in &checked.not_checked {
        text.push_str(&format!("{}: not checked: {}\n", one.completion, one.why));
    }
    text
}
