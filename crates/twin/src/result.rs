//! The result of a run in virtual time.

use crate::device::Device;
use crate::io_log::IoCounts;
use crate::{CoreTimes, Path};
use joulio_job::{
    CompletionMode, CompletionResult, Counts, DeviceCounts, DirectionResult, EnergyResult,
    FaultCounts, IdleCounters, IoStatistics, Job, JobCounts, MachineCounters, Method, Placement,
    RunResult, ThreadUsage, Threads, WorkDone,
};
use joulio_model::machine::costs::IdleState;
use joulio_model::{EnergyParts, TransferTotals};
use joulio_units::{Energy, Nanos};
use joulio_wait::WaitCounters;
use std::collections::BTreeMap;

/// I/Os of one device in the window.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceResult {
    /// Name of the profile.
    pub name: String,
    /// Reads that began in the window; service times are the profile's means.
    pub read: TransferTotals,
    /// Writes that began in the window; service times are the profile's means.
    pub write: TransferTotals,
}

/// A run in virtual time: the result of a real run, and figures that only a model can give. All of them are
/// modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct TwinRun {
    /// The result, in the form of a real run's.
    pub result: RunResult,
    /// Nanoseconds from the end of the ramp to the end of the last job.
    pub window: Nanos,
    /// Statistics of the reads.
    pub read: IoStatistics,
    /// Statistics of the writes.
    pub write: IoStatistics,
    /// Counters of waiting, summed over all jobs.
    pub counters: WaitCounters,
    /// Times of the hardware threads that have jobs, by their numbers.
    pub cpus: Vec<(usize, CoreTimes)>,
    /// Times of their physical cores, for which energy is counted.
    pub cores: Vec<CoreTimes>,
    /// Number of times that a job's CPU was given to another thread.
    pub preempted: u64,
    /// Percentage of the time of the jobs' CPUs that threads of another program had; `None`: there were no such
    /// threads.
    pub neighbour_percent: Option<f64>,
    /// Interrupts of other queues and devices on the jobs' CPUs; `None`: none were requested.
    pub other_irqs: Option<u64>,
    /// I/Os of each device.
    pub devices: Vec<DeviceResult>,
    /// Joules within the widest boundary, with the band of the profiles' figures.
    pub energy: Energy,
    /// Joules by the part of the machine that used them.
    pub parts: EnergyParts,
    /// Counts of the measured I/Os one by one, job by job; empty unless the setup has `per_io`.
    pub per_io: Vec<IoCounts>,
}

impl TwinRun {
    /// Returns the statistics of reads and writes together.
    pub fn all(&self) -> IoStatistics {
        let mut all = self.read.clone();
        all.add(&self.write);
        all
    }

    /// Returns the number of reads and writes.
    pub fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    /// Returns the I/Os per second.
    pub fn iops(&self) -> f64 {
        match self.window {
            Nanos::ZERO => 0.0,
            window => self.ios() as f64 / window.seconds(),
        }
    }

    /// Returns the name of the effective completion mode.
    pub fn effective(&self) -> &str {
        self.result.completion.effective.as_deref().unwrap_or("")
    }

    /// Returns the nanoseconds of CPU time per I/O, of all code: handlers of interrupts and the scheduler included.
    pub fn cpu_per_io(&self) -> Option<f64> {
        self.per_io(CoreTimes::busy)
    }

    /// Returns the nanoseconds of CPU time per I/O that the system charges to threads: without the code that runs
    /// in the idle task.
    pub fn charged_per_io(&self) -> Option<f64> {
        self.per_io(CoreTimes::charged)
    }

    fn per_io(&self, part: fn(&CoreTimes) -> Nanos) -> Option<f64> {
        let sum: u64 = self.cpus.iter().map(|(_, times)| part(times).0).sum();
        (self.ios() > 0).then(|| sum as f64 / self.ios() as f64)
    }
}

/// Counters of a real machine that virtual time does not model.
const NOT_MODELLED: [&str; 7] = [
    "timer_interrupts",
    "disks",
    "cycles",
    "c01_cycles",
    "c02_cycles",
    "instructions",
    "dispatch",
];

/// Counts of a run, as parts of its result.
pub(crate) struct Counted<'a> {
    pub(crate) window: Nanos,
    pub(crate) read: &'a IoStatistics,
    pub(crate) write: &'a IoStatistics,
    pub(crate) devices: &'a [Device<'a>],
    pub(crate) counters: WaitCounters,
    pub(crate) cpus: &'a [(usize, CoreTimes)],
    pub(crate) preempted: u64,
    /// Arrivals of an open loop that were due before the end and never issued.
    pub(crate) unissued: u64,
    /// Unissued arrivals, and those that were due beyond the job's limited number of I/Os.
    pub(crate) behind: u64,
    /// Figures of each job, if there are several.
    pub(crate) per_job: Vec<JobCounts>,
    /// Percentage of the time of the jobs' CPUs that threads of another program had.
    pub(crate) neighbour_percent: Option<f64>,
    /// Interrupts of other queues and devices on the jobs' CPUs.
    pub(crate) other_irqs: Option<u64>,
    pub(crate) energies: &'a [Energy],
}

impl Counted<'_> {
    /// Returns the result of `job` by `method` on `devices`; `policy` is the name of the policy that waited.
    pub(crate) fn result(
        &self,
        job: &Job,
        method: Method,
        devices: Vec<String>,
        policy: String,
    ) -> RunResult {
        let effective = match method.mode {
            // The policy's name alone does not say which thread polls.
            CompletionMode::SqPollPoll => method.mode.to_string(),
            _ => policy,
        };
        let completion = CompletionResult {
            requested: method.mode.to_string(),
            effective: Some(effective),
            reason: None,
        };
        let counts = self.counts(job, method, &devices);
        RunResult {
            modelled: true,
            ..RunResult::new(job, method, devices, completion, Some(counts))
        }
    }

    fn counts(&self, job: &Job, method: Method, devices: &[String]) -> Counts {
        let per_device = devices.iter().zip(self.devices);
        let per_device = per_device.map(|(name, device)| {
            let [read, write] = &device.completed;
            DeviceCounts::new(name.clone(), read, write, None, self.window)
        });
        let per_device = per_device.collect();
        let mut all = self.read.clone();
        all.add(self.write);
        let work = WorkDone {
            ios: all.ios,
            bytes: all.bytes,
            window: self.window,
        };
        Counts {
            begin: None,
            end: None,
            seconds: self.window.seconds(),
            read: DirectionResult::detailed(self.read, self.window, &job.latency),
            write: DirectionResult::detailed(self.write, self.window, &job.latency),
            trim: None,
            sync: None,
            all: DirectionResult::detailed(&all, self.window, &job.latency),
            per_device,
            per_job: self.per_job.clone(),
            neighbour_percent: self.neighbour_percent,
            other_irqs: self.other_irqs,
            steadiness: None,
            steady_state: None,
            placement: Placement::default(),
            threads: Threads {
                submitter: self.usage(job, method),
                ..Threads::default()
            },
            wait: self.counters,
            faults: FaultCounts::default(),
            system_calls: None,
            machine: self.machine(),
            energy: (self.energies.iter())
                .map(|energy| EnergyResult::new(energy, work))
                .collect(),
            unmetered: Vec::new(),
            window: None,
            arrivals_not_issued: self.unissued,
            falls_behind: job.falls_behind(devices.len(), all.ios, self.behind),
            verify: None,
            first_error: None,
        }
    }

    /// Returns the CPU time of the jobs' CPUs. On the kernel's paths all of it is system time, polls included.
    fn usage(&self, job: &Job, method: Method) -> ThreadUsage {
        let times = self.cpus.iter().map(|(_, times)| times);
        // Time in the idle task is charged to no thread, as on a real machine.
        let charged: f64 = times.clone().map(|times| times.charged().seconds()).sum();
        let user = |times: &CoreTimes| times.busy() - times.kernel - times.polled_idle;
        let user: f64 = times.map(|times| user(times).seconds()).sum();
        let system_seconds = match Path::of(method) {
            Path::Kernel | Path::Uring | Path::Sqpoll => charged,
            Path::User => charged - user,
        };
        ThreadUsage {
            threads: job.numjobs,
            user_seconds: charged - system_seconds,
            system_seconds,
            voluntary_switches: self.counters.sleeps + self.counters.blocks,
            involuntary_switches: self.preempted,
        }
    }

    /// Returns the use of the idle states that the jobs' CPUs entered, by the kernel's names.
    fn idle(&self) -> BTreeMap<String, IdleCounters> {
        let times = || self.cpus.iter().map(|(_, times)| times);
        let used = IdleState::ALL.map(|state| {
            let counters = IdleCounters {
                entries: times().map(|times| times.entered[state as usize]).sum(),
                seconds: times().map(|times| times.idle_in(state).seconds()).sum(),
            };
            (state.name().to_owned(), counters)
        });
        let entered = used.into_iter().filter(|(_, used)| used.entries > 0);
        entered.collect()
    }

    fn machine(&self) -> MachineCounters {
        let none = |name| {
            (
                str::to_owned(name),
                "virtual time has no such counter".to_owned(),
            )
        };
        MachineCounters {
            device_interrupts: Some(self.counters.interrupts),
            cpuidle: Some(self.idle()),
            missing: NOT_MODELLED.into_iter().map(none).collect(),
            ..MachineCounters::default()
        }
    }
}
