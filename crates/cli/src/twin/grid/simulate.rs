//! Simulating what is not done yet.

use super::state::State;
use crate::failure::{Failure, say};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use joulio_model::DeviceProfile;
use joulio_twin::TwinError;
use joulio_twin::grid::{GridError, Scenario, Sweep, View};
use joulio_workload::Stop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Simulates every one of `scenarios` that `state` does not have, until `stop`.
pub fn simulate(
    sweep: &Sweep,
    scenarios: &[(&Scenario, &DeviceProfile)],
    views: &[View],
    threads: usize,
    state: &mut State,
    stop: &Stop,
) -> Result<(), Failure> {
    let open: Vec<_> = scenarios
        .iter()
        .filter(|(scenario, _)| !state.has(scenario))
        .collect();
    let mut bar = Progress::new(scenarios.len(), scenarios.len() - open.len());
    let next = AtomicUsize::new(0);
    let (rows, inbox) = channel();
    let simulated = thread::scope(|scope| {
        for _ in 0..threads.min(open.len()) {
            let (rows, next, open) = (rows.clone(), &next, &open);
            scope.spawn(move || {
                while !stop.stopped()
                    && let Some((scenario, device)) = open.get(next.fetch_add(1, Ordering::Relaxed))
                    && rows
                        .send((*scenario, sweep.simulate(scenario, device, views)))
                        .is_ok()
                {}
            });
        }
        drop(rows);
        for (scenario, rows) in inbox {
            let rows = match rows {
                Err(GridError::Twin(TwinError::Stopped)) => continue,
                rows => rows.map_err(Failure::input)?,
            };
            state.add(scenario, rows)?;
            bar.inc();
        }
        Ok(())
    });
    bar.end();
    simulated
}

/// Progress: a bar on a terminal, elsewhere a line each twentieth of many scenarios.
struct Progress {
    bar: ProgressBar,
    lines: bool,
    /// Twentieths told.
    told: u64,
}

impl Progress {
    const LINES: u64 = 20;
    /// So many scenarios are done before anybody asks.
    const FEW: usize = 1_000;

    fn new(all: usize, done: usize) -> Progress {
        let bar = ProgressBar::new(all as u64);
        // The template is a constant: it parses or the tests fail.
        let style =
            ProgressStyle::with_template("[{bar:40}] {pos}/{len} scenarios  {elapsed}, {eta} left");
        let bar = match style {
            Ok(style) => bar.with_style(style.progress_chars("=> ")),
            Err(_) => bar,
        };
        bar.set_position(done as u64);
        bar.reset_eta();
        Progress {
            lines: bar.is_hidden() && all > Progress::FEW,
            told: Progress::LINES * done as u64 / (all as u64).max(1),
            bar,
        }
    }

    fn inc(&mut self) {
        self.bar.inc(1);
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let part = Progress::LINES * done / all.max(1);
        if self.lines && part > self.told {
            self.told = part;
            let [elapsed, left] = [self.bar.elapsed(), self.bar.eta()].map(HumanDuration);
            say(&format!(
                "{done} of {all} scenarios after {elapsed}, about {left} left"
            ));
        }
    }

    fn end(self) {
        self.bar.finish_and_clear();
    }
}
