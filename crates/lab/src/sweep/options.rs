//! Options of a sweep, and the experiments of its runs.

use super::axes::Axes;
use super::beside_error::BesideError;
use super::device_set::DeviceSet;
use super::factor::{AS_JOBS, Factor, FactorError, method};
use super::machine::SweepMachine;
use super::order::{Order, PlannedRun, plan};
use crate::experiment::{Experiment, ExperimentError, ExperimentOptions, GoalOptions};
use crate::record::Point;
use crate::virtual_time::TwinOptions;
use joulio_host::power_states::coalescing;
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, EngineName, JobKind, RingOptions, parse_time};
use serde_json::{Value, json};
use std::fmt::Display;

/// Options of a sweep, as the flags of `joulio bench` or a file specify them.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// Options of every run, except for the values of factors.
    pub base: ExperimentOptions,
    /// Lists of devices and of the workload's factors. The lists of methods and settings are in `base`; a list here
    /// replaces one there.
    pub axes: Axes,
    /// Order of the points within a repetition.
    pub order: Order,
    /// Name of its section in a job file; empty: it is not a section.
    pub section: String,
    /// Number of its reporting group: sections with the same number are one row.
    pub reporting_group: usize,
    /// Sections that run at the same time; these have no sections of their own.
    pub beside: Vec<SweepOptions>,
    /// Number of jobs in sweeps that the same command ran before: the numbers of I/O logs continue from it.
    pub jobs_before: usize,
}

impl SweepOptions {
    /// Returns all sections: this one, and those that run at the same time.
    pub fn sections(&self) -> impl Iterator<Item = &SweepOptions> {
        std::iter::once(self).chain(&self.beside)
    }

    /// Returns the number of jobs of a run in all sections; if a section has several numbers, its largest counts.
    ///
    /// # Errors
    /// A number is not valid.
    pub fn jobs(&self) -> Result<usize, FactorError> {
        let sections = self.sections().map(|section| {
            let listed = section.axes.values(Factor::NumJobs).iter();
            let listed = listed.map(|text| Factor::NumJobs.parse(text));
            let listed: Vec<usize> = listed.collect::<Result<_, _>>()?;
            let alone = section.base.workload.numjobs;
            Ok(listed.into_iter().max().unwrap_or(alone))
        });
        sections.sum()
    }

    /// Returns the lists of all sections: lists of several values, which are the same in every section that has one,
    /// and values that are the same in all sections.
    ///
    /// # Errors
    /// A list has a value twice or one that is not valid, or lists differ between sections.
    pub fn all_axes(&self) -> Result<Axes, FactorError> {
        let sections = self.sections().map(|one| Ok((one, one.own_axes()?)));
        let sections: Vec<_> = sections.collect::<Result<_, FactorError>>()?;
        let mut all = Axes::default();
        for (factor, _) in Factor::ALL {
            let mut lists = sections
                .iter()
                .map(|(one, axes)| (one, axes.values(factor)));
            let varied = lists.clone().find(|(_, list)| list.len() > 1);
            if let Some((_, list)) = varied {
                let other = lists.find(|(_, other)| other.len() > 1 && *other != list);
                if let Some((section, _)) = other {
                    let section = section.section.clone();
                    return Err(FactorError::Differs { factor, section });
                }
                all.set(factor, list)?;
            } else if let Some((_, list)) = lists.next()
                && !list.is_empty()
                // With several sections, the run has more jobs than a section.
                && (self.beside.is_empty() || factor != Factor::NumJobs)
                && lists.all(|(_, other)| other == list)
            {
                all.set(factor, list)?;
            }
        }
        Ok(all)
    }

    /// Returns the lists of this section: the sweep's own, and those of the experiment's methods and settings.
    ///
    /// # Errors
    /// A list has a value twice, or one that is not valid.
    pub fn own_axes(&self) -> Result<Axes, FactorError> {
        let mut all = self.axes.clone();
        let base = &self.base;
        let mut set = |factor, values: Vec<String>| match values.is_empty() {
            true => Ok(()),
            false if !self.axes.values(factor).is_empty() => Ok(()),
            false => all.set(factor, values),
        };
        let engines = self.engines()?;
        let modes = engines.iter().map(|engine| base.modes(*engine));
        let widest = modes.max_by_key(|modes| modes.len()).unwrap_or_default();
        set(Factor::Engine, texts(&engines))?;
        set(Factor::Completion, texts(widest))?;
        set(Factor::Scheduler, base.settings.schedulers.clone())?;
        set(Factor::MaxCstate, base.settings.max_cstates.clone())?;
        if let Some(twin) = &base.twin {
            set(Factor::Frequency, texts(&twin.frequencies))?;
            let coalescing = twin.coalescing.iter().map(|value| coalescing_text(*value));
            set(Factor::Coalescing, coalescing.collect())?;
        }
        Ok(all)
    }

    /// Returns the engines: those that are named, or the defaults of the devices.
    fn engines(&self) -> Result<Vec<EngineName>, FactorError> {
        let named = self.base.engines.as_slice();
        if !named.is_empty() {
            return Ok(named.to_vec());
        }
        let listed = self.axes.values(Factor::Device).iter();
        let mut usual = Vec::new();
        for text in listed {
            let engine = usual_engine(&text.replace(AS_JOBS, "count=1"))?;
            usual.extend(engine.filter(|engine| !usual.contains(engine)));
        }
        if usual.is_empty() {
            let first = self.base.targets.devices.first();
            usual.extend(first.map(|device| device.engine()));
        }
        Ok(usual)
    }

    /// Returns the runs of all points of `axes`, in their order. If no engines are named, each device has its default;
    /// if no completion modes are named, each engine has its own.
    ///
    /// # Errors
    /// A point has no engine or completion mode.
    pub fn runs(&self, axes: &Axes) -> Result<Vec<PlannedRun>, FactorError> {
        let mut points = axes.points();
        for section in self.sections() {
            if section.engines_are_devices()? {
                let usual = points.into_iter().map(|point| {
                    let usual = section.is_usual(&point)?;
                    Ok(usual.then_some(point))
                });
                points = usual
                    .filter_map(Result::transpose)
                    .collect::<Result<_, _>>()?;
            }
            if section.axes.values(Factor::Completion).is_empty() {
                let methods = points.iter().map(|point| method(&section.point(point)?));
                let methods: Vec<_> = methods.collect::<Result<_, _>>()?;
                let mut methods = methods.into_iter();
                points.retain(|_| {
                    let method = methods.next();
                    method.is_some_and(|one| section.base.modes(one.engine).contains(&one.mode))
                });
            }
        }
        let seed = self.base.workload.seed;
        Ok(plan(&points, self.base.replicates, self.order, seed))
    }

    /// Returns true if no engine is named, and the devices that are compared have different default engines.
    fn engines_are_devices(&self) -> Result<bool, FactorError> {
        let named = !self.base.engines.is_empty() || !self.axes.values(Factor::Engine).is_empty();
        Ok(!named && self.engines()?.len() > 1)
    }

    /// Returns true if the engine at `point` is the default of the devices there.
    fn is_usual(&self, point: &Point) -> Result<bool, FactorError> {
        let point = self.point(point)?;
        let usual = devices_text(&point).map(|text| usual_engine(&text));
        Ok(usual.transpose()?.flatten() == Some(method(&point)?.engine))
    }

    /// Returns this section's factors in a run at `point`: values of its own, and for lists of several values those of
    /// `point`.
    ///
    /// # Errors
    /// A list is not valid.
    pub fn point(&self, point: &Point) -> Result<Point, FactorError> {
        let axes = self.own_axes()?;
        let own = axes.lists().map(|(factor, list)| {
            let value = match list {
                [one] => Some(one),
                _ => point.get(factor.name()),
            };
            Some((factor.name().to_owned(), value?.clone()))
        });
        let mut own: Point = own.flatten().collect();
        if self.beside.is_empty() && self.section.is_empty() {
            // A run may have factors that are in no list.
            own.extend(point.clone());
        }
        Ok(own)
    }

    /// Returns `run` with the factors of this section.
    pub(super) fn section_run(&self, run: &PlannedRun) -> Result<PlannedRun, FactorError> {
        Ok(PlannedRun {
            point: self.point(&run.point)?,
            ..run.clone()
        })
    }

    /// Returns the options of the experiment of `run` alone. Each repetition has a seed of its own, which is the same
    /// for all points.
    ///
    /// # Errors
    /// A factor's value is not valid.
    pub fn options_of(&self, run: &PlannedRun) -> Result<ExperimentOptions, FactorError> {
        let point = &run.point;
        let mut options = ExperimentOptions {
            replicates: 1,
            ..self.base.clone()
        };
        let method = method(point)?;
        (options.engines, options.completion) = (vec![method.engine], vec![method.mode]);
        if !method.engine.has_ring() {
            options.targets.ring = RingOptions::default();
        }
        let usual = GoalOptions::default();
        let goal = &mut options.workload.goal;
        if *goal != usual && method.mode != CompletionMode::Adaptive && self.adapts()? {
            // The goal is for the sweep's adaptive runs only.
            *goal = usual;
        }
        let workload = &mut options.workload;
        workload.seed = workload.seed.wrapping_add(u64::from(run.replicate) - 1);
        update(&mut workload.rw, Factor::Rw.value(point)?);
        update(&mut workload.rwmixread, Factor::RwMixRead.value(point)?);
        update(&mut workload.bs, Factor::Bs.value(point)?);
        match Factor::QueuePriority.text(point) {
            None => {}
            Some("none") => workload.queue_priority = None,
            Some(_) => workload.queue_priority = Factor::QueuePriority.value(point)?,
        }
        update(&mut workload.iodepth, Factor::IoDepth.value(point)?);
        update(&mut workload.numjobs, Factor::NumJobs.value(point)?);
        match Factor::RateIops.text(point) {
            None => {}
            Some("max") => workload.rate_iops = None,
            Some(_) => workload.rate_iops = Factor::RateIops.value(point)?,
        }
        if let Some(text) = Factor::ThinkTime.text(point) {
            let time = parse_time(text, 1_000).map_err(|why| Factor::ThinkTime.wrong(why))?;
            workload.thinktime = Some(Nanos(time));
        }
        if let Some(text) = devices_text(point) {
            let set: DeviceSet = Factor::Device.parse(&text)?;
            options.targets.devices = set.targets();
        }
        match Factor::Process.value(point)? {
            Some(true) => workload.kind = JobKind::Process,
            Some(false) => workload.kind = JobKind::Thread,
            None => {}
        }
        let one = |factor: Factor| factor.text(point).map(str::to_owned).into_iter().collect();
        options.settings.schedulers = one(Factor::Scheduler);
        options.settings.max_cstates = one(Factor::MaxCstate);
        match &mut options.twin {
            Some(twin) => *twin = twin_of(twin, run)?,
            None => {
                let coalescing = coalescing_of(point)?;
                update(&mut options.settings.coalescing, coalescing.map(Some));
            }
        }
        Ok(options)
    }

    /// Returns true if `adaptive` is among the completion modes of this section.
    fn adapts(&self) -> Result<bool, FactorError> {
        let adaptive = CompletionMode::Adaptive.to_string();
        Ok(self
            .own_axes()?
            .values(Factor::Completion)
            .contains(&adaptive))
    }

    /// Returns the experiment of `run` alone, with all checks that are possible before anything is opened.
    ///
    /// # Errors
    /// A factor's value is not valid, or conflicts with another.
    pub fn experiment(&self, run: &PlannedRun) -> Result<Experiment, SweepOptionsError> {
        if self.base.twin.is_none() && Factor::Frequency.text(&run.point).is_some() {
            let problem = "the clock is set in virtual time only: leave frequency out elsewhere";
            return Err(Factor::Frequency.wrong(problem).into());
        }
        Ok(Experiment::new(self.options_of(run)?)?)
    }

    /// Returns everything that a run's result depends on beside its factors, for the header of a state file.
    pub fn header(&self) -> Value {
        let mut header = self.common();
        let profiles = self.file_profiles();
        if !profiles.is_empty() {
            header["profiles"] = profiles.into();
        }
        if self.base.twin.is_none() {
            header[SweepMachine::KEY] = json!(SweepMachine::here());
        }
        header
    }

    /// Returns the header without the content of profiles in files.
    pub(crate) fn common(&self) -> Value {
        let mut base = self.base.clone();
        base.replicates = 1;
        // Lists may change between sessions, so they are not part of the header.
        let usual = ExperimentOptions::default();
        base.engines = Vec::new();
        base.completion = Vec::new();
        base.targets.devices = Vec::new();
        base.targets.cancel = usual.targets.cancel;
        base.settings.schedulers = Vec::new();
        base.settings.max_cstates = Vec::new();
        let (workload, usual) = (&mut base.workload, usual.workload);
        (workload.rw, workload.rwmixread) = (usual.rw, usual.rwmixread);
        (workload.bs, workload.iodepth) = (usual.bs, usual.iodepth);
        (workload.numjobs, workload.rate_iops) = (usual.numjobs, usual.rate_iops);
        workload.thinktime = usual.thinktime;
        workload.queue_priority = usual.queue_priority;
        // Keeping histograms does not change a run.
        workload.latency.bins = usual.latency.bins;
        if let Some(twin) = &mut base.twin {
            *twin = TwinOptions {
                surroundings: twin.surroundings,
                ..TwinOptions::default()
            };
        }
        let mut header =
            json!({ "joulio": env!("CARGO_PKG_VERSION"), "experiment": format!("{base:?}") });
        if !self.beside.is_empty() {
            // Settings that only one section has are not among the factors of runs.
            let sections = self.sections().map(|one| {
                let alone = SweepOptions {
                    beside: Vec::new(),
                    ..one.clone()
                };
                let axes = one.own_axes().map(|axes| axes.points().into_iter().next());
                json!([one.section, alone.common(), axes.ok()])
            });
            header["sections"] = sections.collect();
        }
        header
    }
}

/// Returns the default engine for the devices in `text`.
fn usual_engine(text: &str) -> Result<Option<EngineName>, FactorError> {
    let set: DeviceSet = Factor::Device.parse(text)?;
    Ok(set.targets().first().map(|device| device.engine()))
}

/// Returns the devices at `point`, with the number of jobs in place of `count=numjobs`; `None` if the point has no
/// devices.
pub(super) fn devices_text(point: &Point) -> Option<String> {
    let text = Factor::Device.text(point)?;
    let jobs = Factor::NumJobs.text(point).unwrap_or("1");
    Some(text.replace(AS_JOBS, &format!("count={jobs}")))
}

/// Reason why a run of a sweep is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SweepOptionsError {
    /// A factor's value is not valid.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// The values do not fit together.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Sections cannot run at the same time.
    #[error(transparent)]
    Beside(#[from] BesideError),
}

fn twin_of(twin: &TwinOptions, run: &PlannedRun) -> Result<TwinOptions, FactorError> {
    let point = &run.point;
    let frequency = Factor::Frequency.value(point)?;
    let mut surroundings = twin.surroundings;
    update(
        &mut surroundings.neighbours,
        Factor::Neighbours.value(point)?,
    );
    Ok(TwinOptions {
        frequencies: frequency.into_iter().collect(),
        coalescing: coalescing_of(point)?.into_iter().collect(),
        surroundings,
    })
}

/// Returns the interrupt coalescing of `point`; `None` if the point does not have it.
fn coalescing_of(point: &Point) -> Result<Option<InterruptCoalescing>, FactorError> {
    let parsed = Factor::Coalescing.text(point).map(coalescing::parse);
    let parsed = parsed.transpose();
    parsed.map_err(|why| Factor::Coalescing.wrong(why))
}

fn update<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// Returns `value` in the form of `--coalescing`.
fn coalescing_text(value: InterruptCoalescing) -> String {
    let count = coalescing::completions(value);
    format!("{count},{}", coalescing::microseconds(value))
}

fn texts<T: Display>(values: &[T]) -> Vec<String> {
    values.iter().map(T::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_nvme::wait::Objective;
    use joulio_workload::{Arrivals, ReadWrite};

    fn run(point: &[(&str, &str)], replicate: u32) -> PlannedRun {
        let method = [("engine", "nvme"), ("completion", "hybrid")];
        let all = method.iter().chain(point);
        PlannedRun {
            point: all.map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            replicate,
            order: 1,
        }
    }

    #[test]
    fn a_point_becomes_an_experiment() {
        let point = [
            ("rw", "randrw"),
            ("rwmixread", "70"),
            ("bs", "8k"),
            ("iodepth", "4"),
            ("numjobs", "2"),
            ("rate_iops", "1000"),
            ("scheduler", "none"),
        ];
        let options = SweepOptions::default().options_of(&run(&point, 3)).unwrap();
        assert_eq!(options.settings.schedulers, ["none"]);
        let job = options.job().unwrap();
        assert_eq!((job.rw, job.rwmixread), (ReadWrite::RandRw, 70));
        assert_eq!((job.iodepth, job.numjobs, job.seed), (4, 2, 3));
        assert_eq!(job.bs, 8192.into());
        assert_eq!(job.arrivals, Arrivals::Every(Nanos(1_000_000)));
        let max = run(&[("rate_iops", "max")], 1);
        let closed = SweepOptions::default().options_of(&max).unwrap();
        assert_eq!(closed.job().unwrap().arrivals, Arrivals::Closed);
    }

    #[test]
    fn a_point_sets_the_coalescing_of_real_devices_and_no_clock() {
        let options = SweepOptions::default();
        let run_at = |factor: &str, value: &str| run(&[(factor, value)], 1);
        let coalescing = |value: &str| {
            let options = options.options_of(&run_at("coalescing", value)).unwrap();
            options.settings.coalescing
        };
        assert_eq!(coalescing("8,100"), coalescing::parse("8,100").ok());
        assert_eq!(coalescing("off"), coalescing::parse("off").ok());
        let clock = run_at("frequency", "2GHz");
        let refused = options.experiment(&clock).unwrap_err().to_string();
        assert!(refused.contains("in virtual time only"), "{refused}");
        let mut twin = options.clone();
        twin.base.twin = Some(TwinOptions::default());
        assert!(twin.experiment(&clock).is_ok());
        let of_twin = twin.options_of(&run_at("coalescing", "8,100")).unwrap();
        assert_eq!(of_twin.settings.coalescing, None);
        assert_eq!(of_twin.twin.unwrap().coalescing.len(), 1);
    }

    #[test]
    fn each_engine_has_its_own_completion_modes_by_default() {
        let mut options = SweepOptions::default();
        options.base.engines = vec![EngineName::Nvme, EngineName::Psync];
        let axes = options.all_axes().unwrap();
        let runs = options.runs(&axes).unwrap();
        let shown = runs.iter().map(|run| {
            let point = &run.point;
            format!("{} {}", point["engine"], point["completion"])
        });
        let shown: Vec<_> = shown.collect();
        assert_eq!(
            shown.join(", "),
            "nvme poll, nvme interrupt, nvme hybrid, nvme adaptive, psync interrupt"
        );
    }

    #[test]
    fn each_device_has_its_own_engine_by_default() {
        let mut options = SweepOptions::default();
        let devices = ["emulated:instant", "./disk.img"];
        options.axes.set(Factor::Device, devices).unwrap();
        let shown = |options: &SweepOptions| {
            let runs = options.runs(&options.all_axes().unwrap()).unwrap();
            let shown = runs.iter().map(|run| {
                let point = &run.point;
                format!(
                    "{} {} {}",
                    point["device"], point["engine"], point["completion"]
                )
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            shown(&options),
            "emulated:instant nvme poll, emulated:instant nvme interrupt, emulated:instant nvme hybrid, \
             emulated:instant nvme adaptive, ./disk.img io_uring interrupt"
        );
        options.base.completion = vec![CompletionMode::Interrupt];
        assert_eq!(
            shown(&options),
            "emulated:instant nvme interrupt, ./disk.img io_uring interrupt"
        );
        // Named engines are used even for devices that do not support them.
        options.base.engines = vec![EngineName::Nvme];
        let runs = options.runs(&options.all_axes().unwrap()).unwrap();
        assert!(options.experiment(&runs[1]).is_err());
    }

    #[test]
    fn a_goal_is_of_the_runs_that_adapt_and_refused_where_none_does() {
        let mut options = SweepOptions::default();
        options.base.workload.goal.objective = Some(Objective::Wall);
        let (wanted, usual) = (options.base.workload.goal, GoalOptions::default());
        let goals = |options: &SweepOptions| {
            let runs = options.runs(&options.all_axes().unwrap()).unwrap();
            let goals = runs.iter().map(|run| {
                let experiment = options.experiment(run).map_err(|error| error.to_string())?;
                Ok(experiment.options().workload.goal)
            });
            goals.collect::<Result<Vec<_>, String>>()
        };
        assert_eq!(goals(&options), Ok(vec![usual, usual, usual, wanted]));
        options.base.completion = vec![CompletionMode::Adaptive, CompletionMode::Poll];
        assert_eq!(goals(&options), Ok(vec![wanted, usual]));
        options.base.completion = vec![CompletionMode::Poll, CompletionMode::Interrupt];
        let refused = goals(&options).unwrap_err();
        assert!(
            refused.starts_with("--objective: only for adaptive"),
            "{refused}"
        );
    }

    #[test]
    fn a_header_is_that_of_other_lists_and_not_of_another_workload() {
        let options = SweepOptions::default();
        let mut other = options.clone();
        other.base.workload.iodepth = 8;
        other.base.engines = vec![EngineName::Psync];
        other.base.replicates = 7;
        assert_eq!(options.header(), other.header());
        other.base.workload.runtime = Some(Nanos(1));
        assert_ne!(options.header(), other.header());
    }
}
