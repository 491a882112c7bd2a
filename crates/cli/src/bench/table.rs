//! The table for people: what the runs did, and what did not go as requested.

use super::figures::{Column, energy_table};
use super::run_name::{SPOILED, name, with_engine};
use super::{mostly, sides};
use crate::columns::aligned;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use joulio_emulator::FaultPlan;
use joulio_workload::{Counts, EnergyResult, Job, JobKind, RunResult, WaitCounters};
use std::fmt::Write;
use std::iter::once;

/// Returns the heading: what is about to run.
pub fn heading(job: &Job, names: &[&str], faults: &FaultPlan) -> String {
    let length = match (job.runtime, job.number_ios) {
        (Some(time), None) => format!(
            "{} s after a ramp of {} s",
            time.seconds(),
            job.ramp_time.seconds()
        ),
        (Some(time), Some(n)) => format!("{n} I/Os a job or {} s", time.seconds()),
        (None, n) => format!("{} I/Os a job", n.unwrap_or(0)),
    };
    let window = job.window.map_or_else(String::new, |window| {
        format!(", energy over {} s", window.seconds())
    });
    let phases = match job.phases.len() {
        0 => String::new(),
        phases => format!(" of {phases} phases"),
    };
    let faults = if faults.is_empty() {
        String::new()
    } else {
        format!("\nwith faults {faults}")
    };
    format!(
        "{}, bs {}, iodepth {}, numjobs {}{}, {} loop{phases}, {length}{window}\non {}{faults}\n\n",
        job.rw,
        job.bs,
        job.iodepth,
        job.numjobs,
        match job.kind {
            JobKind::Thread => "",
            JobKind::Process => " (processes)",
        },
        job.loop_name(),
        names.join(", ")
    )
}

/// All runs, a line each; their energy, a line each figure.
pub fn table(runs: &[RunResult]) -> String {
    let column = Column::of(runs);
    let mut table = Table::new();
    table.load_style(NOTHING);
    let star = column.as_ref().map_or("", Column::star);
    let energy = ["W", "uJ/IO", "IO/J"].map(|name| format!("{name}{star}"));
    let names = [
        "CPU us/IO",
        "polls/IO",
        "intr/IO",
        "cs/IO",
        "wakes/IO",
        "sleeps/IO",
    ];
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
    let names = sides::NAMES.into_iter().chain(names);
    let names = names.chain(light.iter().map(|(name, _)| *name));
    let names = names.map(|name| format!("{name}{mark}"));
    table.set_header(once("completion".into()).chain(names).chain(energy));
    for run in runs {
        if let Some(counts) = &run.counts {
            let figure = column.as_ref().and_then(|column| column.figure(counts));
            let name = once(name(run));
            let light = light
                .iter()
                .map(|(_, count)| per_io(count(&counts.wait), counts));
            let cells = name.chain(cells(counts)).chain(light);
            table.add_row(cells.chain(watts(figure)));
        }
    }
    let mut text = aligned(&mut table, 1);
    text.extend(sides::table(runs));
    let mut below = String::new();
    notes(runs, &mut below);
    if modelled {
        below.push_str("*: modelled, in virtual time; the same seed gives the same figures.\n");
    }
    if !below.is_empty() {
        text.push('\n');
        text.push_str(&below);
    }
    energy_table(runs, column.as_ref(), &mut text);
    text
}

/// A column of something that few runs have, and what it counts.
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

fn cells(counts: &Counts) -> impl Iterator<Item = String> {
    let ios = counts.all.ios.max(1) as f64;
    let cpu = counts.threads.submitter.user_seconds + counts.threads.submitter.system_seconds;
    let more = [
        format!("{:.2}", cpu * 1e6 / ios),
        format!("{:.1}", counts.wait.polls as f64 / ios),
        counts
            .interrupts()
            .map_or_else(|| "-".into(), |count| per_io(count, counts)),
        per_io(counts.threads.submitter.voluntary_switches, counts),
        per_io(counts.wait.wakes, counts),
        per_io(counts.wait.sleeps, counts),
    ];
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

/// Writes what the table does not say: what was unavailable, and what went wrong.
fn notes(runs: &[RunResult], text: &mut String) {
    for run in runs {
        let requested = with_engine(run, &run.completion.requested);
        if let Some(reason) = &run.completion.reason {
            let effective = run.completion.effective.as_deref();
            let effective =
                effective.map_or("unavailable".into(), |mode| format!("effective: {mode}"));
            let _ = writeln!(text, "{requested}: {effective}: {reason}");
        }
        for spoiled in &run.spoiled {
            let _ = writeln!(text, "{requested}: spoiled: {}", spoiled.why);
        }
        if let Some(past) = run.past_tdp {
            let _ = writeln!(text, "{requested}: {past}");
        }
        if run.interrupted {
            let _ = writeln!(text, "{}: ended early", run.completion.requested);
        }
        let Some(counts) = &run.counts else { continue };
        if counts.all.errors > 0 {
            let _ = writeln!(
                text,
                "{}: {} I/Os failed",
                run.completion.requested, counts.all.errors
            );
        }
        if let Some(note) = troubles(counts) {
            let _ = writeln!(text, "{}: {note}", run.completion.requested);
        }
        if counts.arrivals_not_issued > 0 {
            let why = match counts.falls_behind {
                true => "never issued: the device does not keep up at this iodepth",
                false => "still waiting to be issued at the end",
            };
            let _ = writeln!(
                text,
                "{}: {} arrivals were {why}",
                run.completion.requested, counts.arrivals_not_issued
            );
        }
        let chose = run.completion.effective.as_deref() == Some("adaptive");
        let mostly = chose.then(|| mostly::text(counts)).flatten();
        for note in [mostly, dispatch(counts), poller(counts)]
            .into_iter()
            .flatten()
        {
            let _ = writeln!(text, "{requested}: {note}");
        }
        if let Some(window) = &counts.window {
            let note = if window.fits {
                format!(
                    "done after {:.3} s, then idle for {:.3} s",
                    counts.seconds, window.idle_seconds
                )
            } else {
                format!(
                    "took {:.3} s: the work does not fit into the window of {} s",
                    counts.seconds, window.requested_seconds
                )
            };
            let _ = writeln!(text, "{}: {note}", run.completion.requested);
        }
        if let Some(verify) = &counts.verify {
            let _ = writeln!(
                text,
                "{}: {} blocks verified, {} wrong",
                run.completion.requested, verify.blocks, verify.errors
            );
        }
    }
    if runs.iter().any(|run| !run.spoiled.is_empty()) {
        let _ = writeln!(
            text,
            "{SPOILED}: spoiled: its figures are the machine's doing, not the completion mode's."
        );
    }
    let mut counts = runs.iter().filter_map(|run| run.counts.as_ref());
    let threads = counts.find_map(|counts| {
        let threads = counts.threads.device.threads;
        (threads > 0).then_some(threads)
    });
    if let Some(threads) = threads {
        let _ = writeln!(
            text,
            "The emulated device ran on {threads} thread(s) of this machine; CPU us/IO is the jobs' alone.",
        );
    }
}

/// Returns who dispatched, where that was not the jobs: it confounds any comparison of schedulers.
fn dispatch(counts: &Counts) -> Option<String> {
    /// The rest of the machine's I/Os are among them.
    const MANY: f64 = 0.1;
    if counts.threads.kernel.threads > 0 {
        return None;
    }
    let dispatch = counts.machine.dispatch?;
    let all = dispatch.by_jobs + dispatch.by_others;
    let part = dispatch.by_others as f64 / all.max(1) as f64;
    (part > MANY).then(|| {
        format!(
            "{:.0} % of the disk's I/Os were dispatched by others than the jobs: workers of the kernel, other programs",
            100.0 * part
        )
    })
}

/// Returns the CPU time of the kernel's own threads.
fn poller(counts: &Counts) -> Option<String> {
    let usage = counts.threads.kernel;
    let cpu = usage.user_seconds + usage.system_seconds;
    (usage.threads > 0).then(|| {
        format!(
            "the kernel's {} thread(s) used {:.2} CPU us/IO beside the jobs",
            usage.threads,
            cpu * 1e6 / counts.all.ios.max(1) as f64
        )
    })
}

/// Returns the faults of the device, if there were any.
fn troubles(counts: &Counts) -> Option<String> {
    let (faults, wait) = (&counts.faults, &counts.wait);
    let all = [
        (faults.timeouts, "commands aborted for their time"),
        (faults.resets, "controller resets"),
        (faults.ended_by_reset, "commands ended by a reset"),
        (faults.retries, "commands sent again"),
        (
            faults.vectors_rewritten,
            "interrupt vectors written by somebody else, and set again",
        ),
        (wait.lost_interrupts, "interrupts lost"),
        (faults.stale_completions, "stale completions"),
        (faults.doubled_completions, "doubled completions"),
        (faults.unknown_completions, "unknown completions"),
    ];
    let happened = all.iter().filter(|(count, _)| *count > 0);
    let happened: Vec<_> = happened
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!happened.is_empty()).then(|| happened.join(", "))
}
