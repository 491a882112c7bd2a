//! Table of runs, and the notes below it.

use super::figures::energy_table;
use super::sides;
use crate::columns::{Chosen, chosen_columns};
use joulio_lab::record::RunRecord;
use joulio_lab::results::{EnergyColumn, Varied, notes, run_name};
use joulio_lab::sweep::{Axes, Factor, SweepOptions};
use joulio_units::Nanos;
use joulio_workload::{Counts, EnergyResult, Job, JobKind, RunResult, WaitCounters};
use std::fmt::Write;
use std::iter::once;

/// Returns the heading, which describes what is about to run.
pub fn heading(options: &SweepOptions, axes: &Axes, job: &Job, devices: &[&str]) -> String {
    let faults = &options.base.targets.faults;
    // With several devices per job, numbers per job apply to each device.
    let (each, of_each) = match devices.len() > job.numjobs && axes.values(Factor::Device).len() < 2
    {
        true => ("device", " a device"),
        false => ("job", ""),
    };
    let length = match (job.runtime, job.number_ios) {
        (Some(time), None) => format!(
            "{} s after a ramp of {} s",
            time.seconds(),
            job.ramp_time.seconds()
        ),
        (Some(time), Some(n)) => format!("{n} I/Os a {each} or {} s", time.seconds()),
        (None, n) => format!("{} I/Os a {each}", n.unwrap_or(0)),
    };
    let window = job.window.map_or_else(String::new, |window| {
        format!(", energy over {} s", window.seconds())
    });
    let begins = match job.start_delay {
        Nanos::ZERO => String::new(),
        delay => format!(", begins after {} s", delay.seconds()),
    };
    let phases = match job.phases.len() {
        0 => String::new(),
        phases => format!(" of {phases} phases"),
    };
    let faults = if faults.is_empty() {
        String::new()
    } else {
        format!("\nwith faults {faults}")
    };
    let arrivals = match axes.values(Factor::RateIops) {
        [] | [_] => format!("{} loop", job.loop_name()),
        // A list of rates may include `max`, a closed loop.
        rates => format!("rate_iops {}", rates.join(",")),
    };
    let list = |factor, one: String| match axes.values(factor) {
        [] => one,
        values => values.join(","),
    };
    format!(
        "{}, bs {}, iodepth {}{of_each}, numjobs {}{}, {arrivals}{phases}, {length}{window}{begins}\non {}{faults}",
        list(Factor::Rw, job.rw.to_string()),
        list(Factor::Bs, job.bs.to_string()),
        list(Factor::IoDepth, job.iodepth.to_string()),
        list(Factor::NumJobs, job.numjobs.to_string()),
        match job.kind {
            JobKind::Thread => "",
            JobKind::Process => " (processes)",
        },
        listed(devices)
    )
}

/// Shortens `names` of equal devices that `count=` created: `emulated:instant#0-6`.
fn listed(names: &[&str]) -> String {
    let mut listed: Vec<(&str, Option<&str>, Option<&str>)> = Vec::new();
    for name in names {
        let (base, number) = match name.rsplit_once('#') {
            Some((base, number)) => (base, Some(number)),
            None => (*name, None),
        };
        match listed.last_mut() {
            Some((before, Some(_), last)) if *before == base && number.is_some() => *last = number,
            _ => listed.push((base, number, None)),
        }
    }
    let listed = listed
        .into_iter()
        .map(|(base, first, last)| match (first, last) {
            (None, _) => base.to_owned(),
            (Some(first), None) => format!("{base}#{first}"),
            (Some(first), Some(last)) => format!("{base}#{first}-{last}"),
        });
    listed.collect::<Vec<_>>().join(", ")
}

/// Counts of CPU work per I/O.
const COUNTS: [&str; 6] = [
    "CPU us/IO",
    "polls/IO",
    "intr/IO",
    "cs/IO",
    "wakes/IO",
    "sleeps/IO",
];

/// Columns of the energy figure with which runs are compared.
const ENERGY: [&str; 3] = ["W", "uJ/IO", "IO/J"];

/// Returns the headings of the table's figures, without the marks of modelled ones.
pub fn headings() -> impl Iterator<Item = &'static str> {
    let light = LIGHT.iter().map(|(name, _)| *name);
    sides::NAMES
        .into_iter()
        .chain(COUNTS)
        .chain(light)
        .chain(ENERGY)
}

/// Formats all runs, one a line, and their energy figures, one a line.
pub fn table(varied: &Varied, records: &[&RunRecord], chosen: &Chosen) -> String {
    let runs: Vec<_> = records.iter().map(|record| &record.result).collect();
    let column = EnergyColumn::of(&runs);
    let star = column.as_ref().map_or("", EnergyColumn::star);
    let energy = ENERGY.map(|name| format!("{name}{star}"));
    let light: Vec<_> = LIGHT
        .iter()
        .filter(|(_, count)| {
            runs.iter()
                .flat_map(|run| &run.counts)
                .any(|c| count(&c.wait) > 0)
        })
        .collect();
    let modelled = runs.iter().any(|run| run.modelled);
    let mark = if modelled { "*" } else { "" };
    let names = sides::NAMES.into_iter().chain(COUNTS);
    let names = names.chain(light.iter().map(|(name, _)| *name));
    let names = names.map(|name| format!("{name}{mark}"));
    let first = varied.names().chain(once("completion".into()));
    let header: Vec<String> = first.chain(names).chain(energy).collect();
    let stands = |heading: &str| {
        let rare = sides::RARE.iter().any(|rare| heading.starts_with(rare));
        *chosen != Chosen::Fitting || !rare
    };
    let standing: Vec<bool> = header.iter().map(|heading| stands(heading)).collect();
    let mut rows = Vec::new();
    for record in records {
        if let Some(counts) = &record.result.counts {
            let figure = column.as_ref().and_then(|column| column.figure(counts));
            let place = varied.values(&record.point).into_iter();
            let name = place.chain(once(run_name(&record.result)));
            let light = light
                .iter()
                .map(|(_, count)| per_io(count(&counts.wait), counts));
            let cells = name.chain(cells(&record.result, counts)).chain(light);
            let cells = cells.chain(watts(figure)).zip(&standing);
            rows.push(cells.filter_map(|(cell, stands)| stands.then_some(cell)));
        }
    }
    let header = header.into_iter().filter(|heading| stands(heading));
    let mut text = chosen_columns(header, rows, 1 + varied.count(), chosen);
    text.extend(sides::table(varied, records));
    let mut below = String::new();
    for note in notes(varied, records) {
        // Writing to a string cannot fail.
        let _ = writeln!(below, "{note}");
    }
    if modelled {
        below.push_str("*: modelled, in virtual time; the same seed gives the same figures.\n");
    }
    if !below.is_empty() {
        text.push('\n');
        text.push_str(&below);
    }
    energy_table(varied, records, column.as_ref(), &mut text);
    text
}

/// A column that few runs have, and its counter.
type Count = (&'static str, fn(&WaitCounters) -> u64);

/// Counters of user-level waits.
const LIGHT: [Count; 3] = [
    ("pauses/IO", |wait| wait.pauses),
    ("umwaits/IO", |wait| wait.monitors),
    ("uintr/IO", |wait| wait.user_interrupts),
];

fn per_io(count: u64, counts: &Counts) -> String {
    format!("{:.3}", count as f64 / counts.all.ios.max(1) as f64)
}

fn cells(run: &RunResult, counts: &Counts) -> impl Iterator<Item = String> {
    let ios = counts.all.ios.max(1) as f64;
    let cpu = counts.threads.submitter.user_seconds + counts.threads.submitter.system_seconds;
    let mut more = [
        format!("{:.2}", cpu * 1e6 / ios),
        format!("{:.1}", counts.wait.polls as f64 / ios),
        counts
            .interrupts()
            .map_or_else(|| "-".into(), |count| per_io(count, counts)),
        per_io(counts.threads.submitter.voluntary_switches, counts),
        per_io(counts.wait.wakes, counts),
        per_io(counts.wait.sleeps, counts),
    ];
    if run.is_external() {
        // How another program waits is not known.
        more[1..].fill_with(|| "-".into());
    }
    sides::cells(&counts.all).into_iter().chain(more)
}

fn watts(figure: Option<&EnergyResult>) -> [String; 3] {
    let none = || "-".to_string();
    let Some(figure) = figure else {
        return [none(), none(), none()];
    };
    [
        format!("{:.1}", figure.watts),
        figure
            .joules_per_io
            .map_or_else(none, |joules| format!("{:.1}", joules * 1e6)),
        figure
            .ios_per_joule
            .map_or_else(none, |ios| format!("{ios:.0}")),
    ]
}
