//! Progress on a terminal; silent elsewhere.

use crate::failure::say;
use indicatif::{ProgressBar, ProgressStyle};
use joulio_lab::experiment::Observer;
use joulio_workload::{Job, Method};
use std::sync::{Mutex, MutexGuard, PoisonError};

const STEPS: u64 = 1000;

struct Bar(ProgressBar);

impl Bar {
    fn new(method: Method, job: &Job, place: Option<(usize, usize)>) -> Bar {
        let bar = ProgressBar::new(STEPS);
        // The template is a constant: it parses or the tests fail.
        if let Ok(style) =
            ProgressStyle::with_template("{msg:<10} [{bar:40}] {percent:>3} %  {elapsed}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        let place = place.filter(|(_, all)| *all > 1);
        let place = place.map_or_else(String::new, |(over, all)| format!("{}/{all} ", over + 1));
        bar.set_message(format!(
            "{place}{} {} {}",
            method.engine, method.mode, job.rw
        ));
        Bar(bar)
    }

    fn set(&self, fraction: f64) {
        self.0.set_position((fraction * STEPS as f64) as u64);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The terminal of a bench: a bar for the run that goes on, notes on standard error.
#[derive(Default)]
pub struct BenchTerminal {
    bar: Mutex<Option<Bar>>,
    /// Runs that are over, and all of them.
    place: Mutex<Option<(usize, usize)>>,
}

impl BenchTerminal {
    fn bar(&self) -> MutexGuard<'_, Option<Bar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for BenchTerminal {
    fn planned(&self, over: usize, all: usize) {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some((over, all));
    }

    fn begin(&self, method: Method, job: &Job) {
        let place = *self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *self.bar() = Some(Bar::new(method, job, place));
    }

    fn progress(&self, fraction: f64) {
        if let Some(bar) = &*self.bar() {
            bar.set(fraction);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish();
        }
    }

    fn note(&self, line: &str) {
        say(line);
    }
}
