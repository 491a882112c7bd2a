//! Execution of a sweep's runs, each of them once.

use super::factor::{FactorError, method};
use super::options::SweepOptions;
use super::order::PlannedRun;
use super::runner::{RunFailure, Runner};
use super::virtual_runner::VirtualRunner;
use crate::experiment::{ExperimentError, MissingRuns, Observer, run_name};
use crate::record::{Platform, Point, RecordStore, RunRecord};
use crate::state_file::StateError;
use joulio_workload::{CompletionResult, RunResult, SectionResult, Stop};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Treatment of a run that the devices or the machine do not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The sweep is refused.
    Refuse,
    /// The run is recorded as unavailable, with the reason.
    Record,
}

/// Reason why a sweep cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SweepFailure {
    /// A run is not supported.
    #[error("{0}")]
    Unfit(String),
    /// Settings could not be made or restored.
    #[error(transparent)]
    Fatal(#[from] ExperimentError),
}

impl SweepFailure {
    /// Returns true if nothing was done, and nothing is left changed.
    pub fn is_refusal(&self) -> bool {
        match self {
            SweepFailure::Unfit(_) => true,
            SweepFailure::Fatal(error) => error.is_refusal(),
        }
    }
}

/// Result of a sweep that has ended, completely or early.
#[derive(Debug, Default)]
pub struct SweepEnd {
    /// Runs that were ended early or not begun.
    pub missing: MissingRuns,
    /// Names of the failed runs, with the reasons.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were done in this session.
    pub done: usize,
    /// Error that prevented records from being written to the state file.
    pub unsaved: Option<StateError>,
}

/// A sweep: its name, and the runs to do.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// Name of the sweep.
    pub name: &'a str,
    /// Runs in their order.
    pub runs: &'a [PlannedRun],
    /// Number of repetitions of each point.
    pub replicates: u32,
    /// Treatment of runs that are not supported.
    pub unfit: Unfit,
}

impl Sweep<'_> {
    /// Executes every run that `store` does not have yet, until `stop`.
    ///
    /// # Errors
    /// The sweep cannot go on.
    pub fn run(
        &self,
        runner: &mut dyn Runner,
        store: &mut RecordStore,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<SweepEnd, SweepFailure> {
        let mut end = SweepEnd::default();
        let all = self.runs.len();
        for (at, run) in self.runs.iter().enumerate() {
            if store.has(self.name, &run.point, run.replicate) {
                continue;
            }
            let name = self.name_of(run);
            if stop.stopped() {
                end.missing.not_run(name);
                continue;
            }
            observer.planned(at, all);
            let ran = runner.run(run, observer);
            let result = match ran.map_err(|failure| self.as_it_counts(failure)) {
                Ok(result) => result,
                // The earlier runs are still a result.
                Err(why) if stop.is_requested() => {
                    end.missing.lost(&name, &why.to_string());
                    continue;
                }
                Err(RunFailure::Fatal(why)) => return Err(why.into()),
                Err(RunFailure::Unfit(why)) if self.unfit == Unfit::Refuse => {
                    return Err(SweepFailure::Unfit(why));
                }
                Err(RunFailure::Unfit(why)) => without_counts(runner, run, why, None)?,
                Err(RunFailure::Failed(why)) => {
                    without_counts(runner, run, why.clone(), Some(why))?
                }
            };
            if let Some(why) = &result.failure {
                end.failed.push((name.clone(), why.clone()));
            }
            observer.measured(&name, &result);
            if result.interrupted {
                end.missing.cut_short(name);
            }
            if !self.save(&mut end, store, self.record(runner, run, result)) {
                break;
            }
        }
        Ok(end)
    }

    /// Returns the effect of `failure` on the sweep: if another process holds a setting for a while, that must end only
    /// one run of a long sweep.
    fn as_it_counts(&self, failure: RunFailure) -> RunFailure {
        match failure {
            RunFailure::Fatal(why) if self.unfit == Unfit::Record && why.waits_for_another() => {
                RunFailure::Failed(why.to_string())
            }
            failure => failure,
        }
    }

    /// Simulates every run that `store` does not have yet, on `threads` threads, until `stop`.
    ///
    /// # Errors
    /// A run cannot be modelled, and the sweep refuses such runs.
    pub fn simulate(
        &self,
        runner: &VirtualRunner<'_>,
        threads: usize,
        store: &mut RecordStore,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<SweepEnd, SweepFailure> {
        let mut end = SweepEnd::default();
        let left = self.runs.iter();
        let left = left.filter(|run| !store.has(self.name, &run.point, run.replicate));
        let left: Vec<&PlannedRun> = left.collect();
        let (next, all) = (AtomicUsize::new(0), self.runs.len());
        let (results, inbox) = channel();
        thread::scope(|scope| {
            for _ in 0..threads.clamp(1, left.len().max(1)) {
                let (results, next, left) = (results.clone(), &next, &left);
                scope.spawn(move || {
                    while !stop.stopped()
                        && let Some(run) = left.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let simulated = runner.simulate(run).map_err(RunFailure::from);
                        if results.send((*run, simulated)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(results);
            for (run, simulated) in inbox {
                observer.planned(all - left.len() + end.done, all);
                let result = match simulated {
                    Ok(result) => result,
                    // It is among those that were not run.
                    Err(_) if stop.is_requested() => continue,
                    Err(why) if self.unfit == Unfit::Refuse => {
                        return Err(SweepFailure::Unfit(why.to_string()));
                    }
                    Err(why) => without_counts(runner, run, why.to_string(), None)?,
                };
                if !self.save(&mut end, store, self.record(runner, run, result)) {
                    return Ok(());
                }
            }
            Ok(())
        })?;
        if end.unsaved.is_some() {
            return Ok(end);
        }
        for run in left {
            if store.get(self.name, &run.point, run.replicate).is_none() {
                end.missing.not_run(self.name_of(run));
            }
        }
        Ok(end)
    }

    /// Adds the record of a run that was done; returns false if the sweep has to end, as the records are its result and
    /// cannot be written. Those of a bench are printed too, and a full disk may have room for the next one.
    fn save(&self, end: &mut SweepEnd, store: &mut RecordStore, record: RunRecord) -> bool {
        end.unsaved = store.add(record).err();
        let goes_on = end.unsaved.is_none() || self.unfit == Unfit::Refuse;
        end.done += usize::from(goes_on);
        goes_on
    }

    fn record(&self, runner: &dyn Runner, run: &PlannedRun, result: RunResult) -> RunRecord {
        RunRecord {
            sweep: self.name.to_owned(),
            point: run.point.clone(),
            replicate: run.replicate,
            order: run.order,
            platform: runner.platform(run),
            machine: runner.machine(),
            idle_watts: runner.idle_watts(),
            counts: BTreeMap::new(),
            result,
        }
    }

    /// Returns the records of the sweep's runs that `store` has, in their order.
    pub fn records<'a>(&self, store: &'a RecordStore) -> Vec<&'a RunRecord> {
        let runs = self.runs.iter();
        runs.filter_map(|run| store.get(self.name, &run.point, run.replicate))
            .collect()
    }

    /// Returns the name of `run` among those of the sweep: its method, and the factors that vary between runs.
    pub fn name_of(&self, run: &PlannedRun) -> String {
        let varies = |name: &str| {
            let first = self.runs.first().and_then(|run| run.point.get(name));
            self.runs.iter().any(|run| run.point.get(name) != first)
        };
        let point = run.point.iter().filter(|(name, _)| {
            let of_method = matches!(name.as_str(), "engine" | "completion");
            !of_method && (varies(name) || matches!(name.as_str(), "scheduler" | "max-cstate"))
        });
        let point: Point = point.map(|(k, v)| (k.clone(), v.clone())).collect();
        match method(&run.point) {
            Ok(method) => run_name(method, &point, (run.replicate, self.replicates)),
            // The sections of the run have methods of their own.
            Err(_) => {
                let completion = run.point.get("completion");
                let mode = completion.map(|mode| format!(" {mode}"));
                format!("run {}{}", run.order, mode.unwrap_or_default())
            }
        }
    }
}

/// Returns the result of a run that was not done, for the reason `why`.
fn without_counts(
    runner: &dyn Runner,
    run: &PlannedRun,
    why: String,
    failure: Option<String>,
) -> Result<RunResult, SweepFailure> {
    let sections = runner.options().sections().map(|section| {
        let own = section.section_run(run)?;
        let result = section_without_counts(section, &own, &why)?;
        Ok(SectionResult {
            section: section.section.clone(),
            point: own.point,
            result,
        })
    });
    let sections: Result<Vec<_>, FactorError> = sections.collect();
    let mut sections = sections.map_err(|error| SweepFailure::Unfit(error.to_string()))?;
    let result = match sections.len() {
        1 => sections.remove(0).result,
        _ => RunResult::of_sections(sections, Vec::new(), None),
    };
    Ok(RunResult {
        failure,
        modelled: runner.platform(run) == Platform::Twin,
        ..result
    })
}

/// Returns the result of `section` in a run that was not done, for the reason `why`.
fn section_without_counts(
    section: &SweepOptions,
    run: &PlannedRun,
    why: &str,
) -> Result<RunResult, FactorError> {
    let method = method(&run.point)?;
    let options = section.options_of(run)?;
    let job = options.job().unwrap_or_else(|_| options.workload.nominal());
    let completion = CompletionResult {
        requested: method.mode.to_string(),
        effective: None,
        reason: Some(why.to_owned()),
    };
    let devices = run.point.get("device").cloned().into_iter().collect();
    Ok(RunResult::new(&job, method, devices, completion, None))
}
