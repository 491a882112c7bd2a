//! Notes on runs: unavailable modes, and problems.

use super::mostly;
use super::run_name::{SPOILED, mode_name, run_name};
use super::varied::Varied;
use crate::record::RunRecord;
use joulio_units::{CpuList, Slo};
use joulio_workload::{Counts, LatencySummary, Placement, RunResult};
use std::collections::BTreeSet;

/// Share of a disk's I/Os that other threads than the jobs' dispatched, from which on it is reported. I/Os of other
/// programs are included.
const MANY: f64 = 0.1;

/// Number of runs from which on equal notes are shown once, with the number of runs.
const FEW: usize = 12;

/// A note on a run.
struct Note {
    /// Prefix that names the run.
    on: String,
    /// Kind of the note: notes of the same kind on several runs are shown together.
    kind: String,
    text: String,
}

/// Returns notes on the runs of `records`, one a line.
pub fn notes(varied: &Varied, records: &[&RunRecord]) -> Vec<String> {
    // A note on a section is not repeated in the row of all sections together.
    let mut said: Vec<String> = Vec::new();
    let of_runs = records.iter().flat_map(|record| {
        let prefix = varied.prefix(record);
        let mut notes = of_run(&record.result);
        if record.result.sections.is_empty() {
            said.extend(notes.iter().map(|note| note.text.clone()));
        } else {
            notes.retain(|note| !said.contains(&note.text));
            said.clear();
        }
        notes.into_iter().map(move |note| Note {
            on: prefix.clone() + &note.on,
            ..note
        })
    });
    let mut notes = lines(of_runs.collect(), records.len());
    let runs = || records.iter().map(|record| &record.result);
    if runs().any(|run| !run.spoiled.is_empty()) {
        notes.push(format!(
            "{SPOILED}: spoiled: its figures are the machine's doing, not the completion mode's."
        ));
    }
    let mut counts = runs().filter_map(|run| run.counts.as_ref());
    let threads = counts.find_map(|counts| {
        let threads = counts.threads.device.threads;
        (threads > 0).then_some(threads)
    });
    notes.extend(threads.map(|threads| {
        let threads = match threads {
            1 => "a thread".into(),
            many => format!("{many} threads"),
        };
        format!(
            "The emulated device ran on {threads} of this machine; CPU us/IO is the jobs' alone."
        )
    }));
    notes
}

/// Returns the meters that have no figure for a run, with the reasons, one a line.
pub fn unmetered(varied: &Varied, records: &[&RunRecord]) -> Vec<String> {
    let notes = records.iter().flat_map(|record| {
        let run = &record.result;
        let on = varied.prefix(record) + &run_name(run);
        let meters = run.counts.iter().flat_map(|counts| &counts.unmetered);
        meters.map(move |meter| {
            let text = format!("{}: {}", meter.meter, meter.why);
            Note {
                on: on.clone(),
                kind: text.clone(),
                text,
            }
        })
    });
    lines(notes.collect(), records.len())
}

/// Returns the lines of `notes` on `runs` runs: for many runs, the first of each kind and the number of the others.
fn lines(notes: Vec<Note>, runs: usize) -> Vec<String> {
    if runs <= FEW {
        let lines = notes.into_iter();
        return lines
            .map(|note| format!("{}: {}", note.on, note.text))
            .collect();
    }
    let mut kinds: Vec<(Note, usize)> = Vec::new();
    for note in notes {
        match kinds.iter_mut().find(|(first, _)| first.kind == note.kind) {
            Some((_, more)) => *more += 1,
            None => kinds.push((note, 0)),
        }
    }
    let lines = kinds.into_iter().map(|(note, more)| match more {
        0 => format!("{}: {}", note.on, note.text),
        more => format!("{} and {more} more run(s): {}", note.on, note.text),
    });
    lines.collect()
}

/// Returns a note if CPUs, buffers and those devices whose node is known are on more than one NUMA node.
fn nodes(placement: &Placement) -> Option<String> {
    let name = |nodes: &BTreeSet<u32>| match nodes.is_empty() {
        true => "?".into(),
        false => nodes
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(" and "),
    };
    placement.is_split().then(|| {
        format!(
            "NUMA nodes differ: the job's CPU is of {}, its buffers of {}, the device of {}: --numa NODE has CPUs and buffers on one node",
            name(&placement.cpu_nodes),
            name(&placement.memory_nodes),
            name(&placement.device_nodes)
        )
    })
}

/// Returns a note if interrupts may have been taken by another CPU than the job's, because they were not directed there.
fn elsewhere(placement: &Placement) -> Option<String> {
    let why = placement.interrupts_elsewhere.as_ref()?;
    let cpus: CpuList = placement.interrupt_cpus.iter().copied().collect();
    Some(match cpus.is_empty() {
        true => format!("interrupts may come to another CPU than the job's: {why}"),
        false => {
            format!("interrupts come to CPU {cpus}, which may be another than the job's: {why}")
        }
    })
}

fn of_run(run: &RunResult) -> Vec<Note> {
    let requested = mode_name(run, &run.completion.requested);
    let mut notes = Vec::new();
    let mut add = |on: &str, kind: &str, text: String| {
        notes.push(Note {
            on: on.to_owned(),
            kind: kind.to_owned(),
            text,
        });
    };
    if let Some(reason) = &run.completion.reason {
        let effective = run.completion.effective.as_deref();
        let effective = effective.map_or("unavailable".into(), |mode| format!("effective: {mode}"));
        add(&requested, reason, format!("{effective}: {reason}"));
    }
    for spoiled in &run.spoiled {
        let kind = format!("spoiled {:?}", spoiled.by);
        add(&requested, &kind, format!("spoiled: {}", spoiled.why));
    }
    if let Some(past) = run.past_tdp {
        add(&requested, "past TDP", past.to_string());
    }
    let mode = &run.completion.requested;
    if run.interrupted {
        add(mode, "ended early", "ended early".into());
    }
    let Some(counts) = &run.counts else {
        return notes;
    };
    let failed = counts.errors();
    let failed = (failed > 0).then(|| format!("{failed} I/Os failed"));
    for (kind, text) in [
        ("failed", failed),
        ("troubles", troubles(counts)),
        ("late", late(counts)),
        ("nodes", nodes(&counts.placement)),
        ("interrupts elsewhere", elsewhere(&counts.placement)),
    ] {
        text.into_iter().for_each(|text| add(mode, kind, text));
    }
    let chose = run.completion.effective.as_deref() == Some("adaptive");
    let mostly = chose.then(|| mostly::text(counts)).flatten();
    let mostly = mostly.map(|text| match &run.planned_by {
        Some(machine) => format!("{text}; planned by the costs of {machine}"),
        None => text,
    });
    let promised = run.slo.filter(|_| chose && counts.all.ios > 0);
    let broken = promised.and_then(|slo| broken(slo, &counts.all.latency_ns));
    for (kind, text) in [
        ("mostly", mostly),
        ("promise", broken),
        ("dispatch", dispatch(counts)),
        ("poller", poller(counts)),
    ] {
        text.into_iter()
            .for_each(|text| add(&requested, kind, text));
    }
    for (kind, text) in [
        ("window", window(counts)),
        ("steady state", steady_state(counts)),
        ("verified", verified(counts)),
    ] {
        text.into_iter().for_each(|text| add(mode, kind, text));
    }
    notes
}

/// Returns a note if `latency` breaks the promise `slo`, which also says whether any completion mode could keep it.
fn broken(slo: Slo, latency: &LatencySummary) -> Option<String> {
    let us = |ns: u64| format!("{:.2} us", ns as f64 / 1e3);
    let mut limits = slo.limits().iter();
    let (limit, took) = limits.find_map(|limit| {
        let took = latency.percentile(limit.percentile)?;
        (took > limit.latency.0).then_some((limit, took))
    })?;
    let percentile = limit.percentile;
    let promise = Slo::of(percentile, limit.latency);
    let mut text = format!(
        "--slo {promise} was not kept: {percentile} was {}",
        us(took)
    );
    if let Some(shortest) = latency.min.filter(|min| *min > limit.latency.0) {
        text += &format!(
            ", and polling could not keep it either: the shortest I/O took {}: promise more",
            us(shortest)
        );
    }
    Some(text)
}

/// Returns a note if arrivals were not issued, or came faster than I/Os completed.
fn late(counts: &Counts) -> Option<String> {
    const SLOW: &str = "the device does not keep up at this iodepth";
    match (counts.arrivals_not_issued, counts.falls_behind) {
        (0, false) => None,
        (0, true) => Some(format!(
            "{SLOW}: each I/O waits longer than the one before it"
        )),
        (arrivals, true) => Some(format!("{arrivals} arrivals were never issued: {SLOW}")),
        (arrivals, false) => Some(format!(
            "{arrivals} arrivals were still waiting to be issued at the end"
        )),
    }
}

/// Returns a note on how the work filled its window, if the run had one.
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

/// Describes whether the run reached the steady state that should end it.
fn steady_state(counts: &Counts) -> Option<String> {
    let steady = counts.steady_state.as_ref()?;
    let unit = if steady.ss.ends_with('%') { " %" } else { "" };
    let value = match steady.criterion {
        Some(value) => format!(
            "{value:.2}{unit} over the last {} s",
            steady.duration_seconds
        ),
        None => format!("no {} s were measured", steady.duration_seconds),
    };
    Some(match steady.seconds {
        Some(seconds) => format!(
            "steady state {} attained after {seconds:.1} s: {value}",
            steady.ss
        ),
        None => format!("steady state {} not attained: {value}", steady.ss),
    })
}

fn verified(counts: &Counts) -> Option<String> {
    let verify = counts.verify.as_ref()?;
    Some(format!(
        "{} blocks verified, {} wrong",
        verify.blocks, verify.errors
    ))
}

/// Returns a note if other threads than the jobs' dispatched I/Os, which makes schedulers incomparable.
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

/// Returns a note on the CPU time of the kernel's own threads.
fn poller(counts: &Counts) -> Option<String> {
    let usage = counts.threads.kernel;
    let cpu = usage.user_seconds + usage.system_seconds;
    (usage.threads > 0).then(|| {
        let threads = match usage.threads {
            1 => "thread".into(),
            many => format!("{many} threads"),
        };
        format!(
            "the kernel's {threads} used {:.2} CPU us/IO beside the jobs",
            cpu * 1e6 / counts.all.ios.max(1) as f64
        )
    })
}

/// Returns a note on faults of the device, if there were any.
fn troubles(counts: &Counts) -> Option<String> {
    let (faults, wait) = (&counts.faults, &counts.wait);
    let all = [
        (faults.timeouts, "commands aborted after their timeout"),
        (faults.resets, "controller resets"),
        (faults.ended_by_reset, "commands ended by a reset"),
        (faults.retries, "commands sent again"),
        (
            faults.vectors_rewritten,
            "interrupt vectors that another program wrote, and that were set again",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use joulio_workload::{CompletionMode, parse_slo};

    #[test]
    fn adaptive_says_by_whose_costs_it_planned() {
        let mut result = sample::run(CompletionMode::Adaptive, 1, 1, 1_000.0, 40.0).result;
        let said = |result: &RunResult| -> Vec<String> {
            of_run(result).into_iter().map(|note| note.text).collect()
        };
        let polled = "100 % of I/Os by polling";
        assert_eq!(said(&result), [polled]);
        result.planned_by = Some("generic-server".into());
        let planned = format!("{polled}; planned by the costs of generic-server");
        assert_eq!(said(&result), [planned]);
    }

    #[test]
    fn interrupts_that_are_not_directed_are_said_to_come_elsewhere() {
        let mut at = Placement {
            interrupt_cpus: [2, 3, 7].into(),
            ..Placement::default()
        };
        assert_eq!(elsewhere(&at), None);
        at.interrupts_elsewhere = Some("not bound".into());
        let said = "interrupts come to CPU 2-3,7, which may be another than the job's: not bound";
        assert_eq!(elsewhere(&at).as_deref(), Some(said));
        at.interrupt_cpus.clear();
        let said = "interrupts may come to another CPU than the job's: not bound";
        assert_eq!(elsewhere(&at).as_deref(), Some(said));
    }

    #[test]
    fn a_promise_that_was_not_kept_is_said_and_whether_it_could_be() {
        let slo = parse_slo("p99=15us,p99.9=40us").unwrap();
        let mut latency = LatencySummary {
            min: Some(8_100),
            p99: 15_000,
            p999: 40_000,
            ..LatencySummary::default()
        };
        assert_eq!(broken(slo, &latency), None);
        latency.p999 = 41_250;
        let said = "--slo p99.9=40us was not kept: p99.9 was 41.25 us";
        assert_eq!(broken(slo, &latency).as_deref(), Some(said));
        let slo = parse_slo("p99=1us").unwrap();
        let said = "--slo p99=1us was not kept: p99 was 15.00 us, and polling could not keep it either: \
                    the shortest I/O took 8.10 us: promise more";
        assert_eq!(broken(slo, &latency).as_deref(), Some(said));
        // Results of before this have no shortest one, and percentiles that are not kept cannot be judged.
        latency.min = None;
        let said = "--slo p99=1us was not kept: p99 was 15.00 us";
        assert_eq!(broken(slo, &latency).as_deref(), Some(said));
        assert_eq!(broken(parse_slo("p95=1us").unwrap(), &latency), None);
    }
}
