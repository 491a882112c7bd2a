//! Progress of a grid.

use crate::failure::say;
use crate::progress::bar;
use indicatif::{HumanDuration, ProgressBar};

/// Progress of a grid: a bar on a terminal; elsewhere, if there are many scenarios, a line for each 5 %.
pub struct GridProgress {
    bar: ProgressBar,
    lines: bool,
    /// Number of 5 % steps that were reported.
    reported: u64,
}

impl GridProgress {
    const LINES: u64 = 20;
    /// Number of scenarios up to which no lines are printed.
    const FEW: usize = 1_000;

    /// Starts the progress of a grid of `all` scenarios, of which `done` are done.
    pub fn new(all: usize, done: usize) -> GridProgress {
        let template = "[{bar:40}] {pos}/{len} scenarios  {elapsed}, {eta} left";
        let bar = bar(all as u64, template);
        bar.set_position(done as u64);
        bar.reset_eta();
        GridProgress {
            lines: bar.is_hidden() && all > GridProgress::FEW,
            reported: GridProgress::LINES * done as u64 / (all as u64).max(1),
            bar,
        }
    }

    /// Reports that `done` scenarios are done.
    pub fn set(&mut self, done: usize) {
        self.bar.set_position(done as u64);
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let part = GridProgress::LINES * done / all.max(1);
        if self.lines && part > self.reported {
            self.reported = part;
            let [elapsed, left] = [self.bar.elapsed(), self.bar.eta()].map(HumanDuration);
            say(&format!(
                "{done} of {all} scenarios after {elapsed}, about {left} left"
            ));
        }
    }
}

impl Drop for GridProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
