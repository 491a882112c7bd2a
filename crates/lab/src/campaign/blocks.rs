//! Runs in blocks, one for each repetition, with idle intervals between them in which the machine's meters are read. In
//! sweeps that ask for it, each run is checked for a steady rate.

use super::CampaignSweep;
use super::folder::ResultsFolder;
use crate::experiment::{BadResults, Observer, judge};
use crate::idle_interval::{IdleInterval, IdleProbe};
use crate::record::Platform;
use crate::steadiness;
use crate::sweep::{PlannedRun, RealRunner, RunFailure, Runner, SweepOptions};
use joulio_units::Nanos;
use joulio_workload::{RunResult, Stop};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::slice;

/// Runner of a campaign's runs on this machine.
pub(super) struct Blocks<'a> {
    runner: RealRunner<'a>,
    sweep: &'a CampaignSweep,
    /// Folder of the results.
    path: &'a Path,
    stop: &'a Stop,
    /// Meters to read in idle intervals; `None`: there are no intervals.
    probe: Option<IdleProbe>,
    /// Current repetition, and the platform of its runs.
    block: Option<(u32, Platform)>,
    idle_watts: BTreeMap<String, f64>,
}

impl<'a> Blocks<'a> {
    /// Creates the blocks of `sweep`, whose results are in the folder `path`, with `runner` for the runs.
    pub(super) fn new(
        runner: RealRunner<'a>,
        sweep: &'a CampaignSweep,
        path: &'a Path,
        stop: &'a Stop,
    ) -> Blocks<'a> {
        let layers = &sweep.layers;
        let idle = (layers.idle != Nanos::ZERO).then_some(layers.idle);
        Blocks {
            runner,
            sweep,
            path,
            stop,
            probe: idle.map(|time| IdleProbe::new(time, &layers.options.base.energy)),
            block: None,
            idle_watts: BTreeMap::new(),
        }
    }

    /// Reads the meters in a last idle interval after the last repetition, if there was one.
    pub(super) fn finish(mut self, observer: &dyn Observer) {
        if let Some((_, platform)) = self.block
            && !self.stop.stopped()
        {
            self.idle(None, platform, observer);
        }
    }

    /// Measures an idle interval between the current repetition and the `next`, whose runs are on `platform`.
    fn idle(&mut self, next: Option<u32>, platform: Platform, observer: &dyn Observer) {
        let Some(probe) = &mut self.probe else { return };
        // Closes the devices: an emulated or polled device keeps a core busy.
        self.runner.close();
        let mut interval = IdleInterval {
            sweep: self.sweep.layers.name.clone(),
            after: self.block.map(|(replicate, _)| replicate),
            before: next,
            platform,
            machine: self.runner.machine(),
            unix_seconds: 0.0,
            busy: None,
            meters: Vec::new(),
            missing: None,
        };
        if let Some(baseline) = probe.measure(&mut interval, self.stop) {
            self.runner.set_idle(baseline);
        }
        self.idle_watts = interval.watts();
        let line = json!({ "idle": &interval });
        if let Err(error) = ResultsFolder::add_manifest(self.path, &line) {
            observer.note(&format!("an idle interval is not kept: {error}"));
        }
    }
}

impl Runner for Blocks<'_> {
    fn options(&self) -> &SweepOptions {
        self.runner.options()
    }

    fn run(&mut self, run: &PlannedRun, observer: &dyn Observer) -> Result<RunResult, RunFailure> {
        let begun = self.block.is_some_and(|(now, _)| now == run.replicate);
        if !begun {
            let platform = self.platform(run);
            self.idle(Some(run.replicate), platform, observer);
            self.block = Some((run.replicate, platform));
        }
        let mut result = self.runner.run(run, observer)?;
        // A device that fails every command is fast, but its figures are useless.
        if let Err(why @ (BadResults::Failed { .. } | BadResults::WrongData { .. })) =
            judge(slice::from_ref(&result), self.stop)
        {
            result.failure = Some(why.to_string());
        }
        if self.sweep.layers.steady {
            let unsteady = result.counts.as_ref().and_then(steadiness::judge);
            result.spoiled.extend(unsteady);
        }
        Ok(result)
    }

    fn machine(&self) -> String {
        self.runner.machine()
    }

    fn platform(&self, run: &PlannedRun) -> Platform {
        self.runner.platform(run)
    }

    fn idle_watts(&self) -> BTreeMap<String, f64> {
        self.idle_watts.clone()
    }
}
