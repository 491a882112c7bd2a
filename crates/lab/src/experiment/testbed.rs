//! Opened devices and meters.

use super::energy::{EnergyOptions, EnergySources};
use super::error::ExperimentError;
use super::manifest::Manifest;
use super::missing::{MissingRuns, run_name};
use super::observer::Observer;
use super::settings::{ExperimentSettings, SettingCombination, operational_states};
use crate::plan_costs::plan_costs;
use crate::targets::{Demand, TargetOptions, open_targets, open_unchecked};
use joulio_energy::Baseline;
use joulio_host::controller::AdminController;
use joulio_workload::{
    CompletionMode, Job, JobLog, Member, Method, RingOptions, RunResult, Setup, Stop, Target,
    run_recorded,
};
use std::path::{Path, PathBuf};

/// Opened devices and meters that all runs of an experiment use.
pub struct Testbed {
    targets: Vec<Box<dyn Target>>,
    /// Admin commands of the controllers that joulio drives; they are reset when they are closed.
    controllers: Vec<AdminController>,
    sources: EnergySources,
    root: PathBuf,
    /// Logs of I/Os of the last run.
    logs: Vec<JobLog>,
}

/// Runs of several methods with each combination of settings, repeated.
pub struct Series<'a> {
    /// Methods, each of which is run with every combination of settings.
    pub methods: &'a [Method],
    /// Returns the job for a method; a method that learns has a longer ramp.
    pub job: &'a dyn Fn(Method) -> Job,
    /// Settings of the machine.
    pub settings: &'a ExperimentSettings,
    /// Combinations of those settings, as [`Testbed::combinations`] has checked them.
    pub combinations: &'a [SettingCombination],
    /// Options of io_uring's rings, for methods that use it.
    pub ring: RingOptions,
    /// Number of repetitions of all runs, in turn.
    pub replicates: u32,
}

/// Results of a series.
#[derive(Debug, Default)]
pub struct SeriesResult {
    /// Results of the runs, in their order.
    pub runs: Vec<RunResult>,
    /// Runs that were ended early or not begun.
    pub missing: MissingRuns,
}

impl Testbed {
    /// Opens the devices, with queues for all `demands`, and the meters. Each job has to fit its devices. Nothing is
    /// changed.
    ///
    /// # Errors
    /// A device or a meter is unavailable, or a job cannot run on a device.
    pub fn open(
        options: &TargetOptions,
        energy: &EnergyOptions,
        demands: &[Demand],
    ) -> Result<Testbed, ExperimentError> {
        let targets = open_targets(options, demands)?;
        Testbed::of(targets, options, energy)
    }

    /// Opens the devices without checking that the jobs of `demands` can run on them.
    ///
    /// # Errors
    /// A device or a meter is unavailable.
    pub fn open_unchecked(
        options: &TargetOptions,
        energy: &EnergyOptions,
        demands: &[Demand],
    ) -> Result<Testbed, ExperimentError> {
        let targets = open_unchecked(options, demands)?;
        Testbed::of(targets, options, energy)
    }

    fn of(
        targets: Vec<Box<dyn Target>>,
        options: &TargetOptions,
        energy: &EnergyOptions,
    ) -> Result<Testbed, ExperimentError> {
        let sources = EnergySources::open(energy, &options.faults, &targets)?;
        let root = energy.root.clone().unwrap_or_else(|| "/".into());
        let powers = targets
            .iter()
            .filter_map(|target| Some((target.info().name.clone(), target.power()?)));
        let controllers = powers.map(|(name, power)| AdminController::of_this_process(name, power));
        Ok(Testbed {
            controllers: controllers.collect(),
            targets,
            sources,
            root,
            logs: Vec::new(),
        })
    }

    /// Returns the devices.
    pub fn targets(&self) -> &[Box<dyn Target>] {
        &self.targets
    }

    /// Returns true if the interrupts of all devices can be coalesced: joulio drives them, and they have the feature.
    pub(crate) fn coalesces(&self) -> bool {
        let values = self.controllers.iter();
        let mut values = values.map(|controller| controller.control().interrupt_coalescing());
        self.controllers.len() == self.targets.len() && values.all(|value| value.is_ok())
    }

    /// Returns the power states beside 0 in which all devices do I/Os; none unless joulio drives all of them.
    pub(crate) fn power_states(&self) -> Vec<u8> {
        let controllers = self.controllers.iter();
        let each = controllers
            .map(|controller| operational_states(controller.control().identify_controller()));
        let common = each.reduce(|common, states| {
            let both = common.into_iter();
            both.filter(|state| states.contains(state)).collect()
        });
        let driven = self.controllers.len() == self.targets.len();
        let common = common.filter(|_| driven).unwrap_or_default().into_iter();
        common.filter(|state| *state > 0).collect()
    }

    /// Returns the sources of energy figures.
    pub fn sources(&self) -> &EnergySources {
        &self.sources
    }

    /// Replaces the baseline of the idle machine.
    pub fn set_baseline(&mut self, baseline: Baseline) {
        self.sources.baseline = Some((baseline, Vec::new()));
    }

    /// Returns the root of the file tree that counters and meters are read from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the manifest of `jobs` on these devices, which were opened with `options`.
    pub fn manifest(&self, options: &TargetOptions, jobs: &[&Job]) -> Manifest {
        Manifest::new(options, jobs, &self.sources, &self.targets)
    }

    /// Returns every combination of `settings` after checking all of them: if one is not possible, nothing is changed.
    ///
    /// # Errors
    /// This machine or a device does not have a setting or a value.
    pub fn combinations(
        &self,
        settings: &ExperimentSettings,
    ) -> Result<Vec<SettingCombination>, ExperimentError> {
        Ok(settings.combinations(&self.targets)?)
    }

    /// Executes every run of `series`. If it is stopped, the result has the runs before that.
    ///
    /// # Errors
    /// A setting or a run failed without a stop.
    pub fn run(
        &mut self,
        series: &Series<'_>,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<SeriesResult, ExperimentError> {
        let _latency = series.settings.hold_latency()?;
        let mut result = SeriesResult::default();
        let missing = &mut result.missing;
        for number in 1..=series.replicates {
            for combination in series.combinations {
                for &method in series.methods {
                    let name = run_name(method, &combination.values, (number, series.replicates));
                    if stop.stopped() {
                        missing.not_run(name);
                        continue;
                    }
                    let job = (series.job)(method);
                    let members = vec![Member {
                        ring: series.ring,
                        ..Member::alone(job, method, self.targets.len())
                    }];
                    let run = self.run_one(members, combination, stop, observer);
                    let mut run = match run {
                        Ok(run) => run,
                        // The earlier runs are still a result.
                        Err(why) if stop.is_requested() => {
                            missing.lost(&name, &why.to_string());
                            continue;
                        }
                        Err(why) => return Err(why),
                    };
                    run.settings.extend(series.settings.held());
                    if run.interrupted {
                        missing.cut_short(name);
                    }
                    result.runs.push(run);
                }
            }
        }
        Ok(result)
    }

    /// Returns the logs of the last run, one for each job; empty if none were requested.
    pub fn take_logs(&mut self) -> Vec<JobLog> {
        std::mem::take(&mut self.logs)
    }

    /// Executes one run of `members`, with settings that are always restored afterwards. A failure does not end later
    /// runs.
    ///
    /// # Errors
    /// A setting or the run failed.
    pub fn run_one(
        &mut self,
        mut members: Vec<Member>,
        combination: &SettingCombination,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<RunResult, ExperimentError> {
        let note = |line: &str| observer.note(line);
        let changes = combination.apply(&members, &self.targets, &self.controllers, note)?;
        let settings = combination.effective(&self.controllers);
        observer.begin(&members);
        let machine = self.sources.machine.as_ref();
        let mut planned_by = Vec::new();
        for member in &mut members {
            let (costs, of) = plan_costs(machine, &member.job, member.method);
            member.wait_costs = Some(costs);
            planned_by.push(Some(of).filter(|_| member.method.mode == CompletionMode::Adaptive));
        }
        let baseline = self.sources.baseline.as_ref();
        let setup = Setup {
            targets: &self.targets,
            machine,
            at_home: self.sources.at_home,
            baseline: baseline.map(|(baseline, _)| baseline),
            stop: &stop.of_another_run(),
            root: &self.root,
            progress: &|progress| observer.progress(progress),
            trace: None,
        };
        let result = run_recorded(&members, &setup, &mut self.sources.meters);
        observer.end();
        for note in changes.finish().map_err(Box::new)? {
            observer.note(&note);
        }
        let (mut result, recorded) = result?;
        self.logs = recorded.logs;
        for section in &mut result.sections {
            section.result.settings = settings.clone();
        }
        result.settings = settings;
        match &mut result.sections[..] {
            [] => result.planned_by = planned_by.pop().flatten(),
            sections => {
                for (section, of) in sections.iter_mut().zip(planned_by) {
                    section.result.planned_by = of;
                }
            }
        }
        Ok(result)
    }
}
