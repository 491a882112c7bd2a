//! Runs on this machine.

use super::factor::{Factor, method};
use super::options::{SweepOptions, SweepOptionsError, demand};
use super::order::PlannedRun;
use super::runner::{RunFailure, Runner};
use crate::experiment::{
    Experiment, ExperimentError, ExperimentOptions, Manifest, Neighbours, Observer, Testbed,
};
use crate::external::{External, ExternalRun};
use crate::record::Platform;
use crate::target_name::TargetName;
use crate::targets::check_buffers;
use joulio_energy::{Baseline, Processor, Root};
use joulio_workload::{JobError, RunError, RunResult, SpoiledBy, Stop};

/// Runs on this machine's devices, which are opened as the runs need them.
pub struct RealRunner<'a> {
    options: &'a SweepOptions,
    /// Runs that are to be done: devices are opened with queues for all of them.
    runs: &'a [PlannedRun],
    stop: &'a Stop,
    /// True if every run has been checked.
    checked: bool,
    /// Devices that are open, and the value of the factor `device` that they are.
    open: Option<(String, Testbed)>,
    /// Runs that other programs do, from the first one on.
    external: Option<External>,
    /// Power of the idle machine as it was last measured, in place of a baseline that nobody has named.
    idle: Option<Baseline>,
}

impl<'a> RealRunner<'a> {
    /// A runner of `runs`, which `stop` ends early; no device is open yet.
    pub fn new(
        options: &'a SweepOptions,
        runs: &'a [PlannedRun],
        stop: &'a Stop,
    ) -> RealRunner<'a> {
        RealRunner {
            options,
            runs,
            stop,
            checked: false,
            open: None,
            external: None,
            idle: None,
        }
    }

    /// Closes the devices, so that the machine is idle.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Takes `idle` as the power of the idle machine, for the runs that follow.
    pub fn set_idle(&mut self, idle: Baseline) {
        self.idle = Some(idle);
    }

    /// The idle baseline in place of the usual one; `None`: one was named, or none was measured.
    fn measured_idle(&self) -> Option<Baseline> {
        let named = self.options.base.energy.idle_baseline.is_some();
        self.idle.clone().filter(|_| !named)
    }

    /// Checks that every run makes sense, opens the devices of each, one set after the other, and
    /// checks that it can be done there; the manifest of them all. Nothing is changed.
    ///
    /// # Errors
    /// A run makes no sense, devices cannot be opened, or a run cannot be done.
    pub fn check(&mut self) -> Result<Manifest, SweepOptionsError> {
        let mut experiments = Vec::new();
        for run in self.runs {
            let logs = self.options.base.io_logs.check(&self.log_name(run));
            logs.map_err(ExperimentError::from)?;
            experiments.push((at(run), self.options.experiment(run)?));
        }
        let mut manifest: Option<Manifest> = None;
        for name in self.device_sets() {
            let here = experiments.iter().filter(|(at, _)| **at == *name);
            let here: Vec<_> = here.map(|(_, experiment)| experiment).collect();
            let Some(first) = here.first() else { continue };
            for experiment in &here {
                if let Some(run) = ExternalRun::of(experiment) {
                    run.check().map_err(ExperimentError::from)?;
                }
            }
            let demands: Vec<_> = here.iter().filter_map(|one| demand(one)).collect();
            // What is open may be one of them.
            self.open = None;
            let ExperimentOptions {
                targets, energy, ..
            } = first.options();
            let testbed = Testbed::open(targets, energy, &demands)?;
            for experiment in &here {
                testbed.combinations(&experiment.options().settings)?;
            }
            let one = testbed.manifest(targets, first.job());
            match &mut manifest {
                None => manifest = Some(one),
                Some(manifest) => manifest.add_devices(one),
            }
            self.open = Some((name, testbed));
        }
        let none = JobError {
            flag: "--device",
            problem: "nothing to run".into(),
        };
        self.checked = true;
        Ok(manifest.ok_or_else(|| ExperimentError::from(none))?)
    }

    /// Opens the devices of every run that makes sense, one set after the other, whether or not all runs
    /// can be done there; the manifest of those that could be opened.
    pub fn survey(&mut self) -> Option<Manifest> {
        let mut manifest: Option<Manifest> = None;
        for name in self.device_sets() {
            let here = self.runs.iter().find_map(|run| {
                let experiment = self.options.experiment(run).ok()?;
                (at(run) == name).then_some((run, experiment))
            });
            let Some((run, experiment)) = here else {
                continue;
            };
            let (targets, job) = (&experiment.options().targets, experiment.job());
            let Ok(testbed) = self.testbed(run, &experiment) else {
                continue;
            };
            let one = testbed.manifest(targets, job);
            match &mut manifest {
                None => manifest = Some(one),
                Some(manifest) => manifest.add_devices(one),
            }
        }
        manifest
    }

    /// Name of `run` in the names of its logs: what parts it from the others; empty of a run alone.
    fn log_name(&self, run: &PlannedRun) -> String {
        let varies = |factor: &str| {
            let here = run.point.get(factor);
            self.runs.iter().any(|one| one.point.get(factor) != here)
        };
        let words = run.point.iter().filter(|(factor, _)| varies(factor));
        let mut words: Vec<String> = words.map(|(_, value)| value.clone()).collect();
        if self.runs.iter().any(|one| one.replicate > 1) {
            words.push(run.replicate.to_string());
        }
        words.join("-")
    }

    /// Devices of the runs, each set once, in the order of the runs.
    fn device_sets(&self) -> Vec<String> {
        let mut sets: Vec<String> = Vec::new();
        for run in self.runs {
            if !sets.contains(&at(run)) {
                sets.push(at(run));
            }
        }
        sets
    }

    /// The devices of `run`, whose `experiment` it is: opened if they are not.
    fn testbed(
        &mut self,
        run: &PlannedRun,
        experiment: &Experiment,
    ) -> Result<&mut Testbed, ExperimentError> {
        let name = at(run);
        let (open, testbed) = match self.open.take() {
            Some(open) if open.0 == name => open,
            other => {
                // What is open may be one of them.
                drop(other);
                let here = self.runs.iter().filter(|run| at(run) == name);
                let experiments = here.filter_map(|run| self.options.experiment(run).ok());
                let demands: Vec<_> = experiments.filter_map(|one| demand(&one)).collect();
                let ExperimentOptions {
                    targets, energy, ..
                } = experiment.options();
                let testbed = Testbed::open_unchecked(targets, energy, &demands)?;
                (name, testbed)
            }
        };
        let idle = self.measured_idle();
        let testbed = &mut self.open.insert((open, testbed)).1;
        if let Some(idle) = idle {
            testbed.set_baseline(idle);
        }
        Ok(testbed)
    }

    fn try_run(
        &mut self,
        run: &PlannedRun,
        observer: &dyn Observer,
    ) -> Result<RunResult, SweepOptionsError> {
        let experiment = self.options.experiment(run)?;
        let method = method(&run.point)?;
        let job = experiment.job_of(method);
        if let Some(external) = ExternalRun::of(&experiment) {
            return self.by_another_program(run, &experiment, &external, observer);
        }
        let devices = experiment.options().targets.devices.len();
        check_buffers(&job, devices).map_err(ExperimentError::from)?;
        let stop = self.stop;
        let settings = &experiment.options().settings;
        let testbed = self.testbed(run, &experiment)?;
        let combinations = testbed.combinations(settings)?;
        let _latency = settings.hold_latency().map_err(ExperimentError::from)?;
        // Of lists of one value there is one combination.
        let combination = combinations.first().cloned().unwrap_or_default();
        let each = Factor::Neighbours.value(&run.point)?.unwrap_or(0);
        if each > 0 && job.cpus_allowed.is_empty() {
            let problem = "threads beside the jobs need a CPU to be on: give cpus_allowed";
            return Err(Factor::Neighbours.wrong(problem).into());
        }
        let beside = Neighbours::beside(&job, each).map_err(RunError::Threads);
        let beside = beside.map_err(ExperimentError::from)?;
        let result = testbed.run_one(&job, &combination, method, stop, observer);
        let had = beside.end().map_err(RunError::Threads);
        let (mut result, had) = (result?, had.map_err(ExperimentError::from)?);
        let logs = testbed.take_logs();
        let written = self.options.base.io_logs.write(&self.log_name(run), &logs);
        written.map_err(ExperimentError::from)?;
        if let Some(counts) = &mut result.counts {
            counts.neighbour_percent = had;
        }
        if each > 0 {
            // It was to be so.
            result
                .spoiled
                .retain(|spoiled| !is_by_neighbours(spoiled.by));
        }
        result.settings.extend(settings.held());
        Ok(result)
    }

    /// A run that another program does, under the settings that it is to have, which are put back.
    fn by_another_program(
        &mut self,
        run: &PlannedRun,
        experiment: &Experiment,
        external: &ExternalRun<'_>,
        observer: &dyn Observer,
    ) -> Result<RunResult, SweepOptionsError> {
        let options = experiment.options();
        if !self.checked {
            external.check().map_err(ExperimentError::from)?;
        }
        if Factor::Neighbours.value(&run.point)?.unwrap_or(0) > 0 {
            let problem = "no threads beside a run of another program: leave neighbours out";
            return Err(Factor::Neighbours.wrong(problem).into());
        }
        if options.settings.coalescing.is_some() {
            let problem = "another program sets the device up by itself: leave coalescing out";
            return Err(Factor::Coalescing.wrong(problem).into());
        }
        let settings = &options.settings;
        let testbed = self.testbed(run, experiment)?;
        let combinations = testbed.combinations(settings)?;
        let _latency = settings.hold_latency().map_err(ExperimentError::from)?;
        let combination = combinations.first().cloned().unwrap_or_default();
        let changes = combination.apply(external.method, testbed.targets(), &[], |line| {
            observer.note(line)
        });
        let changes = changes.map_err(ExperimentError::from)?;
        // The program has the device to itself.
        self.open = None;
        let programs = match self.external.take() {
            Some(programs) => programs,
            None => External::open(&options.energy, &options.targets)?,
        };
        let idle = self.measured_idle();
        let programs = self.external.insert(programs);
        if let Some(idle) = idle {
            programs.set_baseline(idle);
        }
        let result = programs.run(external, self.stop, observer);
        let left = changes.finish();
        for note in left.map_err(|error| ExperimentError::from(Box::new(error)))? {
            observer.note(&note);
        }
        let mut result = result.map_err(ExperimentError::from)?;
        result.settings.extend(combination.values);
        result.settings.extend(settings.held());
        Ok(result)
    }
}

/// True for what threads beside the jobs do to a run.
fn is_by_neighbours(by: SpoiledBy) -> bool {
    matches!(
        by,
        SpoiledBy::Preempted | SpoiledBy::KernelPreempted | SpoiledBy::Busy
    )
}

impl Runner for RealRunner<'_> {
    fn options(&self) -> &SweepOptions {
        self.options
    }

    fn run(&mut self, run: &PlannedRun, observer: &dyn Observer) -> Result<RunResult, RunFailure> {
        let failure = match self.try_run(run, observer) {
            Ok(result) => return Ok(result),
            Err(error) => RunFailure::from(error),
        };
        if matches!(failure, RunFailure::Failed(_)) {
            // A device that has failed may be another when it is opened again.
            self.open = None;
        }
        Err(failure)
    }

    fn machine(&self) -> String {
        machine_here()
    }

    fn platform(&self, run: &PlannedRun) -> Platform {
        let options = self.options.options_of(run);
        let devices = options.map(|options| options.targets.devices);
        match devices.is_ok_and(|devices| devices.iter().all(TargetName::is_emulated)) {
            true => Platform::Emulated,
            false => platform_here(),
        }
    }
}

impl From<SweepOptionsError> for RunFailure {
    fn from(error: SweepOptionsError) -> RunFailure {
        let why = error.to_string();
        let SweepOptionsError::Experiment(error) = error else {
            return RunFailure::Unfit(why);
        };
        match error {
            ExperimentError::Change(_) => RunFailure::Fatal(error),
            ExperimentError::Run(RunError::Job(_)) => RunFailure::Unfit(why),
            ExperimentError::Run(_) | ExperimentError::Log(_) => RunFailure::Failed(why),
            ExperimentError::External(error) if !error.is_unfit() => RunFailure::Failed(why),
            // It was there when the sweep began, or may be there for the next run.
            ExperimentError::Open(open) if open.is_lost() => RunFailure::Failed(why),
            _ => RunFailure::Unfit(why),
        }
    }
}

/// Name of this machine's CPU.
pub fn machine_here() -> String {
    Processor::of(&Root::system()).name
}

/// Platform of runs on this machine's devices: a guest, where the CPU itself is emulated, as by
/// QEMU's TCG, whose times are nobody's.
pub fn platform_here() -> Platform {
    let cpu = machine_here();
    match cpu.contains("QEMU TCG") || cpu.contains("QEMU Virtual CPU") {
        true => Platform::Guest,
        false => Platform::Real,
    }
}

/// Devices of `run`, as text.
fn at(run: &PlannedRun) -> String {
    super::options::devices_text(&run.point).unwrap_or_default()
}
