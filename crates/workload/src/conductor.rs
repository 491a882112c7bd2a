//! The thread that starts a run's jobs together, watches them, and reads the devices, the machine
//! and the meters before and after. `protocol.rs` draws what it and a job say to each other.

mod outcome;
mod rates;
mod snapshot;
mod steady;

pub(crate) use outcome::{Finished, RunOutcome};

use crate::control::CHECK_INTERVAL;
use crate::job_result::JobResult;
use crate::machine::ThreadCounters;
use crate::process::head_start;
use crate::progress::{JobProgress, RunProgress};
use crate::protocol::{JobMessage, JobOrder, Verified};
use crate::run_error::RunError;
use crate::setup::Setup;
use joulio_energy::{MeterResult, Meters, Window};
use joulio_job::{Availability, Job, VerifyResult};
use joulio_nvme::Faults;
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use rates::Rates;
pub(crate) use snapshot::MachineSnapshot;
use snapshot::RunSnapshot;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::sleep;
use std::time::Duration;
use steady::SteadyWatch;

pub(crate) struct Conductor<'a> {
    pub(crate) job: &'a Job,
    pub(crate) setup: &'a Setup<'a>,
    /// I/Os done, by job.
    pub(crate) progress: &'a [JobProgress],
    /// Ends the jobs when the run has reached what it was to reach.
    pub(crate) enough: &'a AtomicBool,
    pub(crate) inbox: Receiver<JobMessage>,
    /// Dropping them ends the jobs that wait for an order.
    pub(crate) orders: Vec<Sender<JobOrder>>,
}

/// The end of the measured part.
struct End {
    snapshot: RunSnapshot,
    energy: Vec<MeterResult>,
    window: Nanos,
}

impl Conductor<'_> {
    /// Starts the jobs together and takes them through their states.
    pub(crate) fn conduct(self, meters: &mut Meters) -> Result<RunOutcome, RunError> {
        let effective = match self.wait_until_ready()? {
            Availability::Effective(name) => name,
            Availability::Unavailable(reason) => return Ok(RunOutcome::Unavailable(reason)),
        };
        // Before any I/O: a meter may take a second to be read.
        let mut window = meters.open().map_err(RunError::Meters)?;
        // Without a ramp the first I/O counts, and may be over before a job's word is heard.
        let no_ramp = self.job.ramp_time == Nanos::ZERO;
        let idle = no_ramp.then(|| MachineSnapshot::now(self.setup.root));
        let start = now() + head_start(self.job.kind, self.job.numjobs);
        self.order(JobOrder::Start(start))?;
        self.wait_until_one_began(start)?;
        let mut before = RunSnapshot::now(self.setup);
        match idle {
            Some(idle) => before.machine = idle,
            // With a ramp the window has been open for its time.
            None => window.restart(),
        }
        let mut rates = Rates::default();
        let measured = start + self.job.ramp_time;
        let steady = self.job.steady_state;
        let mut steady = steady.map(|asked| SteadyWatch::new(asked, measured));
        let (jobs, late) = self.wait_until_finished(start, &mut rates, steady.as_mut())?;
        let end = self.end(&jobs, window);
        self.order(JobOrder::Verify)?;
        let Verified {
            checked: verify,
            faults,
        } = self.wait_until_verified(start)?;
        let threads = jobs.iter().map(|job| &job.counted);
        let threads = threads.fold(ThreadCounters::none(), |sum, job| sum.and(job));
        let targets = self.setup.targets.iter();
        let disks: Vec<_> = targets.map(|target| target.info().disk.as_ref()).collect();
        let did = end.snapshot.since(&before, &disks, &threads);
        Ok(RunOutcome::Finished(Box::new(Finished {
            effective,
            jobs,
            verify,
            did,
            energy: end.energy,
            window: end.window,
            late,
            faults,
            steadiness: rates.steadiness(),
            steady_state: steady.map(|steady| steady.result()),
        })))
    }

    /// Waits until all jobs are prepared: the effective completion mode, or why one has none.
    fn wait_until_ready(&self) -> Result<Availability, RunError> {
        let mut effective = Availability::Effective(String::new());
        for _ in 0..self.job.numjobs {
            match self.inbox.recv() {
                Ok(JobMessage::Ready(no @ Availability::Unavailable(_))) => return Ok(no),
                Ok(JobMessage::Ready(yes)) => effective = yes,
                _ => return Err(RunError::Panicked),
            }
        }
        Ok(effective)
    }

    /// Waits until the first job has begun its measured part: the window is that moment to the
    /// last one's end.
    fn wait_until_one_began(&self, start: Nanos) -> Result<(), RunError> {
        loop {
            match self.next(start)? {
                Some(JobMessage::Began) => return Ok(()),
                Some(_) => return Err(RunError::Panicked),
                None => {}
            }
        }
    }

    /// Waits until all jobs have finished: their results, and by how much this thread was late at
    /// the most. Meanwhile it takes the `rates`.
    fn wait_until_finished(
        &self,
        start: Nanos,
        rates: &mut Rates,
        mut steady: Option<&mut SteadyWatch>,
    ) -> Result<(Vec<JobResult>, Nanos), RunError> {
        let (mut jobs, mut late) = (Vec::new(), Nanos::ZERO);
        let mut began = 1;
        while jobs.len() < self.job.numjobs {
            let due = now() + CHECK_INTERVAL;
            let message = self.next(start)?;
            late = late.max(now().since(due));
            match message {
                Some(JobMessage::Finished(result)) => jobs.push(*result),
                Some(JobMessage::Began) => began += 1,
                // Before all have begun, and when one has ended, the sum is of something else.
                None if began >= self.job.numjobs && jobs.is_empty() => {
                    let (at, done) = (now(), JobProgress::sum(self.progress));
                    rates.add(at, done.0);
                    if steady.as_mut().is_some_and(|steady| steady.add(at, done)) {
                        self.enough.store(true, Ordering::Relaxed);
                    }
                }
                None => {}
                Some(_) => return Err(RunError::Panicked),
            }
        }
        Ok((jobs, late))
    }

    /// Waits until all jobs have verified what they wrote, and adds up their results.
    fn wait_until_verified(&self, start: Nanos) -> Result<Verified, RunError> {
        let (mut checked, mut faults) = (VerifyResult::default(), Faults::default());
        let (mut verified, mut ended) = (0, 0);
        while verified < self.job.numjobs {
            match self.next(start)? {
                Some(JobMessage::Verified(one)) => {
                    verified += 1;
                    checked.add(one.checked);
                    faults += one.faults;
                }
                // A job that ends without having verified has failed.
                Some(JobMessage::Ended) if ended < verified => ended += 1,
                Some(_) => return Err(RunError::Panicked),
                None => {}
            }
        }
        self.name_other_writer(&mut checked);
        Ok(Verified { checked, faults })
    }

    /// The next message of a job; none when none has come for a while, and progress is reported.
    fn next(&self, start: Nanos) -> Result<Option<JobMessage>, RunError> {
        match self.inbox.recv_timeout(duration(CHECK_INTERVAL)) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => {
                (self.setup.progress)(self.state(start));
                Ok(None)
            }
            Err(RecvTimeoutError::Disconnected) => Err(RunError::Panicked),
        }
    }

    fn order(&self, order: JobOrder) -> Result<(), RunError> {
        let sent = self.orders.iter().try_for_each(|job| job.send(order));
        sent.map_err(|_| RunError::Panicked)
    }

    /// Waits for the end of a fixed window, reads the counters and closes the meters.
    fn end(&self, jobs: &[JobResult], window: Window<'_>) -> End {
        let start = jobs.iter().map(|job| job.started).min();
        let start = start.unwrap_or_default();
        if let Some(length) = self.job.window {
            let end = start + length;
            while now() < end && !self.setup.stop.stopped() {
                sleep(duration(CHECK_INTERVAL.min(end.since(now()))));
            }
        }
        let ended = now();
        // The devices first: the meters may take their time.
        let snapshot = RunSnapshot::now(self.setup);
        let energy = window.close(self.setup.baseline);
        let worked = jobs.iter().map(|job| job.ended).max().unwrap_or_default();
        End {
            snapshot,
            energy,
            window: match self.job.window {
                Some(_) => ended.since(start),
                None => worked.since(start),
            },
        }
    }

    /// Data that nobody here wrote has a cause, where somebody else may be writing too.
    fn name_other_writer(&self, verify: &mut VerifyResult) {
        let mut targets = self.setup.targets.iter();
        if let Some(first) = &mut verify.first_error
            && let Some(writer) = targets.find_map(|target| target.other_writer())
        {
            first.push_str("; ");
            first.push_str(&writer);
        }
    }

    /// Progress of the run.
    fn state(&self, start: Nanos) -> RunProgress {
        let measured = now().since(start + self.job.ramp_time);
        let (ios, bytes) = match measured > Nanos::ZERO {
            true => JobProgress::sum(self.progress),
            false => (0, 0),
        };
        RunProgress {
            fraction: self.fraction(start),
            measured,
            ios,
            bytes,
        }
    }

    /// Fraction of the run that is over, 0 to 1, by time or by I/Os.
    fn fraction(&self, start: Nanos) -> f64 {
        let by_time = self
            .job
            .runtime
            .map(|runtime| (now() - start).seconds() / (self.job.ramp_time + runtime).seconds());
        let by_ios = self.job.number_ios.map(|n| {
            let (ios, _) = JobProgress::sum(self.progress);
            let works = self.job.numjobs.max(self.setup.targets.len());
            let all = n.saturating_mul(self.job.rw.ios_of_one());
            ios as f64 / (all as f64 * works as f64)
        });
        by_time.unwrap_or(0.0).max(by_ios.unwrap_or(0.0)).min(1.0)
    }
}

fn duration(length: Nanos) -> Duration {
    Duration::from_nanos(length.0)
}
