//! Disturbances of a calibration of watts by other programs.

use super::error::WattsError;
use crate::calibrate::watch::{TOLERATED, own};
use joulio_units::Nanos;
use joulio_workload::spoiled::by_others;
use joulio_workload::{Spoiled, Surroundings};
use std::path::Path;

/// Disturbances of a measurement so far.
pub struct Quiet {
    /// Ends as soon as something has spoiled it.
    strict: bool,
    all: Surroundings,
    /// The idle window in which other programs ran most.
    busiest: Option<Spoiled>,
}

/// A window that is judged.
pub struct JudgedWindow {
    before: Surroundings,
    own: Nanos,
}

impl Quiet {
    /// Watches from now on; ends the measurement when it is spoiled, if `strict`.
    pub fn begin_all(strict: bool) -> Quiet {
        Quiet {
            strict,
            all: Surroundings::now(Path::new("/")),
            busiest: None,
        }
    }

    /// Begins a window, in which nothing of joulio runs if it is to be `judged`.
    pub fn begin(&self, judged: bool) -> Option<JudgedWindow> {
        judged.then(|| JudgedWindow {
            before: Surroundings::now(Path::new("/")),
            own: own(),
        })
    }

    /// Ends a window. Other programs may have a share of one CPU's time that is small beside a
    /// core's watts; on whichever CPUs they ran.
    ///
    /// # Errors
    /// It was spoiled, and that ends the measurement.
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

    /// Everything that spoiled it.
    pub fn end_all(self) -> Vec<Spoiled> {
        let happened = Surroundings::now(Path::new("/")).since(&self.all);
        self.busiest
            .into_iter()
            .chain(happened.spoiled(&[]))
            .collect()
    }
}
