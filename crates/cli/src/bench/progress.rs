//! Progress on a terminal; silent elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use joulio_workload::{Job, Method};

const STEPS: u64 = 1000;

pub struct Bar(ProgressBar);

impl Bar {
    pub fn new(method: Method, job: &Job) -> Bar {
        let bar = ProgressBar::new(STEPS);
        // The template is a constant: it parses or the tests fail.
        if let Ok(style) =
            ProgressStyle::with_template("{msg:<10} [{bar:40}] {percent:>3} %  {elapsed}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(format!("{} {} {}", method.engine, method.mode, job.rw));
        Bar(bar)
    }

    pub fn set(&self, fraction: f64) {
        self.0.set_position((fraction * STEPS as f64) as u64);
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
