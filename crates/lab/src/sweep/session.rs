//! A checked sweep on this machine or in virtual time.

use super::options::{SweepOptions, SweepOptionsError};
use super::order::PlannedRun;
use super::real::RealRunner;
use super::runner::Runner;
use super::runs::{Sweep, SweepEnd, SweepFailure};
use super::virtual_runner::VirtualRunner;
use crate::FormatVersion;
use crate::experiment::{Manifest, Observer};
use crate::record::{Point, RecordStore, RunRecord};
use joulio_kernel_io::{Throttled, Throttles};
use joulio_workload::{RunResult, Stop};
use serde::Serialize;
use std::path::Path;

/// A sweep of which every run is supported, with its devices open or its profiles read.
pub struct SweepSession<'a> {
    options: &'a SweepOptions,
    manifest: Manifest,
    place: Place<'a>,
}

enum Place<'a> {
    Here(Box<RealRunner<'a>>),
    VirtualTime(Box<VirtualRunner<'a>>),
}

impl<'a> SweepSession<'a> {
    /// Checks all of `runs`, and opens their devices or reads their profiles. `stop` ends the runs early.
    ///
    /// # Errors
    /// A run is not valid or not supported. Nothing was changed.
    pub fn open(
        options: &'a SweepOptions,
        runs: &'a [PlannedRun],
        stop: &'a Stop,
    ) -> Result<SweepSession<'a>, SweepOptionsError> {
        let (manifest, place) = match options.base.twin {
            Some(_) => {
                let runner = VirtualRunner::new(options, stop)?;
                let manifest = runner.check(runs)?;
                (manifest, Place::VirtualTime(Box::new(runner)))
            }
            None => {
                let mut runner = RealRunner::new(options, runs, stop);
                let manifest = runner.check()?;
                (manifest, Place::Here(Box::new(runner)))
            }
        };
        Ok(SweepSession {
            options,
            manifest,
            place,
        })
    }

    /// Returns the names of the devices.
    pub fn devices(&self) -> Vec<&str> {
        self.manifest.device_names()
    }

    /// Returns the name of the modelled machine; `None` if the runs are real.
    pub fn modelled_on(&self) -> Option<&str> {
        match &self.place {
            Place::Here(_) => None,
            Place::VirtualTime(runner) => Some(runner.machine_name()),
        }
    }

    /// Executes every run of `sweep` that `store` does not have yet. Also returns the manifest of the runs.
    ///
    /// # Errors
    /// The sweep cannot go on.
    pub fn run(
        self,
        sweep: &Sweep<'_>,
        store: &mut RecordStore,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<(Manifest, SweepEnd), SweepFailure> {
        let root = self.options.base.energy.root.as_deref();
        let root = root.unwrap_or(Path::new("/"));
        let mut manifest = self.manifest;
        let (mut here, mut in_virtual_time);
        let (runner, real): (&mut dyn Runner, bool) = match self.place {
            Place::Here(runner) => {
                here = runner;
                (&mut *here, true)
            }
            Place::VirtualTime(runner) => {
                in_virtual_time = runner;
                (&mut *in_virtual_time, false)
            }
        };
        let before = real.then(|| Throttles::read(root));
        let end = sweep.run(runner, store, stop, observer)?;
        manifest.interrupted = stop.stopped();
        manifest.not_run = end.missing.not_run.clone();
        if let Some(before) = before {
            manifest.throttled = Throttled::between(&before, &Throttles::read(root));
        }
        if manifest.throttled == Throttled::Yes {
            observer.note(
                "CPUs were throttled for their temperature during the runs: the figures are lower than the machine's",
            );
        }
        Ok((manifest, end))
    }
}

/// A sweep's results, as `--output json` prints them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepReport<'a> {
    /// Version of the format.
    pub version: FormatVersion,
    /// Machine, versions and options: all that is needed beside the figures to repeat and
    /// understand the runs.
    pub manifest: &'a Manifest,
    /// Results of the runs.
    pub runs: Vec<SweepRun<'a>>,
}

/// A result, with its place among the others.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepRun<'a> {
    /// Factors of the run.
    pub point: &'a Point,
    /// Repetition of the point, from 1.
    pub replicate: u32,
    /// Place in the order in which the runs were to be done, from 1.
    pub order: u64,
    /// The result.
    #[serde(flatten)]
    pub result: &'a RunResult,
}

impl<'a> SweepReport<'a> {
    /// Creates the report of `records`.
    pub fn new(manifest: &'a Manifest, records: &[&'a RunRecord]) -> SweepReport<'a> {
        let runs = records.iter().map(|record| SweepRun {
            point: &record.point,
            replicate: record.replicate,
            order: record.order,
            result: &record.result,
        });
        SweepReport {
            version: FormatVersion,
            manifest,
            runs: runs.collect(),
        }
    }
}
