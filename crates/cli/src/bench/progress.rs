//! Progress of a bench.

use crate::failure::say;
use crate::progress::bar;
use indicatif::ProgressBar;
use joulio_lab::experiment::Observer;
use joulio_units::Nanos;
use joulio_workload::{Counts, Member, RunProgress, RunResult, section_name};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};

const STEPS: u64 = 1000;

/// Terminal of a bench: a bar for the current run, and notes on standard error.
#[derive(Default)]
pub struct BenchTerminal {
    bar: Mutex<Option<ProgressBar>>,
    /// Number of finished runs, and of all runs.
    place: Mutex<Option<(usize, usize)>>,
    quiet: bool,
    status: Mutex<Option<Status>>,
}

/// Figures of the current run, printed at intervals.
struct Status {
    interval: Nanos,
    /// Name of the run.
    name: String,
    /// Time of the measurement at which the next line is due.
    due: Nanos,
    /// Progress at the last line.
    last: RunProgress,
}

impl Status {
    fn new(interval: Nanos) -> Status {
        Status {
            interval,
            name: String::new(),
            due: interval,
            last: RunProgress::default(),
        }
    }

    /// Returns a line if one is due.
    fn line(&mut self, progress: RunProgress) -> Option<String> {
        if progress.measured < self.due {
            return None;
        }
        while self.due <= progress.measured {
            self.due += self.interval;
        }
        let per_second = |amount: u64, time: Nanos| amount as f64 / time.seconds();
        let last = self.last;
        let time = progress.measured.since(last.measured);
        self.last = progress;
        Some(format!(
            "{}: {:.1} s, {} I/Os: {:.0} IOPS, {:.1} MiB/s; in the last {:.1} s {:.0} IOPS",
            self.name,
            progress.measured.seconds(),
            progress.ios,
            per_second(progress.ios, progress.measured),
            per_second(progress.bytes, progress.measured) / (1 << 20) as f64,
            time.seconds(),
            per_second(progress.ios.saturating_sub(last.ios), time),
        ))
    }
}

impl BenchTerminal {
    /// Creates a terminal that shows a run's figures at each `interval`, and neither progress nor notes if `quiet`.
    pub fn new(quiet: bool, interval: Option<Nanos>) -> BenchTerminal {
        BenchTerminal {
            quiet,
            status: Mutex::new(interval.map(Status::new)),
            ..BenchTerminal::default()
        }
    }

    fn status(&self) -> MutexGuard<'_, Option<Status>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of finished runs and of all runs, if there are several.
    fn place_of_several(&self) -> Option<(usize, usize)> {
        let place = *self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.filter(|(_, all)| *all > 1)
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of a run of `members`: the method of a single one, or the names of sections.
fn name(members: &[Member]) -> String {
    match members {
        [member] => member.to_string(),
        members => {
            let names = members.iter().map(|member| member.name.clone());
            section_name(&names.collect::<Vec<_>>())
        }
    }
}

/// Describes a run's result in words; it is shown while the table is not complete yet.
fn measured(name: &str, counts: &Counts) -> String {
    let side = &counts.all;
    let us = |ns: f64| ns / 1e3;
    let latency = &side.latency_ns;
    format!(
        "{name}: {:.0} IOPS, mean {:.1} us, p99 {:.1} us",
        side.iops,
        us(latency.mean),
        us(latency.p99 as f64)
    )
}

impl Observer for BenchTerminal {
    fn planned(&self, over: usize, all: usize) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some((over, all));
    }

    fn begin(&self, members: &[Member]) {
        let name = name(members);
        if let Some(status) = &mut *self.status() {
            *status = Status {
                name: name.clone(),
                ..Status::new(status.interval)
            };
        }
        if self.quiet {
            return;
        }
        let place = self
            .place_of_several()
            .map_or_else(String::new, |(over, all)| format!("{}/{all} ", over + 1));
        let bar = bar(STEPS, "{msg:<10} [{wide_bar}] {percent:>3} %  {eta} left");
        bar.set_message(format!("{place}{name}"));
        *self.bar() = Some(bar);
    }

    fn progress(&self, progress: RunProgress) {
        let line = self
            .status()
            .as_mut()
            .and_then(|status| status.line(progress));
        let bar = self.bar();
        if let Some(bar) = &*bar {
            bar.set_position((progress.fraction * STEPS as f64) as u64);
        }
        match (line, &*bar) {
            (Some(line), Some(bar)) => bar.suspend(|| say(&line)),
            (Some(line), None) => say(&line),
            (None, _) => {}
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    /// Prints a line for a run as soon as it is measured: the table comes after all runs, because its widths depend on
    /// them.
    fn measured(&self, name: &str, result: &RunResult) {
        let several = self.place_of_several().is_some();
        // Simulated runs are too fast for it.
        let watched = several && !self.quiet && !result.modelled && stderr().is_terminal();
        if let Some(counts) = result.counts.as_ref().filter(|_| watched) {
            say(&measured(name, counts));
        }
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            say(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_each_interval_and_has_the_figures_since() {
        let mut status = Status::new(Nanos::from_millis(1_000));
        status.name = "psync interrupt read".into();
        let mut at = |ms: u64, ios: u64| {
            let progress = RunProgress {
                measured: Nanos::from_millis(ms),
                ios,
                bytes: ios << 20,
                ..RunProgress::default()
            };
            status.line(progress)
        };
        assert_eq!(at(900, 90), None);
        assert_eq!(
            at(1_000, 100).as_deref(),
            Some(
                "psync interrupt read: 1.0 s, 100 I/Os: 100 IOPS, 100.0 MiB/s; in the last 1.0 s 100 IOPS"
            )
        );
        assert_eq!(at(1_500, 150), None);
        // One line is printed for several missed ones.
        let line = at(4_000, 1_000).expect("a line");
        assert!(
            line.ends_with("4.0 s, 1000 I/Os: 250 IOPS, 250.0 MiB/s; in the last 3.0 s 300 IOPS"),
            "{line}"
        );
        assert_eq!(at(4_999, 1_000), None);
    }
}
