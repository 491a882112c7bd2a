//! Report of a self-test as text.

use crate::columns::{clean, columns};
use joulio_lab::selftest::{SelftestCheck, SelftestReport, WaitResult};
use std::fmt::Write;

/// Formats the whole report.
pub fn text(report: &SelftestReport) -> String {
    // Writing to a string cannot fail.
    let mut out = String::new();
    for check in &report.checks {
        let _ = writeln!(out, "{}", line(check));
        for failure in &check.failures {
            let _ = writeln!(out, "  {}", clean(failure));
        }
    }
    if let Some(limits) = &report.limits {
        let c02 = if limits.c02 { "allowed" } else { "not allowed" };
        let max = match limits.max_cycles {
            0 => "no limit".into(),
            cycles => format!("{cycles} cycles of the TSC"),
        };
        let _ = writeln!(out, "\nsystem's limit on a wait: {max}; C0.2 {c02}");
    }
    let _ = writeln!(out, "\n{}", latency(report));
    out.push_str(&waits(report));
    out
}

fn line(check: &SelftestCheck) -> String {
    let mark = if check.passed { "ok    " } else { "FAILED" };
    let counts = check
        .counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"));
    let counts: Vec<_> = counts.collect();
    format!("{mark} {}: {}", check.name, counts.join(", "))
}

fn latency(report: &SelftestReport) -> String {
    let header = ["latency", "samples", "p50 ns", "p99 ns"].map(String::from);
    let rows = report.latency.iter().map(|latency| {
        [
            latency.what.clone(),
            latency.samples.to_string(),
            figure(latency.p50_ns, 0),
            figure(latency.p99_ns, 0),
        ]
    });
    columns(header, rows, 1)
}

fn waits(report: &SelftestReport) -> String {
    let waits = &report.waits;
    if let Some(why) = &waits.waits_reason {
        return format!("power and residency: not measured: {}\n", clean(why));
    }
    let header = ["wait", "cycles", "C0.1", "C0.2"].map(String::from);
    let count = |count: Option<u64>| count.map_or_else(|| "-".into(), |n| n.to_string());
    let rows = waits.waits.iter().map(|wait| {
        [
            wait.name.clone(),
            count(wait.cycles),
            count(wait.c01_cycles),
            count(wait.c02_cycles),
        ]
    });
    let mut out = columns(header, rows, 1);
    // The reasons are the same for every wait: a counter is missing for the whole thread.
    for (name, why) in waits
        .waits
        .first()
        .map(|wait| &wait.missing)
        .into_iter()
        .flatten()
    {
        let _ = writeln!(out, "{name}: {}", clean(why));
    }
    out.push('\n');
    out.push_str(&power(&waits.waits));
    out
}

fn power(waits: &[WaitResult]) -> String {
    let header = ["wait", "meter", "boundary", "W", "+-"].map(String::from);
    let rows = waits.iter().flat_map(|wait| {
        wait.power.iter().map(|power| {
            [
                wait.name.clone(),
                power.meter.clone(),
                power.boundary.clone(),
                figure(power.watts, 3),
                figure(power.error_watts, 3),
            ]
        })
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return "power: no meter can be read here: joulio power says why\n".into();
    }
    columns(header, rows, 3)
}

fn figure(figure: Option<f64>, digits: usize) -> String {
    figure.map_or_else(|| "-".into(), |figure| format!("{figure:.digits$}"))
}
