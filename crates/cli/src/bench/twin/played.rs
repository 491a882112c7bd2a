//! What was played, as the result of a run.

use joulio_host::power_states::coalescing::describe;
use joulio_twin::{Path, Simulated, Times};
use joulio_workload::{
    CompletionMode, CompletionResult, Counts, DirectionResult, EnergyResult, FaultCounts,
    IoStatistics, Job, MachineCounters, Method, RunResult, ThreadUsage, Threads, WorkDone,
};
use std::collections::BTreeMap;

use super::{Set, ways};

/// What a result is about.
pub struct Played<'a> {
    job: &'a Job,
    method: Method,
    devices: &'a [String],
    set: Set<'a>,
}

/// Counters of a real machine that virtual time has none of.
const NOT_THERE: [&str; 8] = [
    "timer_interrupts",
    "disks",
    "cpuidle",
    "cycles",
    "c01_cycles",
    "c02_cycles",
    "instructions",
    "dispatch",
];

impl<'a> Played<'a> {
    /// Of `job` by `method` on `devices`, as they were named, with what was `set`.
    pub fn new(job: &'a Job, method: Method, devices: &'a [String], set: Set<'a>) -> Played<'a> {
        Played {
            job,
            method,
            devices,
            set,
        }
    }

    /// The result of a way of waiting that could not be had, for `reason`.
    pub fn refused(&self, reason: String) -> RunResult {
        self.shell(None, Some(reason), None)
    }

    /// The result of `done`.
    pub fn result(&self, done: &Simulated) -> RunResult {
        let counts = counts(self.method, self.job, done);
        let obtained = match self.method.mode {
            // The rule alone does not say who polls.
            CompletionMode::SqPollPoll => self.method.mode.to_string(),
            _ => done.policy.clone(),
        };
        RunResult {
            past_tdp: done.past_tdp,
            ..self.shell(Some(obtained), None, Some(counts))
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let scheduler = self.set.scheduler.map(String::from);
        let frequency = self.set.frequency.map(|(asked, _)| asked.to_string());
        let coalescing = self.set.coalescing.map(describe);
        let set = [
            ("scheduler", scheduler),
            ("frequency", frequency),
            ("coalescing", coalescing),
        ];
        let set = set.into_iter();
        set.filter_map(|(name, value)| Some((name.into(), value?)))
            .collect()
    }

    fn shell(
        &self,
        obtained: Option<String>,
        reason: Option<String>,
        counts: Option<Counts>,
    ) -> RunResult {
        RunResult {
            devices: self.devices.to_vec(),
            engine: self.method.engine,
            completion: CompletionResult {
                requested: self.method.mode.to_string(),
                effective: obtained,
                reason,
            },
            settings: self.settings(),
            rw: self.job.rw,
            bs: self.job.bs.clone(),
            iodepth: self.job.iodepth,
            numjobs: self.job.numjobs,
            job_kind: self.job.kind,
            ramp_seconds: self.job.ramp_time.seconds(),
            loop_: self.job.arrivals.loop_name(),
            interrupted: false,
            modelled: true,
            spoiled: Vec::new(),
            past_tdp: None,
            counts,
        }
    }
}

fn counts(method: Method, job: &Job, done: &Simulated) -> Counts {
    let side = |side: &joulio_twin::Side| {
        let statistics = IoStatistics {
            ios: side.ios,
            errors: 0,
            bytes: side.bytes,
            latency: side.latency.clone(),
            total_latency: side.total,
        };
        DirectionResult::new(&statistics, done.window)
    };
    let all = done.all();
    let energy = EnergyResult::new(
        &done.energy,
        WorkDone {
            ios: all.ios,
            bytes: all.bytes,
            window: done.window,
        },
    );
    Counts {
        seconds: done.window.seconds(),
        read: side(&done.read),
        write: side(&done.write),
        all: side(&all),
        threads: Threads {
            submitter: usage(method, job, done),
            ..Threads::default()
        },
        wait: done.counters.into(),
        faults: FaultCounts::default(),
        system_calls: None,
        machine: machine(done),
        energy: vec![energy],
        unmetered: Vec::new(),
        window: None,
        arrivals_not_issued: done.unissued,
        verify: None,
        first_error: None,
    }
}

/// CPU time of the jobs' CPUs. By the kernel's path all of it is the kernel's, looks included.
fn usage(method: Method, job: &Job, done: &Simulated) -> ThreadUsage {
    let times = done.cpus.iter().map(|(_, times)| times);
    // What runs in the idle task's name is on no thread's account, as in a real run.
    let charged: f64 = times.clone().map(|times| times.charged().seconds()).sum();
    let user = |times: &Times| times.busy() - times.kernel;
    let user: f64 = times.map(|times| user(times).seconds()).sum();
    let system_seconds = match ways::path(method) {
        Path::Kernel | Path::Uring | Path::Sqpoll => charged,
        Path::User => charged - user,
    };
    ThreadUsage {
        threads: job.numjobs,
        user_seconds: charged - system_seconds,
        system_seconds,
        voluntary_switches: done.counters.sleeps + done.counters.blocks,
        involuntary_switches: done.preempted,
    }
}

fn machine(done: &Simulated) -> MachineCounters {
    let none = |name| (name, "virtual time has no such counter".to_owned());
    MachineCounters {
        device_interrupts: Some(done.counters.interrupts),
        missing: NOT_THERE.into_iter().map(none).collect(),
        ..MachineCounters::default()
    }
}
