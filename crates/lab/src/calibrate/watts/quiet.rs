//! Disturbances of a calibration of watts by other programs.

use super::error::WattsError;
use crate::calibrate::watch::{TOLERATED, own};
use joulio_units::Nanos;
use joulio_workload::spoiled::by_others;
use joulio_workload::{Spoiled, Surroundings};
use std::path::Path;

/// Observation of a measurement for disturbances.
pub struct Quiet {
    /// True if the measurement ends as soon as it is spoiled.
    strict: bool,
    all: Surroundings,
    /// Disturbance of the idle window in which other programs ran most.
    busiest: Option<Spoiled>,
}

/// An idle window that is checked for other programs.
pub struct JudgedWindow {
    before: Surroundings,
    own: Nanos,
}

impl Quiet {
    /// Begins the observation; if `strict`, the first disturbance ends the measurement.
    pub fn begin_all(strict: bool) -> Quiet {
        Quiet {
            strict,
            all: Surroundings::now(Path::new("/")),
            busiest: None,
        }
    }

    /// Begins a window; if it is `judged`, no thread of joulio runs in it.
    pub fn begin(&self, judged: bool) -> Option<JudgedWindow> {
        judged.then(|| JudgedWindow {
            before: Surroundings::now(Path::new("/")),
            own: own(),
        })
    }

    /// Ends a window, and notes a disturbance if other programs used more than the tolerated share of one CPU, on
    /// whichever CPUs they ran.
    ///
    /// # Errors
    /// The window was disturbed, and the measurement is strict.
    pub fn end(&mut self, judged: Option<JudgedWindow>) -> Result<(), WattsError> {
        let Some(judged) = judged else {
            return Ok(());
        };
        let happened = Surroundings::now(Path::new("/")).since(&judged.before);
        let busy = happened
            .cpus
            .values()
            .fold(Nanos::ZERO, |sum, cpu| sum + cpu.busy);
        let others = busy.since(own() - judged.own);
        let spoiled = by_others("the idle machine", others, happened.window, TOLERATED);
        let Some(spoiled) = spoiled else {
            return Ok(());
        };
        if self.strict {
            return Err(WattsError::Spoiled(spoiled));
        }
        if self
            .busiest
            .as_ref()
            .is_none_or(|most| most.share < spoiled.share)
        {
            self.busiest = Some(spoiled);
        }
        Ok(())
    }

    /// Returns everything that spoiled the measurement.
    pub fn end_all(self) -> Vec<Spoiled> {
        let happened = Surroundings::now(Path::new("/")).since(&self.all);
        self.busiest
            .into_iter()
            .chain(happened.spoiled(&[]))
            .collect()
    }
}
