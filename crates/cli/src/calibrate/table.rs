//! Table that compares real runs with virtual time.

use crate::columns::columns;
use joulio_lab::calibrate::{Checked, Compared, Figures};

/// Formats two lines for each completion mode: the real run, and the one in virtual time.
pub fn table(checked: &Checked) -> String {
    let shared = checked.check.iter().any(|one| one.real.beside.is_some());
    let mut header = vec![
        "completion",
        "",
        "intr/IO",
        "sleeps/IO",
        "wakes/IO",
        "alike %",
        "p50 us",
    ];
    if shared {
        header.extend(["lost ms/s", "neighbour %", "others %"]);
    }
    header.extend(["error", ""]);
    let rows = checked.check.iter().flat_map(|one| {
        let error = format!("{:+.1} %", 100.0 * one.error());
        let alike = format!("{:.2}", 100.0 * one.alike);
        [
            row(one, "real", &one.real, alike, ["".into(), "".into()]),
            row(one, "twin*", &one.twin, "".into(), [error, verdict(one)]),
        ]
    });
    let mut text = columns(header, rows, 2);
    if checked.check.iter().any(|one| one.completion == "adaptive") {
        text.push_str("adaptive: nothing is promised (--latency-budget none)\n");
    }
    for one in &checked.not_checked {
        text.push_str(&format!("{}: not checked: {}\n", one.completion, one.why));
    }
    text
}

fn row(one: &Compared, name: &str, of: &Figures, alike: String, more: [String; 2]) -> Vec<String> {
    let mut row = vec![one.completion.clone(), name.into()];
    row.extend(of.counts().map(|n| match n.fract() == 0.0 {
        true => n.to_string(),
        false => format!("{n:.3}"),
    }));
    row.push(alike);
    row.push(format!("{:.2}", of.median_ns as f64 / 1e3));
    if let Some(beside) = of.beside {
        row.push(format!("{:.1}", beside.lost_ms_per_second));
        row.push(format!("{:.1}", beside.neighbour_percent));
        row.push(match of.modelled {
            true => String::new(),
            false => format!("{:.1}", beside.others_percent),
        });
    }
    row.extend(more);
    row
}

fn verdict(one: &Compared) -> String {
    let words = match one {
        one if one.disturbed().is_some() => "not judged: others ran",
        one if !one.same_counts() => "counts differ",
        one if !one.same_median() => "latency differs",
        one if !one.same_loss() => "lost time differs",
        _ => "agrees",
    };
    words.into()
}
