//! Options of an experiment.

use super::energy::EnergyOptions;
use super::io_logs::IoLogs;
use super::settings::ExperimentSettings;
use super::workload::WorkloadOptions;
use crate::error::OpenError;
use crate::targets::TargetOptions;
use crate::virtual_time::TwinOptions;
use joulio_nvme::wait::{AnyPolicy, Hybrid, Policy};
use joulio_units::Nanos;
use joulio_workload::{CompletionMode, EngineName, Job, JobError, Method, RingOptions};

/// Options of an experiment, as the flags of `joulio bench` or a file specify them.
#[derive(Clone, Debug)]
pub struct ExperimentOptions {
    /// Devices, and how they are opened.
    pub targets: TargetOptions,
    /// Engines; empty: the first device's default.
    pub engines: Vec<EngineName>,
    /// Completion modes; empty: those of [`ExperimentOptions::methods`].
    pub completion: Vec<CompletionMode>,
    /// The workload.
    pub workload: WorkloadOptions,
    /// Settings of the machine; every run is done with each combination of them.
    pub settings: ExperimentSettings,
    /// Number of repetitions of all runs, in turn, at least 1.
    pub replicates: u32,
    /// Sources of energy figures, and the machine of the model.
    pub energy: EnergyOptions,
    /// Virtual time in place of this machine; `None`: real runs.
    pub twin: Option<TwinOptions>,
    /// Logs of single I/Os.
    pub io_logs: IoLogs,
}

impl Default for ExperimentOptions {
    fn default() -> ExperimentOptions {
        ExperimentOptions {
            targets: TargetOptions::default(),
            engines: Vec::new(),
            completion: Vec::new(),
            workload: WorkloadOptions::default(),
            settings: ExperimentSettings::default(),
            replicates: 1,
            energy: EnergyOptions::default(),
            twin: None,
            io_logs: IoLogs::default(),
        }
    }
}

impl ExperimentOptions {
    /// Default length of a run without a number of I/Os, in nanoseconds.
    pub const RUNTIME: Nanos = Nanos::from_millis(5_000);
    /// Default ramp of such a run, in nanoseconds.
    pub const RAMP: Nanos = Nanos::from_millis(1_000);
    /// Default completion modes of joulio's driver.
    pub const MODES: [CompletionMode; 4] = [
        CompletionMode::Poll,
        CompletionMode::Interrupt,
        CompletionMode::Hybrid,
        CompletionMode::Adaptive,
    ];

    /// Returns the engines, after checking that each works on every device.
    ///
    /// # Errors
    /// An engine does not work on a device.
    pub fn engines(&self) -> Result<Vec<EngineName>, OpenError> {
        let devices = &self.targets.devices;
        let engines = match (self.engines.as_slice(), devices.first()) {
            ([], Some(device)) => vec![device.engine()],
            (engines, _) => engines.to_vec(),
        };
        // In virtual time every engine is simulated on an emulated device.
        for engine in engines.iter().filter(|_| self.twin.is_none()) {
            for device in devices {
                device.check(*engine)?;
            }
        }
        Ok(engines)
    }

    /// Returns the completion modes of `engine`: those that were named, or its defaults.
    pub fn modes(&self, engine: EngineName) -> &[CompletionMode] {
        match (self.completion.as_slice(), engine) {
            ([], EngineName::Nvme) => &ExperimentOptions::MODES,
            ([], EngineName::SpdkNvmePerf) => &[CompletionMode::Poll],
            ([], _) => &[CompletionMode::Interrupt],
            (modes, _) => modes,
        }
    }

    /// Returns each of `engines` in each completion mode, in turn. If no mode was named, the modes are
    /// [`ExperimentOptions::MODES`] for joulio's driver and interrupts for the kernel's engines.
    pub fn methods(&self, engines: &[EngineName]) -> Vec<Method> {
        let each = engines.iter().flat_map(|&engine| {
            let modes = self.modes(engine);
            modes.iter().map(move |&mode| Method { engine, mode })
        });
        each.collect()
    }

    /// Returns the job of the workload, with the default length if none was requested.
    ///
    /// # Errors
    /// A flag is not valid, or conflicts with the devices.
    pub fn job(&self) -> Result<Job, JobError> {
        let by_time = self.workload.number_ios.is_none();
        let runtime = self.workload.runtime;
        let workload = WorkloadOptions {
            runtime: runtime.or(by_time.then_some(ExperimentOptions::RUNTIME)),
            ramp_time: Some(self.ramp(Nanos::ZERO)),
            ..self.workload.clone()
        };
        let job = workload.job()?;
        Ok(Job {
            log_ios: self.io_logs.any(),
            ..job
        })
    }

    /// Returns `job` as `method` runs it, with a ramp in which the method's policy can learn.
    pub fn job_of(&self, job: &Job, method: Method) -> Job {
        let learning = match (method.engine, method.mode.policy()) {
            (EngineName::Nvme, Some(policy)) => policy.learning(),
            // The kernel's hybrid polling learns over epochs of 100 ms too.
            _ if method.mode == CompletionMode::Hybrid => {
                AnyPolicy::Hybrid(Hybrid::automatic()).learning()
            }
            _ => Nanos::ZERO,
        };
        Job {
            ramp_time: self.ramp(learning),
            ..job.clone()
        }
    }

    /// Returns the ramp in nanoseconds of a run whose policy needs `learning` to learn. By default it is twice as long,
    /// because an epoch may begin late.
    fn ramp(&self, learning: Nanos) -> Nanos {
        let usual = match self.workload.number_ios {
            None => ExperimentOptions::RAMP,
            Some(_) => learning + learning,
        };
        self.workload.ramp_time.unwrap_or(usual)
    }

    /// Returns an error if options of io_uring were given but it is not among `engines`.
    pub(super) fn check_ring(&self, engines: &[EngineName]) -> Result<(), JobError> {
        let given = self.targets.ring != RingOptions::default();
        match given && !engines.iter().any(|engine| engine.has_ring()) {
            true => Err(JobError {
                flag: "--fixedbufs, --registerfiles, --sqthread_*",
                problem: "only for io_uring, which is not among the engines: add it to --engine, or leave them out".into(),
            }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ramps of `modes` with `engine`, in milliseconds.
    fn ramps(options: &ExperimentOptions, engine: EngineName, modes: &str) -> Vec<u64> {
        let modes = modes.split(',').map(|mode| mode.parse().expect("a mode"));
        let options = ExperimentOptions {
            completion: modes.collect(),
            ..options.clone()
        };
        let job = options.job().expect("a job");
        let methods = options.methods(&[engine]).into_iter();
        let ramps = methods.map(|method| options.job_of(&job, method).ramp_time.0 / 1_000_000);
        ramps.collect()
    }

    #[test]
    fn learners_have_a_ramp_of_twice_what_they_learn_in() {
        let all = "poll,interrupt,hybrid,hybrid=4us,ehp,pas,dpas,hybrid-tpause";
        let by_time = ExperimentOptions::default();
        let mut by_count = by_time.clone();
        by_count.workload.number_ios = Some(10);
        let learnt = [0, 0, 200, 0, 20, 20, 20, 20];
        assert_eq!(ramps(&by_count, EngineName::Nvme, all), learnt);
        assert_eq!(ramps(&by_time, EngineName::Nvme, all), [1_000; 8]);
        let psync = ramps(&by_count, EngineName::Psync, "interrupt,hybrid");
        assert_eq!(psync, [0, 200]);
        by_count.workload.ramp_time = Some(Nanos::ZERO);
        assert_eq!(ramps(&by_count, EngineName::Nvme, all), [0; 8]);
    }

    #[test]
    fn options_of_io_uring_go_with_io_uring_alone() {
        let mut options = ExperimentOptions::default();
        options.targets.ring.fixed_buffers = true;
        let wrong = options.check_ring(&[EngineName::Psync]).unwrap_err();
        assert!(wrong.to_string().contains("--fixedbufs"), "{wrong}");
        for engine in [EngineName::IoUring, EngineName::IoUringCmd] {
            assert_eq!(options.check_ring(&[engine]), Ok(()));
        }
    }
}
