//! Progress of a bench.

use crate::failure::say;
use crate::progress::bar;
use indicatif::ProgressBar;
use joulio_lab::experiment::Observer;
use joulio_workload::{Job, Method};
use std::sync::{Mutex, MutexGuard, PoisonError};

const STEPS: u64 = 1000;

/// The terminal of a bench: a bar for the run that goes on, notes on standard error.
#[derive(Default)]
pub struct BenchTerminal {
    bar: Mutex<Option<ProgressBar>>,
    /// Runs that are over, and all of them.
    place: Mutex<Option<(usize, usize)>>,
    quiet: bool,
}

impl BenchTerminal {
    /// A terminal that shows neither progress nor notes if `quiet`.
    pub fn new(quiet: bool) -> BenchTerminal {
        BenchTerminal {
            quiet,
            ..BenchTerminal::default()
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for BenchTerminal {
    fn planned(&self, over: usize, all: usize) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some((over, all));
    }

    fn begin(&self, method: Method, job: &Job) {
        if self.quiet {
            return;
        }
        let place = *self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let place = place.filter(|(_, all)| *all > 1);
        let place = place.map_or_else(String::new, |(over, all)| format!("{}/{all} ", over + 1));
        let Method { engine, mode } = method;
        let bar = bar(STEPS, "{msg:<10} [{bar:40}] {percent:>3} %  {elapsed}");
        bar.set_message(format!("{place}{engine} {mode} {}", job.rw));
        *self.bar() = Some(bar);
    }

    fn progress(&self, fraction: f64) {
        if let Some(bar) = &*self.bar() {
            bar.set_position((fraction * STEPS as f64) as u64);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            say(line);
        }
    }
}
