//! Result of a run, from the results of its jobs and devices.

use crate::conductor::{Finished, RunOutcome};
use crate::energy::figures;
use crate::io_totals::IoTotals;
use crate::job_result::JobResult;
use crate::recorded_ios::RecordedIos;
use crate::setup::Setup;
use crate::spoiled::{Evidence, JobEvidence, judge, settings_lost};
use crate::target::{ModeVerdict, TargetActivity};
use joulio_energy::Model;
use joulio_job::{
    CompletionResult, Counts, DeviceCounts, DirectionResult, FaultCounts, FixedWindow,
    IoStatistics, Job, JobCounts, JobLog, Method, Moment, RunResult, Spoiled, ThreadUsage, Threads,
    Verify, WorkDone,
};
use joulio_model::{DeviceActivity, MachineProfile, Residency};
use joulio_nvme::Faults;
use joulio_nvme::wait::{WaitCounters, now};
use joulio_trace::Thread;
use joulio_units::Nanos;
use std::time::{SystemTime, UNIX_EPOCH};

/// Logs of those jobs that have one.
fn logs(jobs: &mut [JobResult]) -> Vec<JobLog> {
    let logs = jobs.iter_mut().map(|job| JobLog {
        job: job.index,
        ios: std::mem::take(&mut job.log),
    });
    let mut logs: Vec<_> = logs.filter(|log| !log.ios.is_empty()).collect();
    logs.sort_by_key(|log| log.job);
    logs
}

/// Report of a run: the job and the setup that its result is about.
pub(crate) struct RunReport<'a> {
    pub(crate) job: &'a Job,
    pub(crate) setup: &'a Setup<'a>,
}

impl RunReport<'_> {
    /// The result of `outcome` by `method`, and what was recorded of its I/Os.
    pub(crate) fn result(&self, method: Method, outcome: RunOutcome) -> (RunResult, RecordedIos) {
        let (mut recorded, mut spoiled) = (RecordedIos::default(), Vec::new());
        let (effective, reason, counts) = match outcome {
            RunOutcome::Unavailable(reason) => (None, Some(reason), None),
            RunOutcome::Finished(mut done) => {
                let effective = done.effective.clone();
                recorded.traced = threads(&mut done.jobs);
                recorded.logs = logs(&mut done.jobs);
                spoiled = self.spoiled(&done);
                let counts = self.counts(*done);
                match self.judge(method, &counts) {
                    ModeVerdict::AsRequested => (Some(effective), None, Some(counts)),
                    ModeVerdict::Other { effective, reason } => {
                        (Some(effective), Some(reason), Some(counts))
                    }
                }
            }
        };
        let targets = self.setup.targets.iter();
        let completion = CompletionResult {
            requested: method.mode.to_string(),
            effective,
            reason,
        };
        let names = targets.map(|target| target.info().name.clone()).collect();
        let result = RunResult {
            interrupted: self.setup.stop.stopped(),
            spoiled,
            ..RunResult::new(self.job, method, names, completion, counts)
        };
        (result, recorded)
    }

    /// Judges what the run was, by what the machine counted: the first target that says otherwise
    /// is right.
    fn judge(&self, method: Method, counts: &Counts) -> ModeVerdict {
        let targets = self.setup.targets.iter();
        let mut verdicts = targets.map(|target| target.judge(method, counts));
        let other = verdicts.find(|verdict| *verdict != ModeVerdict::AsRequested);
        other.unwrap_or(ModeVerdict::AsRequested)
    }

    /// Returns what spoiled the run.
    fn spoiled(&self, done: &Finished) -> Vec<Spoiled> {
        let lost = self.setup.targets.iter().flat_map(|target| {
            let lost = target.lost_features().into_iter();
            lost.map(|what| settings_lost(&target.info().name, &what))
        });
        let steady = done.steady_state.as_ref();
        let early = steady.is_some_and(|steady| steady.attained);
        let mut spoiled = judge(&Evidence {
            window: done.window,
            jobs: done.jobs.iter().map(|job| self.seen(job, early)).collect(),
            devices: done.did.device_scheduled,
            happened: done.did.happened.clone(),
            cpus: &self.job.cpus_allowed,
            late: done.late,
            requested_to_end: self.setup.stop.stopped(),
        });
        spoiled.extend(lost);
        spoiled
    }

    /// Returns the evidence that shows whether a job was spoiled, of a run that may have ended `early`.
    fn seen(&self, job: &JobResult, early: bool) -> JobEvidence {
        let waits = job.counters.blocks + job.counters.sleeps;
        let due = match (self.job.runtime, self.job.number_ios) {
            (Some(time), None) if !early && !self.setup.stop.stopped() => time,
            _ => Nanos::ZERO,
        };
        JobEvidence {
            index: job.index,
            window: job.ended - job.started,
            due,
            scheduled: job.scheduled,
            never_waits: job.counts_waiting && waits == 0,
            kernel: job.kernel_scheduled,
            learning: job.learning,
            stopped: job.stopped,
        }
    }

    /// Figures of each job, where there are several.
    fn per_job(&self, jobs: &[JobResult], window: Nanos) -> Vec<JobCounts> {
        if jobs.len() < 2 {
            return Vec::new();
        }
        let mut sorted: Vec<&JobResult> = jobs.iter().collect();
        sorted.sort_by_key(|job| job.index);
        let jobs = sorted.into_iter().map(|job| {
            let mut all = IoStatistics::new();
            for share in &job.shares {
                all.add(&share.totals.all());
            }
            JobCounts::new(self.job.max_bs(job.index), &all, window)
        });
        jobs.collect()
    }

    fn counts(&self, done: Finished) -> Counts {
        let start = done
            .jobs
            .iter()
            .map(|job| job.started)
            .min()
            .unwrap_or_default();
        let end = done
            .jobs
            .iter()
            .map(|job| job.ended)
            .max()
            .unwrap_or_default();
        let window = end - start;
        let mut totals = IoTotals::default();
        let mut counters = WaitCounters::default();
        let mut threads = Threads {
            device: done.did.device_threads,
            ..Threads::default()
        };
        let mut of_devices = vec![IoTotals::default(); self.setup.targets.len()];
        for job in &done.jobs {
            for share in &job.shares {
                of_devices[share.device].add(&share.totals);
            }
            counters += job.counters;
            threads.submitter.add(job.usage);
            threads.kernel.add(job.kernel_usage);
        }
        of_devices.iter().for_each(|one| totals.add(one));
        let all = totals.all();
        let devices = self.setup.targets.iter().zip(&of_devices);
        let per_device = devices.map(|(target, one)| {
            let name = target.info().name.clone();
            DeviceCounts::new(name, &one.read, &one.write, Some(&one.trim), window)
        });
        let per_device = per_device.collect();
        let unissued = done.jobs.iter().map(|job| job.unissued).sum();
        let model = self.setup.machine.map(|machine| {
            let home = self.setup.at_home.then_some(machine);
            let cores = done.jobs.iter().flat_map(|job| residencies(job, home));
            let cores: Vec<_> = cores.collect();
            let activity = |a: &TargetActivity| DeviceActivity {
                window: done.window,
                read: a.read,
                write: a.write,
                idle: a.idle,
            };
            let devices = self.setup.targets.iter().zip(&done.did.devices);
            let devices = devices.map(|(target, a)| (target.info().profile.as_ref(), activity(a)));
            let model = Model {
                machine,
                devices: devices.collect(),
            };
            (model.energies(done.window, &cores), model.note(&cores))
        });
        let (energy, unmetered) = figures(
            &done.energy,
            model,
            WorkDone {
                ios: all.ios,
                bytes: all.bytes,
                window: done.window,
            },
        );
        let moments = Moments::now();
        let detailed = |one| DirectionResult::detailed(one, window, &self.job.latency);
        Counts {
            begin: Some(moments.at(start)),
            end: Some(moments.at(end)),
            seconds: window.seconds(),
            read: detailed(&totals.read),
            write: detailed(&totals.write),
            trim: self.job.rw.trims().then(|| detailed(&totals.trim)),
            sync: self.job.has_flushes().then(|| detailed(&totals.sync)),
            all: detailed(&all),
            per_device,
            per_job: self.per_job(&done.jobs, window),
            neighbour_percent: None,
            other_irqs: None,
            steadiness: done.steadiness,
            steady_state: done.steady_state,
            threads,
            wait: counters,
            faults: fault_counts(done.faults),
            system_calls: system_calls(&done.jobs),
            machine: done.did.machine,
            energy,
            unmetered,
            window: self.job.window.map(|requested| FixedWindow {
                requested_seconds: requested.seconds(),
                seconds: done.window.seconds(),
                idle_seconds: done.window.since(window).seconds(),
                fits: window <= requested,
            }),
            arrivals_not_issued: unissued,
            falls_behind: self.job.falls_behind(
                self.setup.targets.len(),
                all.ios + all.errors,
                unissued,
            ),
            verify: (self.job.verify != Verify::None).then_some(done.verify),
            first_error: done.jobs.iter().find_map(|job| job.first_error.clone()),
        }
    }
}

/// The two clocks at one moment, from which others are reckoned.
pub(crate) struct Moments {
    unix_seconds: f64,
    monotonic: Nanos,
}

impl Moments {
    pub(crate) fn now() -> Moments {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Moments {
            unix_seconds: unix.unwrap_or_default().as_secs_f64(),
            monotonic: now(),
        }
    }

    /// The moment `at` on the monotonic clock.
    pub(crate) fn at(&self, at: Nanos) -> Moment {
        let monotonic_seconds = at.seconds();
        Moment {
            unix_seconds: self.unix_seconds + (monotonic_seconds - self.monotonic.seconds()),
            monotonic_seconds,
        }
    }
}

fn fault_counts(f: Faults) -> FaultCounts {
    FaultCounts {
        stale_completions: f.stale,
        doubled_completions: f.doubled,
        unknown_completions: f.unknown,
        timeouts: f.timeouts,
        resets: f.resets,
        ended_by_reset: f.ended_by_reset,
        retries: f.retries,
        vectors_rewritten: f.vectors_rewritten,
    }
}

/// Takes what the jobs recorded, if they did.
fn threads(jobs: &mut [JobResult]) -> Vec<Thread> {
    // They came in as they ended.
    jobs.sort_by_key(|job| job.index);
    let jobs = jobs.iter_mut().map(|job| Thread {
        name: format!("joulio-job-{}", job.index),
        recorded: std::mem::take(&mut job.recorded),
    });
    jobs.collect()
}

/// System calls of all jobs, if all are counted.
fn system_calls(jobs: &[JobResult]) -> Option<u64> {
    jobs.iter().map(|job| job.system_calls).sum()
}

/// A job's core, and the one of the kernel's thread that worked for it.
/// `home`: the machine that the run was on, if the model has its profile.
fn residencies(job: &JobResult, home: Option<&MachineProfile>) -> impl Iterator<Item = Residency> {
    let kernel = (job.kernel_usage.threads > 0).then(|| kernel_residency(job));
    let own = Residency {
        frequency: home.and_then(|machine| {
            machine.frequency_ratio(hertz(job.counted.cycles.as_ref().ok(), &job.usage)?)
        }),
        ..residency(job)
    };
    std::iter::once(own).chain(kernel)
}

/// The mean frequency of a job's core while it ran: its unhalted cycles over its CPU time.
fn hertz(cycles: Option<&u64>, usage: &ThreadUsage) -> Option<f64> {
    /// Less of the coarse CPU times is no base for a quotient.
    const ENOUGH: f64 = 0.1;
    let seconds = usage.user_seconds + usage.system_seconds;
    (seconds >= ENOUGH).then_some(*cycles? as f64 / seconds)
}

/// Returns how a job's core spent the job's time: what it did not spend blocked or asleep, it spun
/// (working and polling cost the same). CPU time in the kernel is not blocked time, though it lies
/// between the same two readings of the clock. After its own end the core is idle, which the base
/// holds.
fn residency(job: &JobResult) -> Residency {
    let window = job.ended - job.started;
    let kernel = Nanos::from_seconds(job.usage.system_seconds).min(window);
    if !job.counts_waiting {
        let spin = Nanos::from_seconds(job.usage.user_seconds).min(window - kernel);
        return Residency {
            spin,
            kernel,
            blocked: window - kernel - spin,
            wakes: job.usage.voluntary_switches,
            ..Residency::default()
        };
    }
    let blocked = job.counters.blocked - kernel;
    let slept = job.counters.slept;
    Residency {
        spin: window - blocked - slept - kernel,
        kernel,
        blocked,
        slept,
        wakes: job.counters.wakes,
        // A block that no interrupt ended was ended by its timer.
        timer_wakes: job.counters.sleeps + job.counters.blocks - job.counters.wakes,
        ..Residency::default()
    }
}

fn kernel_residency(job: &JobResult) -> Residency {
    let window = job.ended - job.started;
    let usage = &job.kernel_usage;
    let busy = Nanos::from_seconds(usage.system_seconds + usage.user_seconds).min(window);
    Residency {
        kernel: busy,
        blocked: window - busy,
        wakes: usage.voluntary_switches,
        ..Residency::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequency_is_cycles_over_cpu_time_where_both_are_known() {
        let usage = |user_seconds, system_seconds| ThreadUsage {
            user_seconds,
            system_seconds,
            ..ThreadUsage::default()
        };
        let cycles = 3_000_000_000;
        assert_eq!(hertz(Some(&cycles), &usage(1.0, 0.5)), Some(2e9));
        assert_eq!(hertz(Some(&cycles), &usage(0.05, 0.0)), None);
        assert_eq!(hertz(None, &usage(1.0, 0.5)), None);
    }
}
