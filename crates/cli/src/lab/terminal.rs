//! Progress of a campaign on a terminal; elsewhere only notes are printed.

use crate::failure::say;
use crate::progress::bar;
use indicatif::ProgressBar;
use joulio_lab::campaign::CampaignObserver;
use joulio_lab::experiment::Observer;
use joulio_workload::{Member, RunProgress};
use std::sync::{Mutex, PoisonError};

/// A bar for all runs with the remaining time, and notes on standard error.
pub struct LabTerminal {
    bar: ProgressBar,
    sweep: Mutex<String>,
}

impl Default for LabTerminal {
    fn default() -> LabTerminal {
        LabTerminal {
            bar: bar(
                0,
                "{pos}/{len} [{bar:30}] {percent:>3} %  {elapsed} left {eta}  {msg}",
            ),
            sweep: Mutex::new(String::new()),
        }
    }
}

impl LabTerminal {
    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for LabTerminal {
    fn planned(&self, over: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(over as u64);
    }

    fn begin(&self, members: &[Member]) {
        let sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        for member in members {
            let message = format!("{sweep}: {member} {}", member.job.bs);
            self.bar.set_message(message);
        }
    }

    fn progress(&self, _: RunProgress) {
        self.bar.tick();
    }

    fn end(&self) {}

    fn note(&self, line: &str) {
        self.bar.suspend(|| say(line));
    }
}

impl CampaignObserver for LabTerminal {
    fn sweep(&self, name: &str, _: usize) {
        let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        name.clone_into(&mut sweep);
        self.bar.set_message(name.to_owned());
    }
}
