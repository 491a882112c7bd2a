//! Request for advice.

use super::advice::AdviceOptions;
use super::error::AdviseError;
use super::limits::Limits;
use crate::experiment::{ExperimentOptions, WorkloadOptions, check_cpus};
use crate::target_name::TargetName;
use joulio_nvme::wait::{Policy, Promised};
use joulio_units::{Boundary, Nanos, Watts};
use joulio_workload::{CompletionMode, EngineName, Job, Method};
use std::path::PathBuf;

/// Default length of a real run in nanoseconds, and of its ramp.
const RUNTIME: Nanos = Nanos::from_millis(1_000);
const RAMP: Nanos = Nanos::from_millis(300);
/// I/Os of each job by default in virtual time.
const NUMBER_IOS: u64 = 20_000;
/// Smallest depth at which coalescing interrupts can be useful.
const COALESCED: usize = 4;
/// Largest number of completions for which a device raises one interrupt (NVM Express Base 2.0, figure 324: THR).
const MAX_COALESCED: usize = 256;

/// Request for advice: the candidates, and the figure to optimise.
#[derive(Clone, Debug)]
pub struct AdviceRequest {
    /// Devices, workload and energy sources, and the engines, completion modes, schedulers and idle states to combine
    /// into candidates. An empty list means all that are useful. The number of replicates is the number of repetitions
    /// of each candidate's run; in virtual time each has a seed of its own.
    pub experiment: ExperimentOptions,
    /// Source of the workload, if it is to be observed instead of taken from the experiment's options.
    pub observe: Option<Observe>,
    /// Highest power in watts; `None`: the least energy is sought.
    pub cap: Option<Watts>,
    /// Boundary of the cap; `None`: that of the objective.
    pub cap_boundary: Option<Boundary>,
}

/// Source of an observed workload.
#[derive(Clone, Debug)]
pub enum Observe {
    /// The kernel's counters of a disk.
    Disk {
        /// Name of the disk; `None`: the first device.
        disk: Option<String>,
        /// Nanoseconds to watch it for.
        time: Nanos,
    },
    /// One of fio's I/O logs (write_iolog).
    Iolog(PathBuf),
}

impl AdviceRequest {
    /// Returns true if candidates are simulated.
    pub(super) fn in_virtual_time(&self) -> bool {
        self.experiment.twin.is_some()
    }

    /// Returns the job that the request describes, after checking it.
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
        // The twin's own modes are for comparisons only, and used only if they are named.
        possible && modelled && (!of_the_twin || !self.experiment.completion.is_empty())
    }

    /// Returns the interrupt coalescings to try for `job` on devices that have the feature, as `--coalescing` takes
    /// them.
    pub(super) fn coalescing(&self, job: &Job) -> Vec<String> {
        match job.iodepth >= COALESCED {
            true => vec![format!("{},100", (job.iodepth / 2).min(MAX_COALESCED))],
            false => Vec::new(),
        }
    }

    /// Returns the depths to try.
    pub(super) fn depths(&self, job: &Job) -> Vec<usize> {
        if self.cap.is_none() {
            return vec![job.iodepth];
        }
        let powers = std::iter::successors(Some(1), |depth| Some(depth * 2));
        let mut depths: Vec<_> = powers.take_while(|&depth| depth < job.iodepth).collect();
        depths.push(job.iodepth);
        depths
    }

    /// Returns the options for choosing the advice, on a machine whose busy core takes `spin_watts`.
    pub(super) fn options(&self, job: &Job, spin_watts: Option<f64>) -> AdviceOptions {
        let goal = &self.experiment.workload.goal;
        let loads = job.all_loads();
        AdviceOptions {
            objective: goal.objective,
            promised: match (self.cap, goal.goal().promised) {
                // Polling's latencies at one depth give no budget for another depth.
                (Some(_), Promised::Budget { .. }) => Promised::Nothing,
                (_, promised) => promised,
            },
            cap: self.cap,
            cap_boundary: self.cap_boundary,
            open: !loads.iter().any(|load| load.arrivals.is_closed()),
            spin_watts,
        }
    }
}

/// Returns the ramp of a method's runs: twice the time that its policy needs to learn, but at least the job's.
pub(super) fn ramp(job: &Job, method: Method) -> Nanos {
    let policy = method.mode.policy();
    let learning = policy.map_or(Nanos::ZERO, |policy| policy.learning());
    job.ramp_time.max(learning + learning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::RatePhase;

    /// Returns a request whose load has these phases; without any it is a closed loop.
    fn request(phases: &[&str]) -> AdviceRequest {
        let phases = phases.iter();
        let phases = phases.map(|phase| phase.parse::<RatePhase>().expect("a phase"));
        AdviceRequest {
            experiment: ExperimentOptions {
                workload: WorkloadOptions {
                    number_ios: Some(10),
                    phases: phases.collect(),
                    ..WorkloadOptions::default()
                },
                ..ExperimentOptions::default()
            },
            observe: None,
            cap: Some(Watts(112.0)),
            cap_boundary: None,
        }
    }

    #[test]
    fn half_of_the_depth_is_coalesced_as_far_as_a_device_can() {
        let coalescing = |iodepth| {
            let job = Job {
                iodepth,
                ..Job::random_reads(10)
            };
            request(&[]).coalescing(&job)
        };
        assert!(coalescing(3).is_empty());
        assert_eq!(coalescing(4), ["2,100"]);
        assert_eq!(coalescing(2_000), ["256,100"]);
    }

    #[test]
    fn phases_of_rates_are_an_open_loop() {
        for (phases, open) in [
            (&["20k:5s", "2k:10s"][..], true),
            (&["20k:5s", "max:10s"], false),
            (&[], false),
        ] {
            let request = request(phases);
            let job = request.described().expect("a job");
            assert_eq!(request.options(&job, None).open, open, "{phases:?}");
        }
    }
}
