//! The thread that starts a run's jobs together, watches them, and looks at the devices and the
//! meters before and after.

use crate::cpu;
use crate::looped::{Go, Measured, Message};
use crate::machine::{self, ThreadCounters};
use crate::process::head_start;
use crate::run::{RunError, Setup};
use crate::spoiled::Scheduled;
use crate::target::{Activity, Target};
use crate::{Happened, Surroundings};
use joulio_energy::{self as energy, Meters, Window};
use joulio_job::{Availability, Job, MachineCounters, ThreadUsage, VerifyResult};
use joulio_model::Transfer;
use joulio_nvme::wait::now;
use joulio_units::{Joules, Nanos};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::sleep;
use std::time::Duration;

/// How often to look up.
const CHECK_INTERVAL: Duration = Duration::from_nanos(CHECK_INTERVAL_NANOS.0);
const CHECK_INTERVAL_NANOS: Nanos = Nanos::from_millis(100);

/// What came of a run.
pub(crate) enum Outcome {
    Refused(String),
    Done(Box<Finished>),
}

pub(crate) struct Finished {
    pub(crate) obtained: String,
    pub(crate) jobs: Vec<Measured>,
    pub(crate) verify: VerifyResult,
    pub(crate) devices: Vec<Activity>,
    pub(crate) device_threads: ThreadUsage,
    pub(crate) measured: Vec<energy::Measured>,
    pub(crate) machine: MachineCounters,
    /// How long energy was counted for.
    pub(crate) window: Nanos,
    /// What happened beside it.
    pub(crate) happened: Happened,
    /// The devices' threads together, and how many.
    pub(crate) device_scheduled: (Scheduled, usize),
    /// By how much this thread was late at the most.
    pub(crate) late: Nanos,
}

pub(crate) struct Conductor<'a> {
    pub(crate) job: &'a Job,
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) progress: &'a [AtomicU64],
    pub(crate) inbox: Receiver<Message>,
}

/// What a run's jobs have told so far.
#[derive(Default)]
struct Told {
    jobs: Vec<Measured>,
    verify: VerifyResult,
    verified: usize,
    gone: usize,
}

/// The devices' own figures, and the machine's, at a moment.
struct Snapshot {
    machine: machine::Snapshot,
    surroundings: Surroundings,
    activity: Vec<Activity>,
    usage: ThreadUsage,
    scheduled: Scheduled,
}

/// The end of the measured part.
struct End {
    look: Snapshot,
    measured: Vec<energy::Measured>,
    window: Nanos,
}

impl Conductor<'_> {
    /// Starts the jobs together and waits for them.
    pub(crate) fn conduct(
        &mut self,
        starts: Vec<Sender<Go>>,
        meters: &mut Meters,
    ) -> Result<Outcome, RunError> {
        let obtained = match self.ready()? {
            Availability::Effective(name) => name,
            // Dropping the start signals ends the other jobs.
            Availability::Unavailable(reason) => return Ok(Outcome::Refused(reason)),
        };
        // Before any I/O: a meter may take a second to be read.
        let mut window = Some(meters.open().map_err(RunError::Meters)?);
        // Without a ramp the first I/O counts, and may be over before a job's word is heard.
        let looks = || (machine::Snapshot::now(), Surroundings::now(self.setup.root));
        let mut idle = (self.job.ramp_time == Nanos::ZERO).then(looks);
        let go = Go {
            start: now() + head_start(self.job.kind, self.job.numjobs),
        };
        let go_on = || starts.iter().try_for_each(|start| start.send(go));
        go_on().map_err(|_| RunError::Panicked)?;
        let mut told = Told::default();
        let (mut before, mut end) = (None, None);
        let mut late = Nanos::ZERO;
        while told.verified < self.job.numjobs {
            let looked = now();
            let message = self.inbox.recv_timeout(CHECK_INTERVAL);
            if before.is_some() && end.is_none() {
                late = late.max(now().since(looked + CHECK_INTERVAL_NANOS));
            }
            match message {
                // The window is the first job's beginning to the last one's end.
                Ok(Message::Began) if before.is_none() => {
                    let mut look = self.look();
                    if let Some(idle) = idle.take() {
                        (look.machine, look.surroundings) = idle;
                    }
                    before = Some(look);
                    // Without a ramp it has only just been opened.
                    if let Some(window) = &mut window
                        && self.job.ramp_time > Nanos::ZERO
                    {
                        window.restart();
                    }
                }
                Ok(Message::Began) => {}
                Ok(Message::Measured(measured)) => {
                    told.jobs.push(*measured);
                    if told.jobs.len() == self.job.numjobs {
                        end = Some(self.end(&told.jobs, window.take()));
                        go_on().map_err(|_| RunError::Panicked)?;
                    }
                }
                Ok(Message::Verified(result)) => told.verified(result),
                Ok(Message::Gone) => {
                    told.gone += 1;
                    if told.gone > told.verified {
                        return Err(RunError::Panicked);
                    }
                }
                Err(RecvTimeoutError::Timeout) => (self.setup.progress)(self.fraction(go.start)),
                Ok(Message::Ready(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::Panicked);
                }
            }
        }
        told.name_other_writer(self.setup.targets);
        let (Some(before), Some(end)) = (before, end) else {
            return Err(RunError::Panicked);
        };
        let devices = end.look.activity.iter().zip(&before.activity);
        let targets = self.setup.targets.iter();
        let disks: Vec<_> = targets.map(|target| target.disk()).collect();
        let threads = told.jobs.iter().map(|job| &job.counted);
        let threads = threads.fold(ThreadCounters::none(), |sum, job| sum.and(job));
        Ok(Outcome::Done(Box::new(Finished {
            obtained,
            machine: end.look.machine.since(&before.machine, &disks, &threads),
            jobs: told.jobs,
            verify: told.verify,
            devices: devices.map(|(a, b)| since(*a, *b)).collect(),
            device_threads: end.look.usage.since(before.usage),
            device_scheduled: (
                end.look.scheduled.since(before.scheduled),
                before.usage.threads,
            ),
            happened: end.look.surroundings.since(&before.surroundings),
            late,
            measured: end.measured,
            window: end.window,
        })))
    }

    /// What every job has obtained, or why one has not.
    fn ready(&mut self) -> Result<Availability, RunError> {
        let mut obtained = Availability::Effective(String::new());
        for _ in 0..self.job.numjobs {
            match self.inbox.recv() {
                Ok(Message::Ready(no @ Availability::Unavailable(_))) => return Ok(no),
                Ok(Message::Ready(yes)) => obtained = yes,
                _ => return Err(RunError::Panicked),
            }
        }
        Ok(obtained)
    }

    /// All jobs are done: waits for the end of a fixed window, and reads what there is to read.
    fn end(&self, jobs: &[Measured], window: Option<Window<'_>>) -> End {
        let start = jobs.iter().map(|job| job.started).min();
        let start = start.unwrap_or_default();
        if let Some(length) = self.job.window {
            let end = start + length;
            while now() < end && !self.setup.stop.stopped() {
                sleep(CHECK_INTERVAL.min(Duration::from_nanos(end.since(now()).0)));
            }
        }
        let ended = now();
        // The device first: the meters may take their time.
        let look = self.look();
        let baseline = self.setup.baseline;
        let measured = window.map_or_else(Vec::new, |window| window.close(baseline));
        let worked = jobs.iter().map(|job| job.ended).max().unwrap_or_default();
        End {
            look,
            measured,
            window: match self.job.window {
                Some(_) => ended.since(start),
                None => worked.since(start),
            },
        }
    }

    fn look(&self) -> Snapshot {
        let mut usage = ThreadUsage::default();
        let mut scheduled = Scheduled {
            run_delay: Some(Nanos::ZERO),
            ..Scheduled::default()
        };
        let targets = || self.setup.targets.iter();
        for tid in targets().flat_map(|target| target.threads()) {
            usage.add(cpu::thread(tid));
            scheduled = scheduled.and(cpu::scheduled_of(tid));
        }
        Snapshot {
            machine: machine::Snapshot::now(),
            surroundings: Surroundings::now(self.setup.root),
            scheduled,
            activity: targets().map(|target| target.activity()).collect(),
            usage,
        }
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
}

impl Told {
    /// Data that nobody here wrote has a cause, where somebody else may be writing too.
    fn name_other_writer(&mut self, targets: &[Box<dyn Target>]) {
        if let Some(first) = &mut self.verify.first_error
            && let Some(writer) = targets.iter().find_map(|target| target.other_writer())
        {
            first.push_str("; ");
            first.push_str(writer);
        }
    }

    fn verified(&mut self, result: VerifyResult) {
        self.verified += 1;
        self.verify.blocks += result.blocks;
        self.verify.errors += result.errors;
        self.verify.first_error = self.verify.first_error.take().or(result.first_error);
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
        idle: after.idle.zip(before.idle).map(|(a, b)| Joules(a.0 - b.0)),
    }
}
