//! A run: one workload under one way of waiting, one thread a job.

use crate::cpu;
use crate::job::{Job, JobError};
use crate::looped::{Go, Measured, Message, Worker, WorkerError};
use crate::result::{
    Completion, Counts, EnergyResult, RunResult, Side, ThreadUsage, Threads, VerifyResult,
};
use crate::stats::Tally;
use crate::target::{Activity, Obtained, Target, Way};
use crate::{Area, Stop, Verify};
use joulio_energy::Model;
use joulio_model::{DeviceActivity, MachineProfile, Residency, Transfer};
use joulio_nvme::wait::{Counters, now};
use joulio_units::{Direction, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// What a run needs beside the job.
pub struct Setup<'a> {
    /// The devices; job i runs on device i modulo their number.
    pub targets: &'a [Box<dyn Target>],
    /// The machine whose watts the model uses.
    pub machine: &'a MachineProfile,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// Is told, now and then, how far the run is: 0.0 to 1.0, or `None` where that is not known.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The job does not fit the device.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A job failed.
    #[error("{0}")]
    Worker(#[from] WorkerError),
    /// A job's thread panicked.
    #[error("a job ended unexpectedly; this is a bug of joulio")]
    Panicked,
}

/// Checks that `job` can run on every target, and says which part of each it uses. [`run`] writes
/// nothing before this has passed.
pub fn check(job: &Job, targets: &[Box<dyn Target>]) -> Result<Vec<Area>, JobError> {
    job.check()?;
    if targets.is_empty() {
        return Err(JobError {
            flag: "--device",
            problem: "none to run on".into(),
        });
    }
    let wrong = |flag, problem| JobError { flag, problem };
    targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            if job.iodepth > target.max_depth() {
                return Err(wrong(
                    "--iodepth",
                    format!(
                        "{} is too deep for {}: at most {}",
                        job.iodepth,
                        target.name(),
                        target.max_depth()
                    ),
                ));
            }
            let jobs = (job.numjobs + targets.len() - 1 - index) / targets.len();
            if jobs > target.max_jobs() {
                return Err(wrong(
                    "--numjobs",
                    format!(
                        "{} queue pairs wanted, {} has {}",
                        jobs,
                        target.name(),
                        target.max_jobs()
                    ),
                ));
            }
            if job.rw.does(Direction::Write) && !target.may_write() {
                return Err(wrong(
                    "--rw",
                    format!(
                        "{} writes: data on {} will be lost; say --allow-write if that is meant",
                        job.rw,
                        target.name()
                    ),
                ));
            }
            job.area(target.size(), target.block_size(), target.max_transfer())
        })
        .collect()
}

/// Runs `job` with `way` on the targets.
pub fn run(job: &Job, way: Way, setup: &Setup<'_>) -> Result<RunResult, RunError> {
    let areas = check(job, setup.targets)?;
    let progress: Vec<AtomicU64> = (0..job.numjobs).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        let (messages, inbox) = channel();
        let mut starts = Vec::new();
        let mut threads = Vec::new();
        for (index, done) in progress.iter().enumerate() {
            let at = index % setup.targets.len();
            let target = &setup.targets[at];
            // Jobs on one device share its blocks when they verify.
            let on_device = index / setup.targets.len();
            let peers = (job.numjobs + setup.targets.len() - 1 - at) / setup.targets.len();
            let share = Job {
                numjobs: peers,
                ..job.clone()
            }
            .share(areas[at], on_device);
            let (start, go) = channel();
            starts.push(start);
            let worker = Worker {
                job,
                index,
                share,
                may_write: target.may_write(),
                stop: setup.stop,
                progress: done,
                messages: messages.clone(),
                go,
            };
            let farewell = Farewell(messages.clone());
            let thread = thread::Builder::new()
                .name(format!("joulio-job-{index}"))
                .spawn_scoped(scope, move || {
                    let _farewell = farewell;
                    place(job, index)?;
                    target.work(way, worker)
                });
            threads.push(thread.map_err(|_| RunError::Panicked)?);
        }
        drop(messages);
        let mut conductor = Conductor {
            job,
            setup,
            progress: &progress,
            inbox,
        };
        let outcome = conductor.conduct(starts);
        if outcome.is_none() {
            // The others would go on to their end for nothing.
            setup.stop.stop();
        }
        let mut result = Ok(());
        for thread in threads {
            match thread.join() {
                Ok(Ok(())) | Ok(Err(WorkerError::NotStarted)) => {}
                Ok(Err(error)) => result = Err(error.into()),
                Err(_) => result = Err(RunError::Panicked),
            }
        }
        result?;
        Ok(conductor.report(way, outcome.ok_or(RunError::Panicked)?))
    })
}

/// Says that a job's thread ends, be it by a panic: the others hold the channel open, so that its
/// silence would not be noticed.
struct Farewell(Sender<Message>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.0.send(Message::Gone);
    }
}

/// Puts a job's thread on its CPU, and makes its timers exact.
fn place(job: &Job, index: usize) -> Result<(), WorkerError> {
    // Timer slack of 1 ns: the default of 50 us would be longer than the I/O (prctl(2)).
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
    let Some(&cpu) = job.cpus_allowed.get(index % job.cpus_allowed.len().max(1)) else {
        return Ok(());
    };
    let refuse = |reason: String| WorkerError::Cpu { cpu, reason };
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(refuse("no such CPU".into()));
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| refuse(error.to_string()))
}

/// What came of a run.
enum Outcome {
    Refused(String),
    Done(Box<Finished>),
}

struct Finished {
    obtained: &'static str,
    jobs: Vec<Measured>,
    verify: VerifyResult,
    devices: Vec<Activity>,
    device_threads: ThreadUsage,
}

struct Conductor<'a> {
    job: &'a Job,
    setup: &'a Setup<'a>,
    progress: &'a [AtomicU64],
    inbox: std::sync::mpsc::Receiver<Message>,
}

impl Conductor<'_> {
    /// Starts the jobs together and waits for them. `None` when a job died.
    fn conduct(&mut self, starts: Vec<std::sync::mpsc::Sender<Go>>) -> Option<Outcome> {
        let mut obtained = "";
        for _ in 0..self.job.numjobs {
            match self.inbox.recv().ok()? {
                Message::Ready(Obtained::Yes(name)) => obtained = name,
                // Dropping the start signals ends the other jobs.
                Message::Ready(Obtained::No(reason)) => return Some(Outcome::Refused(reason)),
                _ => return None,
            }
        }
        let go = Go {
            start: now() + Nanos::from_millis(1),
        };
        for start in &starts {
            start.send(go).ok()?;
        }
        let mut jobs = Vec::new();
        let mut verify = VerifyResult::default();
        let (mut before, mut after) = (None, None);
        let (mut verified, mut gone) = (0, 0);
        while verified < self.job.numjobs {
            match self.inbox.recv_timeout(Duration::from_millis(100)) {
                // The window is the first job's beginning to the last one's end.
                Ok(Message::Began) => {
                    before.get_or_insert_with(|| self.look());
                }
                Ok(Message::Measured(measured)) => {
                    jobs.push(*measured);
                    if jobs.len() == self.job.numjobs {
                        after = Some(self.look());
                        for start in &starts {
                            start.send(go).ok()?;
                        }
                    }
                }
                Ok(Message::Verified(result)) => {
                    verified += 1;
                    verify.blocks += result.blocks;
                    verify.errors += result.errors;
                    verify.first_error = verify.first_error.or(result.first_error);
                }
                Ok(Message::Gone) => {
                    gone += 1;
                    if gone > verified {
                        return None;
                    }
                }
                Ok(Message::Ready(_)) => return None,
                Err(RecvTimeoutError::Timeout) => (self.setup.progress)(self.fraction(go.start)),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        let before = before?;
        let (activity, usage) = after?;
        let devices = activity
            .iter()
            .zip(&before.0)
            .map(|(a, b)| since(*a, *b))
            .collect();
        Some(Outcome::Done(Box::new(Finished {
            obtained,
            jobs,
            verify,
            devices,
            device_threads: usage.since(before.1),
        })))
    }

    /// The devices' own figures now.
    fn look(&self) -> (Vec<Activity>, ThreadUsage) {
        let mut usage = ThreadUsage::default();
        for tid in self
            .setup
            .targets
            .iter()
            .flat_map(|target| target.threads())
        {
            usage.add(cpu::thread(tid));
        }
        (
            self.setup
                .targets
                .iter()
                .map(|target| target.activity())
                .collect(),
            usage,
        )
    }

    fn fraction(&self, start: Nanos) -> f64 {
        let by_time = self
            .job
            .runtime
            .map(|runtime| (now() - start).seconds() / (self.job.ramp_time + runtime).seconds());
        let by_ios = self.job.number_ios.map(|n| {
            let done: u64 = self
                .progress
                .iter()
                .map(|p| p.load(Ordering::Relaxed))
                .sum();
            done as f64 / (n as f64 * self.job.numjobs as f64)
        });
        by_time.unwrap_or(0.0).max(by_ios.unwrap_or(0.0)).min(1.0)
    }

    fn report(&self, way: Way, outcome: Outcome) -> RunResult {
        let (obtained, reason, counts) = match outcome {
            Outcome::Refused(reason) => (None, Some(reason), None),
            Outcome::Done(done) => (
                Some(done.obtained.to_string()),
                None,
                Some(self.counts(*done)),
            ),
        };
        RunResult {
            devices: self
                .setup
                .targets
                .iter()
                .map(|t| t.name().to_string())
                .collect(),
            engine: "nvme",
            completion: Completion {
                asked: way.to_string(),
                obtained,
                reason,
            },
            rw: self.job.rw.to_string(),
            bs: self.job.bs,
            iodepth: self.job.iodepth,
            numjobs: self.job.numjobs,
            loop_: self.job.loop_name(),
            interrupted: self.setup.stop.stopped(),
            counts,
        }
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
        let (mut read, mut write) = (Tally::new(), Tally::new());
        let mut counters = Counters::default();
        let mut threads = Threads {
            device: done.device_threads,
            ..Threads::default()
        };
        for job in &done.jobs {
            read.add(&job.read);
            write.add(&job.write);
            counters += job.counters;
            threads.submitter.add(job.usage);
        }
        let mut all = read.clone();
        all.add(&write);
        let unissued = done.jobs.iter().map(|job| job.unissued).sum();
        let cores: Vec<_> = done.jobs.iter().map(residency).collect();
        let devices = self.setup.targets.iter().zip(&done.devices);
        let model = Model {
            machine: self.setup.machine,
            devices: devices
                .map(|(target, a)| {
                    (
                        target.profile(),
                        DeviceActivity {
                            window,
                            read: a.read,
                            write: a.write,
                        },
                    )
                })
                .collect(),
        };
        let energy = model.energy(window, &cores);
        Counts {
            seconds: window.seconds(),
            read: Side::new(&read, window),
            write: Side::new(&write, window),
            all: Side::new(&all, window),
            threads,
            wait: counters.into(),
            energy: EnergyResult::new(&energy, all.ios, all.bytes),
            arrivals_not_issued: unissued,
            verify: (self.job.verify != Verify::None).then_some(done.verify),
            first_error: done.jobs.iter().find_map(|job| job.first_error.clone()),
        }
    }
}

fn since(after: Activity, before: Activity) -> Activity {
    let side = |a: Transfer, b: Transfer| Transfer {
        ios: a.ios.saturating_sub(b.ios),
        bytes: a.bytes.saturating_sub(b.bytes),
        service: a.service - b.service,
    };
    Activity {
        read: side(after.read, before.read),
        write: side(after.write, before.write),
    }
}

/// How a job's core spent the job's time: what it did not spend blocked or asleep, it spun
/// (working and polling cost the same). CPU time in the kernel is not blocked time, though it lies
/// between the same two looks at the clock. After its own end the core is idle, which the base
/// holds.
fn residency(job: &Measured) -> Residency {
    let window = job.ended - job.started;
    let kernel = Nanos::from_seconds(job.usage.system_seconds).min(window);
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
