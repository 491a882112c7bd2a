//! Runs of a sweep on this machine.

use super::factor::Factor;
use super::group::Group;
use super::machine::machine_here;
use super::options::{SweepOptions, SweepOptionsError, devices_text};
use super::order::PlannedRun;
use super::runner::{RunFailure, Runner};
use crate::experiment::{
    ExperimentError, IoLogError, Manifest, Neighbours, Observer, SettingError, Testbed,
};
use crate::external::{External, ExternalRun};
use crate::record::Platform;
use crate::target_name::TargetName;
use crate::targets::check_buffers;
use joulio_energy::Baseline;
use joulio_workload::{JobError, RunError, RunResult, SpoiledBy, Stop, check};

/// Runner on this machine, which opens devices when a run needs them.
pub struct RealRunner<'a> {
    options: &'a SweepOptions,
    /// Planned runs; devices are opened with enough queues for all of them.
    runs: &'a [PlannedRun],
    stop: &'a Stop,
    /// True if every run has been checked.
    checked: bool,
    /// Open devices, and the value of the factor `device` that names them.
    open: Option<(String, Testbed)>,
    /// Devices that could not be opened for a check, as for `open`, and the reason.
    unopened: Option<(String, String)>,
    /// Runner of other programs, once there was such a run.
    external: Option<External>,
    /// Last measured power of the idle machine, used if no baseline was named.
    idle: Option<Baseline>,
}

impl<'a> RealRunner<'a> {
    /// Creates a runner of `runs`, which `stop` ends early; no device is opened yet.
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
            unopened: None,
            external: None,
            idle: None,
        }
    }

    /// Closes the devices, so that the machine is idle.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Sets the power of the idle machine for later runs.
    pub fn set_idle(&mut self, idle: Baseline) {
        self.idle = Some(idle);
    }

    /// Returns the measured idle baseline, which replaces the default one; `None` if a baseline was named, or none was
    /// measured.
    fn measured_idle(&self) -> Option<Baseline> {
        let named = self.options.base.energy.idle_baseline.is_some();
        self.idle.clone().filter(|_| !named)
    }

    /// Checks that every run is valid, opens each set of devices in turn, and checks that the runs can be done there.
    /// Returns the manifest of all. Nothing is changed.
    ///
    /// # Errors
    /// A run is not valid or cannot be done, or a device cannot be opened.
    pub fn check(&mut self) -> Result<Manifest, SweepOptionsError> {
        let mut groups = Vec::new();
        if self.options.sections().any(|one| one.base.io_logs.any()) {
            let names: Vec<_> = self.runs.iter().map(|run| self.log_name(run)).collect();
            for section in self.options.sections() {
                section
                    .base
                    .io_logs
                    .check(&names, self.options.jobs_before)
                    .map_err(ExperimentError::from)?;
            }
        }
        for run in self.runs {
            groups.push((self.at(run), Group::new(self.options, run)?));
        }
        let mut manifest: Option<Manifest> = None;
        for name in self.device_sets() {
            let here = groups.iter().filter(|(at, _)| **at == *name);
            let here: Vec<_> = here.map(|(_, group)| group).collect();
            let Some(first) = here.first() else { continue };
            for group in &here {
                if let Some(run) = ExternalRun::of(group.first()) {
                    run.check().map_err(ExperimentError::from)?;
                }
            }
            let demands: Vec<_> = here.iter().filter_map(|group| group.demand()).collect();
            // Closes the open devices first: one of them may be among these.
            self.open = None;
            let energy = &first.first().options().energy;
            let testbed = Testbed::open(&first.targets, energy, &demands)?;
            for group in &here {
                testbed.combinations(&group.first().options().settings)?;
            }
            let one = first.manifest(&testbed);
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

    /// Opens the devices of every valid run, one set after the other, without checking that the runs can be done.
    /// Returns the manifest of the devices that could be opened.
    pub fn survey(&mut self) -> Option<Manifest> {
        let mut manifest: Option<Manifest> = None;
        for name in self.device_sets() {
            let here = self.runs.iter().find_map(|run| {
                let group = Group::new(self.options, run).ok()?;
                (self.at(run) == name).then_some((run, group))
            });
            let Some((run, group)) = here else {
                continue;
            };
            let Ok(testbed) = self.testbed(run, &group) else {
                continue;
            };
            let one = group.manifest(testbed);
            match &mut manifest {
                None => manifest = Some(one),
                Some(manifest) => manifest.add_devices(one),
            }
        }
        manifest
    }

    /// Returns the reason why the devices of `run` cannot be opened, or why its check refuses it; `None` if it may begin,
    /// or is not valid. No I/O is done.
    pub(crate) fn refuses(&mut self, run: &PlannedRun) -> Option<String> {
        let name = self.at(run);
        if let Some((at, why)) = &self.unopened
            && *at == name
        {
            return Some(why.clone());
        }
        let group = Group::new(self.options, run).ok()?;
        if let Err(why) = check_buffers(&group.members) {
            return Some(why.to_string());
        }
        match self.testbed(run, &group) {
            Ok(testbed) => {
                let checked = check(&group.members, testbed.targets());
                checked.err().map(|why| why.to_string())
            }
            Err(why) => {
                let why = why.to_string();
                self.unopened = Some((name, why.clone()));
                Some(why)
            }
        }
    }

    /// Returns the name of `run` for its log files: the values that distinguish it from other runs; empty for a single
    /// run.
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

    /// Returns the devices of `run` as text.
    fn at(&self, run: &PlannedRun) -> String {
        let sections = self.options.sections().map(|section| {
            let point = section.point(&run.point).ok();
            point.and_then(|point| devices_text(&point))
        });
        let devices: Vec<_> = sections.map(Option::unwrap_or_default).collect();
        devices.join(" beside ")
    }

    /// Returns the sets of devices of the runs without duplicates, in the order of the runs.
    fn device_sets(&self) -> Vec<String> {
        let mut sets: Vec<String> = Vec::new();
        for run in self.runs {
            let here = self.at(run);
            if !sets.contains(&here) {
                sets.push(here);
            }
        }
        sets
    }

    /// Returns the devices of `run`, which belongs to `group`; opens them if they are not open.
    fn testbed(
        &mut self,
        run: &PlannedRun,
        group: &Group,
    ) -> Result<&mut Testbed, ExperimentError> {
        let name = self.at(run);
        let (open, testbed) = match self.open.take() {
            Some(open) if open.0 == name => open,
            other => {
                // Closes the open devices first: one of them may be among these.
                drop(other);
                let here = self.runs.iter().filter(|run| self.at(run) == name);
                let groups = here.filter_map(|run| Group::new(self.options, run).ok());
                let demands: Vec<_> = groups.filter_map(|one| one.demand()).collect();
                let energy = &group.first().options().energy;
                let testbed = Testbed::open_unchecked(&group.targets, energy, &demands)?;
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
        let group = Group::new(self.options, run)?;
        if let Some(external) = ExternalRun::of(group.first()) {
            return self.by_another_program(run, &group, &external, observer);
        }
        check_buffers(&group.members).map_err(ExperimentError::from)?;
        let stop = self.stop;
        let settings = &group.first().options().settings;
        let testbed = self.testbed(run, &group)?;
        let combinations = testbed.combinations(settings)?;
        let _latency = settings.hold_latency().map_err(ExperimentError::from)?;
        // Lists with one value each have only one combination.
        let combination = combinations.first().cloned().unwrap_or_default();
        let each = Factor::Neighbours.value(&run.point)?.unwrap_or(0);
        let job = &group.members[0].job;
        if each > 0 && job.cpus_allowed.is_empty() {
            let problem = "threads beside the jobs need a CPU to be on: give cpus_allowed";
            return Err(Factor::Neighbours.wrong(problem).into());
        }
        let beside = Neighbours::beside(job, each).map_err(RunError::Threads);
        let beside = beside.map_err(ExperimentError::from)?;
        let members = group.members.clone();
        let result = testbed.run_one(members, &combination, stop, observer);
        let had = beside.end().map_err(RunError::Threads);
        let (mut result, had) = (result?, had.map_err(ExperimentError::from)?);
        let mut logs = testbed.take_logs();
        let name = self.log_name(run);
        // As in fio, jobs are numbered over all sections, including those that have ended.
        let mut end = 0;
        for (section, member) in self.options.sections().zip(&group.members) {
            end += member.job.numjobs;
            let others = logs.split_off(logs.partition_point(|log| log.job < end));
            let before = self.options.jobs_before;
            let written = section.base.io_logs.write(&name, before, &logs);
            written.map_err(ExperimentError::from)?;
            logs = others;
        }
        for (section, done) in self.options.sections().zip(&mut result.sections) {
            done.point = section.point(&run.point)?;
        }
        for (points, done) in group
            .reporting(&result.sections)
            .zip(&mut result.reporting_groups)
        {
            done.point = points;
        }
        if let Some(counts) = &mut result.counts {
            counts.neighbour_percent = had;
        }
        if each > 0 {
            // Neighbours were requested, so they do not spoil the run.
            result
                .spoiled
                .retain(|spoiled| !is_by_neighbours(spoiled.by));
        }
        result.settings.extend(settings.held());
        Ok(result)
    }

    /// Executes a run with another program, with the requested settings, which are restored afterwards.
    fn by_another_program(
        &mut self,
        run: &PlannedRun,
        group: &Group,
        external: &ExternalRun<'_>,
        observer: &dyn Observer,
    ) -> Result<RunResult, SweepOptionsError> {
        let options = group.first().options();
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
        let features = [
            (settings.power_state.is_some(), "--power-state"),
            (settings.apst.is_some(), "--apst"),
        ];
        if let Some((_, flag)) = features.into_iter().find(|(given, _)| *given) {
            return Err(ExperimentError::from(SettingError::OfAnotherProgram(flag)).into());
        }
        let testbed = self.testbed(run, group)?;
        let combinations = testbed.combinations(settings)?;
        let _latency = settings.hold_latency().map_err(ExperimentError::from)?;
        let combination = combinations.first().cloned().unwrap_or_default();
        let changes = combination.apply(&group.members, testbed.targets(), &[], |line| {
            observer.note(line)
        });
        let changes = changes.map_err(ExperimentError::from)?;
        // The program needs the device for itself.
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

/// Returns true for disturbances that threads beside the jobs cause.
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
            // A device that failed may work again when it is reopened.
            self.open = None;
        }
        Err(failure)
    }

    fn machine(&self) -> String {
        machine_here()
    }

    fn platform(&self, run: &PlannedRun) -> Platform {
        let emulated = |section: &SweepOptions| {
            let options = section
                .section_run(run)
                .and_then(|run| section.options_of(&run));
            let devices = options.map(|options| options.targets.devices);
            devices.is_ok_and(|devices| devices.iter().all(TargetName::is_emulated))
        };
        match self.options.sections().all(emulated) {
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
            ExperimentError::Run(_) | ExperimentError::Log(IoLogError::File(_)) => {
                RunFailure::Failed(why)
            }
            ExperimentError::External(error) if !error.is_unfit() => RunFailure::Failed(why),
            // The device was present when the sweep began, and may be present again for the next run.
            ExperimentError::Open(open) if open.is_lost() => RunFailure::Failed(why),
            _ => RunFailure::Unfit(why),
        }
    }
}

/// Returns the platform of runs on this machine's devices. It is a guest if the CPU itself is emulated, as by QEMU's
/// TCG, whose times are not valid.
pub fn platform_here() -> Platform {
    let cpu = machine_here();
    match cpu.contains("QEMU TCG") || cpu.contains("QEMU Virtual CPU") {
        true => Platform::Guest,
        false => Platform::Real,
    }
}
