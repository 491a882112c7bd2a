//! Runs on this machine.

use super::factor::Factor;
use super::group::Group;
use super::machine::machine_here;
use super::options::{SweepOptions, SweepOptionsError, devices_text};
use super::order::PlannedRun;
use super::runner::{RunFailure, Runner};
use crate::experiment::{ExperimentError, Manifest, Neighbours, Observer, Testbed};
use crate::external::{External, ExternalRun};
use crate::record::Platform;
use crate::target_name::TargetName;
use crate::targets::check_buffers;
use joulio_energy::Baseline;
use joulio_workload::{JobError, RunError, RunResult, SpoiledBy, Stop};

/// Runs on this machine's devices, which are opened as the runs need them.
pub struct RealRunner<'a> {
    options: &'a SweepOptions,
    /// Runs that are planned: devices are opened with queues for all of them.
    runs: &'a [PlannedRun],
    stop: &'a Stop,
    /// True if every run has been checked.
    checked: bool,
    /// Devices that are open, and the value of the factor `device` that they are.
    open: Option<(String, Testbed)>,
    /// Runs that other programs do, from the first one on.
    external: Option<External>,
    /// Power of the idle machine as last measured, in place of a baseline if none was named.
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
        let mut groups = Vec::new();
        if self.options.sections().any(|one| one.base.io_logs.any()) {
            let names: Vec<_> = self.runs.iter().map(|run| self.log_name(run)).collect();
            for section in self.options.sections() {
                section
                    .base
                    .io_logs
                    .check(&names, self.options.jobs_before)?;
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
            // The open device may be one of them.
            self.open = None;
            let energy = &first.first().options().energy;
            let testbed = Testbed::open(&first.targets, energy, &demands)?;
            for group in &here {
                testbed.combinations(&group.first().options().settings)?;
            }
            let one = testbed.manifest(&first.targets, &first.jobs());
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
                let group = Group::new(self.options, run).ok()?;
                (self.at(run) == name).then_some((run, group))
            });
            let Some((run, group)) = here else {
                continue;
            };
            let Ok(testbed) = self.testbed(run, &group) else {
                continue;
            };
            let one = testbed.manifest(&group.targets, &group.jobs());
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

    /// Devices of `run`, as text.
    fn at(&self, run: &PlannedRun) -> String {
        let sections = self.options.sections().map(|section| {
            let point = section.point(&run.point).ok();
            point.and_then(|point| devices_text(&point))
        });
        let devices: Vec<_> = sections.map(Option::unwrap_or_default).collect();
        devices.join(" beside ")
    }

    /// Devices of the runs, each set once, in the order of the runs.
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

    /// The devices of `run`, whose `group` it is: opened if they are not.
    fn testbed(
        &mut self,
        run: &PlannedRun,
        group: &Group,
    ) -> Result<&mut Testbed, ExperimentError> {
        let name = self.at(run);
        let (open, testbed) = match self.open.take() {
            Some(open) if open.0 == name => open,
            other => {
                // The open device may be one of them.
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
        // Lists with one value each have one combination.
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
        // Jobs are numbered over all sections, those that have ended too, as in fio.
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
        let testbed = self.testbed(run, group)?;
        let combinations = testbed.combinations(settings)?;
        let _latency = settings.hold_latency().map_err(ExperimentError::from)?;
        let combination = combinations.first().cloned().unwrap_or_default();
        let changes = combination.apply(&group.members, testbed.targets(), &[], |line| {
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
            ExperimentError::Run(_) | ExperimentError::Log(_) => RunFailure::Failed(why),
            ExperimentError::External(error) if !error.is_unfit() => RunFailure::Failed(why),
            // It was there when the sweep began, or may be there for the next run.
            ExperimentError::Open(open) if open.is_lost() => RunFailure::Failed(why),
            _ => RunFailure::Unfit(why),
        }
    }
}

/// Returns the platform of runs on this machine's devices: a guest, if the CPU itself is emulated, as by QEMU's TCG,
/// whose times are not valid.
pub fn platform_here() -> Platform {
    let cpu = machine_here();
    match cpu.contains("QEMU TCG") || cpu.contains("QEMU Virtual CPU") {
        true => Platform::Guest,
        false => Platform::Real,
    }
}
