//! What is to be known of runs beside their figures: what was unavailable, and what went wrong.

use super::mostly;
use super::run_name::{SPOILED, mode_name};
use joulio_workload::{Counts, RunResult};

/// Share of a disk's I/Os that others than the jobs dispatched, from which on it is told: the rest of
/// the machine's I/Os are among them.
const MANY: f64 = 0.1;

/// What is to be known of `runs` beside their figures, a line each.
pub fn notes(runs: &[RunResult]) -> Vec<String> {
    let mut notes: Vec<String> = runs.iter().flat_map(of_run).collect();
    if runs.iter().any(|run| !run.spoiled.is_empty()) {
        notes.push(format!(
            "{SPOILED}: spoiled: its figures are the machine's doing, not the completion mode's."
        ));
    }
    let mut counts = runs.iter().filter_map(|run| run.counts.as_ref());
    let threads = counts.find_map(|counts| {
        let threads = counts.threads.device.threads;
        (threads > 0).then_some(threads)
    });
    notes.extend(threads.map(|threads| {
        format!(
            "The emulated device ran on {threads} thread(s) of this machine; CPU us/IO is the jobs' alone."
        )
    }));
    notes
}

/// Notes on one run: those on how it came about, then those on its figures.
fn of_run(run: &RunResult) -> Vec<String> {
    let requested = mode_name(run, &run.completion.requested);
    let mode = &run.completion.requested;
    let mut notes = Vec::new();
    if let Some(reason) = &run.completion.reason {
        let effective = run.completion.effective.as_deref();
        let effective = effective.map_or("unavailable".into(), |mode| format!("effective: {mode}"));
        notes.push(format!("{requested}: {effective}: {reason}"));
    }
    for spoiled in &run.spoiled {
        notes.push(format!("{requested}: spoiled: {}", spoiled.why));
    }
    if let Some(past) = run.past_tdp {
        notes.push(format!("{requested}: {past}"));
    }
    if run.interrupted {
        notes.push(format!("{mode}: ended early"));
    }
    let Some(counts) = &run.counts else {
        return notes;
    };
    let failed = counts.all.errors;
    let failed = (failed > 0).then(|| format!("{failed} I/Os failed"));
    let arrivals = [failed, troubles(counts), late(counts)];
    notes.extend(
        arrivals
            .into_iter()
            .flatten()
            .map(|note| format!("{mode}: {note}")),
    );
    let chose = run.completion.effective.as_deref() == Some("adaptive");
    let mostly = chose.then(|| mostly::text(counts)).flatten();
    let threads = [mostly, dispatch(counts), poller(counts)];
    let threads = threads.into_iter().flatten();
    notes.extend(threads.map(|note| format!("{requested}: {note}")));
    let ends = [window(counts), verified(counts)];
    notes.extend(
        ends.into_iter()
            .flatten()
            .map(|note| format!("{mode}: {note}")),
    );
    notes
}

/// Arrivals that were never issued, if there were any.
fn late(counts: &Counts) -> Option<String> {
    let why = match counts.falls_behind {
        true => "never issued: the device does not keep up at this iodepth",
        false => "still waiting to be issued at the end",
    };
    let arrivals = counts.arrivals_not_issued;
    (arrivals > 0).then(|| format!("{arrivals} arrivals were {why}"))
}

/// How the work fitted into its window, if it had one.
fn window(counts: &Counts) -> Option<String> {
    let window = counts.window.as_ref()?;
    let seconds = counts.seconds;
    Some(match window.fits {
        true => format!(
            "done after {seconds:.3} s, then idle for {:.3} s",
            window.idle_seconds
        ),
        false => format!(
            "took {seconds:.3} s: the work does not fit into the window of {} s",
            window.requested_seconds
        ),
    })
}

fn verified(counts: &Counts) -> Option<String> {
    let verify = counts.verify.as_ref()?;
    Some(format!(
        "{} blocks verified, {} wrong",
        verify.blocks, verify.errors
    ))
}

/// Returns who dispatched, where that was not the jobs: it confounds any comparison of schedulers.
fn dispatch(counts: &Counts) -> Option<String> {
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
