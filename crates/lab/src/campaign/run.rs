//! Execution of a campaign's runs.

use super::blocks::Blocks;
use super::drives::{self, Changed};
use super::error::CampaignError;
use super::folder::{ResultsFolder, manifests};
use super::shard::Shard;
use super::{Campaign, CampaignSweep};
use crate::experiment::{Manifest, Observer};
use crate::record::{Point, RecordStore, RunRecord};
use crate::state_file::StateError;
use crate::survey::{InterruptsBefore, Survey, SurveyRequest};
use crate::sweep::{PlannedRun, RealRunner, Sweep, SweepEnd, Unfit, VirtualRunner};
use crate::target_name::TargetName;
use joulio_workload::{Member, RunProgress, Stop};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Observer of a campaign, which also observes its runs.
pub trait CampaignObserver: Observer {
    /// Reports that a sweep of `runs` runs begins.
    fn sweep(&self, _name: &str, _runs: usize) {}
}

/// Result of a campaign that has ended, completely or early.
#[derive(Debug, Default)]
pub struct CampaignEnd {
    /// Number of runs in the shard.
    pub all: usize,
    /// Number of runs that were done in this session.
    pub done: usize,
    /// Reasons why runs were unavailable, each with their number.
    pub unavailable: Vec<(String, usize)>,
    /// Runs that are kept apart: reasons, each with the number of runs.
    pub apart: Vec<(String, usize)>,
    /// Reason for the first of these, with its remedy.
    pub first_apart: Option<String>,
    /// Names of the runs that failed, with the reasons.
    pub failed: Vec<(String, String)>,
    /// Meters that gave no figure in some runs although they gave one in others, each with the number of these runs.
    /// Runs that were too short for the meter are not counted.
    pub unmetered: Vec<(String, usize)>,
    /// Number of runs that were ended early or not begun.
    pub left: usize,
    /// Error that prevented records from being written.
    pub unsaved: Option<StateError>,
    /// Number of runs with figures, of all sessions.
    pub with_figures: usize,
    /// Survey of machine and devices, if the experiment asks for it.
    pub survey: Option<Survey>,
}

impl Campaign {
    /// Executes the runs of `shard` that the folder `path` does not have yet, and adds their records to it.
    ///
    /// # Errors
    /// The folder belongs to another campaign or cannot be used, nothing can be run, or settings could not be restored.
    pub fn run(
        &self,
        path: &Path,
        shard: Shard,
        threads: usize,
        stop: &Stop,
        observer: &dyn CampaignObserver,
    ) -> Result<CampaignEnd, CampaignError> {
        let header = serde_json::to_value(self.header()).map_err(StateError::from)?;
        let sweeps: Vec<_> = self.sweeps.iter().map(|one| one.of_shard(shard)).collect();
        let all = sweeps.iter().map(|(_, runs)| runs.len()).sum();
        if self.count() == 0 {
            return Err(self.nothing("it has no sweep for this platform"));
        }
        if let Some(first) = self.sweeps.first().filter(|_| self.in_virtual_time()) {
            // Checks the options before any file is created.
            VirtualRunner::new(&first.layers.options, stop)?;
        }
        if let Some(why) = self.lacks_all_devices() {
            return Err(CampaignError::Nothing {
                experiment: self.file.name.clone(),
                why,
            });
        }
        ResultsFolder::make(path)?;
        let before = InterruptsBefore::now();
        let records = ResultsFolder::records_path(path);
        let store = RecordStore::open(Some(&records), &header);
        let mut store = store.map_err(|error| match error {
            StateError::Another { .. } => CampaignError::OtherResults(path.into()),
            StateError::OtherMachine { differences, .. } => CampaignError::OtherMachine {
                path: path.into(),
                differences,
            },
            error => error.into(),
        })?;
        self.check_machine(&store)?;
        self.check_drives(path)?;
        let mut end = CampaignEnd {
            all,
            ..CampaignEnd::default()
        };
        let mut over = 0;
        for (sweep, runs) in &sweeps {
            observer.sweep(&sweep.layers.name, runs.len());
            let shifted = Shifted {
                observer,
                before: over,
                all,
            };
            over += runs.len();
            let done = match self.in_virtual_time() {
                true => self.simulate(sweep, runs, &mut store, threads, (stop, &shifted))?,
                false => self.really(path, sweep, runs, &mut store, (stop, &shifted))?,
            };
            end.take(done);
            if end.unsaved.is_some() {
                break;
            }
        }
        if let Err(error) = store.save() {
            end.unsaved = Some(error);
        }
        let mine = sweeps.iter().flat_map(|(sweep, runs)| {
            let name = &sweep.layers.name;
            runs.iter().map(move |run| (name, run))
        });
        let mine = mine.filter_map(|(name, run)| store.get(name, &run.point, run.replicate));
        end.summarise(&mine.collect::<Vec<_>>());
        if self.file.survey && !self.in_virtual_time() && !stop.stopped() {
            let survey = self.survey(&before, stop, observer);
            ResultsFolder::add_manifest(path, &json!({ "survey": &survey }))?;
            end.survey = Some(survey);
        }
        Ok(end)
    }

    /// Returns the reason why none of the kernel's devices is present. If at least one is present there is no reason:
    /// the others may come back.
    fn lacks_all_devices(&self) -> Option<String> {
        let paths = self
            .targets()
            .into_iter()
            .filter_map(|target| match target {
                TargetName::Kernel(path) => Some(path),
                TargetName::Own(_) => None,
            });
        let found: Result<Vec<String>, ()> = paths
            .map(|path| match fs::metadata(&path) {
                Ok(_) => Err(()),
                Err(why) => Ok(format!("{}: {why}", path.display())),
            })
            .collect();
        found.ok()?.into_iter().next()
    }

    fn survey(&self, before: &InterruptsBefore, stop: &Stop, observer: &dyn Observer) -> Survey {
        let request = self.survey_request();
        Survey::take(&request, before, stop, &|part| observer.note(part))
    }

    pub(super) fn survey_request(&self) -> SurveyRequest {
        let base = &self.on.base;
        SurveyRequest {
            devices: self.targets(),
            meters: base.energy.without_devices().meters,
            root: base.energy.root.clone(),
            quick: self.on.quick,
            cancel: base.targets.cancel.clone(),
        }
    }

    fn nothing(&self, why: &str) -> CampaignError {
        let refused = self
            .refused
            .first()
            .map(|(name, why)| format!("{name}: {why}"));
        CampaignError::Nothing {
            experiment: self.file.name.clone(),
            why: refused.unwrap_or_else(|| why.to_owned()),
        }
    }

    /// Checks that existing results are not another machine's, where their header has none.
    fn check_machine(&self, store: &RecordStore) -> Result<(), CampaignError> {
        if self.in_virtual_time() {
            // A folder may have results of several modelled machines.
            return Ok(());
        }
        let here = crate::sweep::machine_here();
        match store.records().iter().find(|record| record.machine != here) {
            Some(record) => Err(CampaignError::Nothing {
                experiment: self.file.name.clone(),
                why: format!(
                    "the folder has the results of {}, this is {here}: name another folder, and merge the two",
                    record.machine
                ),
            }),
            None => Ok(()),
        }
    }

    /// Checks that the devices are the drives on which earlier runs in the folder `path` were done.
    fn check_drives(&self, path: &Path) -> Result<(), CampaignError> {
        if self.in_virtual_time() {
            return Ok(());
        }
        let here = drives::describe(&self.targets());
        match drives::changed(&here, &manifests(path)?) {
            Some(Changed { name, there, here }) => Err(CampaignError::OtherDrive {
                path: path.into(),
                name,
                there,
                here,
            }),
            None => Ok(()),
        }
    }

    fn simulate(
        &self,
        sweep: &CampaignSweep,
        runs: &[PlannedRun],
        store: &mut RecordStore,
        threads: usize,
        (stop, observer): (&Stop, &dyn Observer),
    ) -> Result<SweepEnd, CampaignError> {
        let runner = VirtualRunner::new(&sweep.layers.options, stop)?;
        let sweep = sweep.sweep(runs);
        Ok(sweep.simulate(&runner, threads, store, stop, observer)?)
    }

    fn really(
        &self,
        path: &Path,
        sweep: &CampaignSweep,
        runs: &[PlannedRun],
        store: &mut RecordStore,
        (stop, observer): (&Stop, &dyn Observer),
    ) -> Result<SweepEnd, CampaignError> {
        let options = &sweep.layers.options;
        self.repeat_unavailable(sweep, runs, store, stop);
        let done = |run: &PlannedRun| store.has(&sweep.layers.name, &run.point, run.replicate);
        if runs.iter().all(done) {
            return Ok(SweepEnd::default());
        }
        let mut runner = RealRunner::new(options, runs, stop);
        if let Some(manifest) = runner.survey() {
            let mut line = session(&sweep.layers.name, &manifest);
            let drives = drives::describe(&self.targets());
            if !drives.is_empty() {
                line[drives::KEY] = json!(drives);
            }
            ResultsFolder::add_manifest(path, &line)?;
        }
        let mut blocks = Blocks::new(runner, sweep, path, stop);
        let ended = sweep.sweep(runs).run(&mut blocks, store, stop, observer);
        blocks.finish(observer);
        Ok(ended?)
    }
}

impl Campaign {
    /// Marks those of `runs` as to be done again that were unavailable in an earlier session, if they are available now
    /// or the reason is another.
    fn repeat_unavailable(
        &self,
        sweep: &CampaignSweep,
        runs: &[PlannedRun],
        store: &mut RecordStore,
        stop: &Stop,
    ) {
        let name = &sweep.layers.name;
        let before = runs.iter().filter_map(|run| {
            let record = store.get(name, &run.point, run.replicate)?;
            record.is_unavailable().then(|| (run, record.apart()))
        });
        let before: Vec<(&PlannedRun, Option<String>)> = before.collect();
        if before.is_empty() {
            return;
        }
        let points: BTreeSet<&Point> = before.iter().map(|(run, _)| &run.point).collect();
        // In the order of the lists: one device after the other is opened.
        let mut all = sweep.axes.points();
        all.retain(|point| points.contains(point));
        let points = all;
        let now = self.reasons(&sweep.layers.options, &points, stop);
        for (run, why) in before {
            if now.get(&run.point) != Some(&why) {
                store.repeat(name, &run.point, run.replicate);
            }
        }
    }
}

/// Returns a line for the file of manifests.
fn session(sweep: &str, manifest: &Manifest) -> Value {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    json!({
        "sweep": sweep,
        "unix_seconds": since.unwrap_or_default().as_secs_f64(),
        "manifest": manifest,
    })
}

impl CampaignSweep {
    /// Returns the sweep and its runs in `shard`.
    fn of_shard(&self, shard: Shard) -> (&CampaignSweep, Vec<PlannedRun>) {
        let runs = self.runs.iter().enumerate();
        let runs = runs.filter(|(at, _)| shard.has(self.first + at));
        (self, runs.map(|(_, run)| run.clone()).collect())
    }

    fn sweep<'a>(&'a self, runs: &'a [PlannedRun]) -> Sweep<'a> {
        Sweep {
            name: &self.layers.name,
            runs,
            replicates: self.layers.options.base.replicates,
            unfit: Unfit::Record,
        }
    }
}

/// Observer that counts runs from the start of the campaign instead of the sweep.
struct Shifted<'a> {
    observer: &'a dyn CampaignObserver,
    before: usize,
    all: usize,
}

impl Observer for Shifted<'_> {
    fn planned(&self, over: usize, _: usize) {
        self.observer.planned(self.before + over, self.all);
    }

    fn begin(&self, members: &[Member]) {
        self.observer.begin(members);
    }

    fn progress(&self, progress: RunProgress) {
        self.observer.progress(progress);
    }

    fn end(&self) {
        self.observer.end();
    }

    fn note(&self, line: &str) {
        self.observer.note(line);
    }
}

impl CampaignEnd {
    fn take(&mut self, end: SweepEnd) {
        self.done += end.done;
        self.failed.extend(end.failed);
        self.left += end.missing.count();
        self.unsaved = end.unsaved;
    }

    fn summarise(&mut self, records: &[&RunRecord]) {
        let mut metered = BTreeSet::new();
        let mut lacking: Vec<(String, usize)> = Vec::new();
        for record in records {
            let result = &record.result;
            if result.failure.is_some() {
                continue;
            }
            let Some(counts) = &result.counts else {
                let why = record.apart().unwrap_or_default();
                count(&mut self.unavailable, why);
                continue;
            };
            self.with_figures += 1;
            if let Some(why) = record.apart() {
                // Counts by the kind of disturbance, not by its amount.
                let spoiled = result.spoiled.first();
                let kind = spoiled.map(|one| one.by.to_string());
                count(&mut self.apart, kind.unwrap_or_else(|| why.clone()));
                self.first_apart.get_or_insert(why);
            }
            metered.extend(counts.energy.iter().map(|figure| figure.source.clone()));
            // A run shorter than the meter's update interval is not the meter's failure.
            for meter in &counts.unmetered {
                match meter.too_short {
                    true => {
                        metered.insert(meter.meter.clone());
                    }
                    false => count(&mut lacking, meter.meter.clone()),
                }
            }
        }
        lacking.retain(|(meter, _)| metered.contains(meter));
        self.unmetered = lacking;
    }

    /// Describes the problems of the runs in one line; `None` if there was none.
    pub fn trouble(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some((name, why)) = self.failed.first() {
            let failed = self.failed.len();
            parts.push(format!("{failed} run(s) failed; the first, {name}: {why}"));
        }
        if let Some((meter, runs)) = self.unmetered.first() {
            parts.push(format!(
                "{runs} run(s) have no figure of {meter}, others have"
            ));
        }
        if let Some(error) = &self.unsaved {
            parts.push(format!(
                "{error}: not all runs are in it: make room, and run the same again"
            ));
        }
        if self.with_figures == 0 && self.left == 0 {
            let why = self.unavailable.first().map(|(why, _)| why.as_str());
            let why = why.or_else(|| self.failed.first().map(|(_, why)| why.as_str()));
            parts.push(format!(
                "no run has figures: {}",
                why.unwrap_or("none was done")
            ));
        }
        let apart: usize = self.apart.iter().map(|(_, runs)| runs).sum();
        if let Some(why) = &self.first_apart
            && apart == self.with_figures
            && self.left == 0
        {
            parts.push(format!(
                "every run with figures is kept apart, and a report has none: run it again into another --results \
                 once this is mended: {why}"
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Adds one to the count of `what`.
fn count(counts: &mut Vec<(String, usize)>, what: String) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += 1,
        None => counts.push((what, 1)),
    }
}
