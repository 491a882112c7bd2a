//! Advice as it is requested.

use super::advice::AdviceOptions;
use super::error::AdviseError;
use super::limits::Limits;
use crate::experiment::{ExperimentOptions, WorkloadOptions, check_cpus};
use crate::target_name::TargetName;
use joulio_nvme::wait::{Policy, Promised};
use joulio_units::{Nanos, Watts};
use joulio_workload::{CompletionMode, EngineName, Job, Method};
use std::path::PathBuf;

/// Nanoseconds of a real run by default, and of a run's ramp.
const RUNTIME: Nanos = Nanos::from_millis(1_000);
const RAMP: Nanos = Nanos::from_millis(300);
/// I/Os of each job by default in virtual time.
const NUMBER_IOS: u64 = 20_000;
/// The shallowest depth at which an interrupt for several completions can make sense.
const COALESCED: usize = 4;

/// Advice as it is requested: the candidates, and what is sought among them.
#[derive(Clone, Debug)]
pub struct AdviceRequest {
    /// Devices, workload and sources of energy; the engines, completion modes, schedulers and idle
    /// states that candidates are made of, of each of which none is all that make sense. Its replicates
    /// are the repetitions of each run: in virtual time, seeds.
    pub experiment: ExperimentOptions,
    /// Source of the workload, where the experiment's options do not describe it.
    pub observe: Option<Observe>,
    /// Watts that may be drawn; `None`: the least energy is sought.
    pub cap: Option<Watts>,
}

/// A workload that is observed.
#[derive(Clone, Debug)]
pub enum Observe {
    /// The kernel's counters of a disk.
    Disk {
        /// Name of the disk; `None`: the first device.
        disk: Option<String>,
        /// Nanoseconds to watch it for.
        time: Nanos,
    },
    /// A log of fio's (write_iolog).
    Iolog(PathBuf),
}

impl AdviceRequest {
    /// True if candidates are simulated.
    pub(super) fn in_virtual_time(&self) -> bool {
        self.experiment.twin.is_some()
    }

    /// The job that the request describes, checked.
    pub(super) fn described(&self) -> Result<Job, AdviseError> {
        let ExperimentOptions { workload, .. } = &self.experiment;
        Limits::check_promised(&workload.goal.goal().promised)?;
        let counted = self.in_virtual_time().then_some(NUMBER_IOS);
        let counted = counted.filter(|_| workload.runtime.is_none());
        let number_ios = workload.number_ios.or(counted);
        let by_time = number_ios.is_none().then_some(RUNTIME);
        let job = WorkloadOptions {
            runtime: workload.runtime.or(by_time),
            number_ios,
            ramp_time: workload.ramp_time.or(Some(RAMP)),
            ..workload.clone()
        };
        let job = job.job()?;
        if !self.in_virtual_time() {
            check_cpus(&job.cpus_allowed)?;
        }
        Ok(job)
    }

    /// Returns every engine in every completion mode of `job` that can be tried.
    pub(super) fn methods(&self, job: &Job) -> Result<Vec<Method>, AdviseError> {
        let ExperimentOptions {
            targets,
            engines,
            completion,
            ..
        } = &self.experiment;
        let kernel = [EngineName::IoUring, EngineName::Psync];
        let own = [EngineName::Nvme];
        let on_kernel = matches!(targets.devices.first(), Some(TargetName::Kernel(_)));
        let engines = match (engines.as_slice(), self.in_virtual_time(), on_kernel) {
            ([], true, _) => [&own[..], &kernel].concat(),
            ([], false, true) => kernel.to_vec(),
            ([], false, false) => own.to_vec(),
            (engines, ..) => engines.to_vec(),
        };
        let all = engines.iter().flat_map(|&engine| {
            let modes = match completion.as_slice() {
                [] => &CompletionMode::ALL,
                modes => modes,
            };
            let named = !completion.is_empty();
            let modes = modes
                .iter()
                .filter(move |mode| named || !mode.is_for_comparison());
            modes.map(move |&mode| Method { engine, mode })
        });
        let methods: Vec<_> = all.filter(|&method| self.can(method, job)).collect();
        match methods.is_empty() {
            true => Err(AdviseError::NoMethod),
            false => Ok(methods),
        }
    }

    fn can(&self, Method { engine, mode }: Method, job: &Job) -> bool {
        let of_the_twin = matches!(
            mode,
            CompletionMode::ActiveCheck | CompletionMode::ActiveCheckPoll
        );
        let ours = engine.takes(mode) && !engine.is_external();
        let possible = ours && !(engine == EngineName::Psync && job.iodepth > 1);
        let modelled = !(self.in_virtual_time() && mode == CompletionMode::SqPoll);
        // These are for comparisons only.
        possible && modelled && (!of_the_twin || !self.experiment.completion.is_empty())
    }

    /// Interrupt coalescings that can make sense for `job`, as `--coalescing` takes them: virtual time
    /// alone tries them.
    pub(super) fn coalescing(&self, job: &Job) -> Vec<String> {
        match self.in_virtual_time() && job.iodepth >= COALESCED {
            true => vec![format!("{},100", job.iodepth / 2)],
            false => Vec::new(),
        }
    }

    /// Depths to try.
    pub(super) fn depths(&self, job: &Job) -> Vec<usize> {
        if self.cap.is_none() {
            return vec![job.iodepth];
        }
        let powers = std::iter::successors(Some(1), |depth| Some(depth * 2));
        let mut depths: Vec<_> = powers.take_while(|&depth| depth < job.iodepth).collect();
        depths.push(job.iodepth);
        depths
    }

    /// Returns the options of the advice, where a busy core takes `spin_watts`.
    pub(super) fn options(&self, job: &Job, spin_watts: Option<f64>) -> AdviceOptions {
        let goal = &self.experiment.workload.goal;
        AdviceOptions {
            objective: goal.objective,
            promised: match (self.cap, goal.goal().promised) {
                // Another depth has another polling.
                (Some(_), Promised::Budget { .. }) => Promised::Nothing,
                (_, promised) => promised,
            },
            cap: self.cap,
            open: !job.arrivals.is_closed(),
            spin_watts,
        }
    }
}

/// Returns the ramp of a method: twice the time in which it learns, but no less than the job's.
pub(super) fn ramp(job: &Job, method: Method) -> Nanos {
    let policy = method.mode.policy();
    let learning = policy.map_or(Nanos::ZERO, |policy| policy.learning());
    job.ramp_time.max(learning + learning)
}
