//! The thread that starts a run's jobs together, watches them, and reads the counters of the devices and the
//! machine and the meters before and after. The messages between it and a job are in `protocol.rs`.

mod outcome;
mod rates;
mod snapshot;
mod steady;
mod watch;

pub(crate) use outcome::{Finished, FinishedMember, RunOutcome};

use crate::control::CHECK_INTERVAL;
use crate::job_result::JobResult;
use crate::machine::ThreadCounters;
use crate::member::Member;
use crate::process::head_start;
use crate::progress::{MemberProgress, RunProgress, sum};
use crate::protocol::{JobMessage, JobOrder};
use crate::run_error::RunError;
use crate::setup::Setup;
use joulio_energy::{MeterResult, Meters, Window};
use joulio_job::{Availability, Job, VerifyResult};
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use rates::Rates;
use snapshot::RunSnapshot;
pub(crate) use snapshot::{DeviceThreads, MachineSnapshot};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::sleep;
use std::time::Duration;
use watch::MemberWatch;

pub(crate) struct Conductor<'a> {
    pub(crate) members: &'a [Member],
    pub(crate) setup: &'a Setup<'a>,
    /// Progress of the members' jobs.
    pub(crate) progress: &'a [MemberProgress],
    /// Messages of the jobs, each with the number of its member.
    pub(crate) inbox: Receiver<(usize, JobMessage)>,
    /// Orders to the jobs; dropping these senders ends the jobs that wait for an order.
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
        let watches = self.members.iter().zip(self.progress);
        let watches = watches.map(|(member, progress)| MemberWatch::new(member, progress));
        let mut watches: Vec<_> = watches.collect();
        if let Some((member, reason)) = self.wait_until_ready(&mut watches)? {
            return Ok(RunOutcome::Unavailable { member, reason });
        }
        // Opened before any I/O, since reading a meter may take a second.
        let mut window = meters.open().map_err(RunError::Meters)?;
        // Without a ramp the measured part begins with the first I/O, which may complete before the job's message
        // arrives.
        let no_ramp = self.before_measured() == Nanos::ZERO;
        let idle = no_ramp.then(|| RunSnapshot::now(self.setup));
        let start = now() + head_start(self.jobs());
        watches.iter_mut().for_each(|watch| watch.start(start));
        self.order(JobOrder::Start(start))?;
        self.wait_until_one_began(start, &mut watches)?;
        let before = match idle {
            Some(idle) => idle.with_idle_devices(self.setup),
            None => {
                let begun = RunSnapshot::now(self.setup);
                // The ramp passed since the window was opened.
                window.restart();
                begun
            }
        };
        let mut rates = Rates::of(self.jobs());
        let late = self.wait_until_finished(start, &mut rates, &mut watches)?;
        let jobs = || watches.iter().flat_map(|watch| &watch.jobs);
        let end = self.end(jobs(), window);
        let threads = jobs().map(|job| &job.counted);
        let threads = threads.fold(ThreadCounters::none(), |sum, job| sum.and(job));
        self.order(JobOrder::Verify)?;
        self.wait_until_verified(start, &mut watches)?;
        let targets = self.setup.targets.iter();
        let disks: Vec<_> = targets.map(|target| target.info().disk.as_ref()).collect();
        let did = end.snapshot.since(&before, &disks, &threads);
        let mut members: Vec<_> = watches.into_iter().map(MemberWatch::outcome).collect();
        let checked = members.iter_mut().map(|member| &mut member.verify);
        checked.for_each(|verify| self.name_other_writer(verify));
        Ok(RunOutcome::Finished(Box::new(Finished {
            members,
            did,
            energy: end.energy,
            window: end.window,
            late,
            steadiness: rates.steadiness(),
        })))
    }

    /// Returns the jobs of each member.
    fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.members.iter().map(|member| &member.job)
    }

    /// Returns the time from the start to the first measured part.
    fn before_measured(&self) -> Nanos {
        let times = self.jobs().map(|job| job.start_delay + job.ramp_time);
        times.min().unwrap_or_default()
    }

    /// Waits until all jobs are prepared. Returns the member whose completion mode is unavailable, with the reason,
    /// if there is one.
    fn wait_until_ready(
        &self,
        watches: &mut [MemberWatch<'_>],
    ) -> Result<Option<(usize, String)>, RunError> {
        while !watches.iter().all(MemberWatch::is_ready) {
            match self.inbox.recv() {
                Ok((member, JobMessage::Ready(Availability::Unavailable(reason)))) => {
                    return Ok(Some((member, reason)));
                }
                Ok((member, JobMessage::Ready(Availability::Effective(name)))) => {
                    let watch = &mut watches[member];
                    (watch.effective, watch.ready) = (name, watch.ready + 1);
                }
                _ => return Err(RunError::Panicked),
            }
        }
        Ok(None)
    }

    /// Waits until the first job has begun its measured part: the window is the time from then to the end of the
    /// last job.
    fn wait_until_one_began(
        &self,
        start: Nanos,
        watches: &mut [MemberWatch<'_>],
    ) -> Result<(), RunError> {
        loop {
            match self.next(start)? {
                Some((member, JobMessage::Began)) => {
                    watches[member].began += 1;
                    return Ok(());
                }
                Some(_) => return Err(RunError::Panicked),
                None => {}
            }
        }
    }

    /// Waits until all jobs have finished, and samples the `rates` of all jobs together and of each member. Returns
    /// the largest delay of this thread.
    fn wait_until_finished(
        &self,
        start: Nanos,
        rates: &mut Rates,
        watches: &mut [MemberWatch<'_>],
    ) -> Result<Nanos, RunError> {
        let mut late = Nanos::ZERO;
        while !watches.iter().all(MemberWatch::is_finished) {
            let due = now() + CHECK_INTERVAL;
            let message = self.next(start)?;
            late = late.max(now().since(due));
            match message {
                Some((member, JobMessage::Finished(result))) => {
                    watches[member].finished(*result);
                    if self.members[member].job.exitall {
                        self.progress.iter().for_each(MemberProgress::end);
                    }
                }
                Some((member, JobMessage::Began)) => watches[member].began += 1,
                None => {
                    let at = now();
                    if watches.iter().all(MemberWatch::is_measured) {
                        rates.add(at, self.done().0);
                    }
                    watches.iter_mut().for_each(|watch| watch.sample(at));
                }
                Some(_) => return Err(RunError::Panicked),
            }
        }
        Ok(late)
    }

    /// Waits until all jobs have verified what they wrote.
    fn wait_until_verified(
        &self,
        start: Nanos,
        watches: &mut [MemberWatch<'_>],
    ) -> Result<(), RunError> {
        let (mut verified, mut ended) = (0, 0);
        while !watches.iter().all(MemberWatch::is_verified) {
            match self.next(start)? {
                Some((member, JobMessage::Verified(one))) => {
                    verified += 1;
                    watches[member].verified(one);
                }
                // A job that ends without having verified its data has failed.
                Some((_, JobMessage::Ended)) if ended < verified => ended += 1,
                Some(_) => return Err(RunError::Panicked),
                None => {}
            }
        }
        Ok(())
    }

    /// Returns the next message of a job; `None` if none has arrived for an interval, after reporting the progress.
    fn next(&self, start: Nanos) -> Result<Option<(usize, JobMessage)>, RunError> {
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
    fn end<'a>(
        &self,
        jobs: impl Iterator<Item = &'a JobResult> + Clone,
        window: Window<'_>,
    ) -> End {
        let start = jobs.clone().map(|job| job.started).min();
        let start = start.unwrap_or_default();
        let fixed = self.jobs().filter_map(|job| job.window).max();
        if let Some(length) = fixed {
            let end = start + length;
            while now() < end && !self.setup.stop.stopped() {
                sleep(duration(CHECK_INTERVAL.min(end.since(now()))));
            }
        }
        let ended = now();
        // The devices come first, since reading the meters may take a while.
        let snapshot = RunSnapshot::now(self.setup);
        let energy = window.close(self.setup.baseline);
        let worked = jobs.map(|job| job.ended).max().unwrap_or_default();
        End {
            snapshot,
            energy,
            window: match fixed {
                Some(_) => ended.since(start),
                None => worked.since(start),
            },
        }
    }

    /// Names another writer as the cause of data that no job of the run wrote, if one is known.
    fn name_other_writer(&self, verify: &mut VerifyResult) {
        let mut targets = self.setup.targets.iter();
        if let Some(first) = &mut verify.first_error
            && let Some(writer) = targets.find_map(|target| target.other_writer())
        {
            first.push_str("; ");
            first.push_str(&writer);
        }
    }

    /// Returns the I/Os and bytes of all jobs so far.
    fn done(&self) -> (u64, u64) {
        sum(self.progress.iter().map(MemberProgress::done))
    }

    /// Returns the progress of the run.
    fn state(&self, start: Nanos) -> RunProgress {
        let measured = now().since(start + self.before_measured());
        let (ios, bytes) = match measured > Nanos::ZERO {
            true => self.done(),
            false => (0, 0),
        };
        RunProgress {
            fraction: self.fraction(start),
            measured,
            ios,
            bytes,
        }
    }

    /// Returns the fraction of the run that is over, from 0 to 1: that of the member that has the largest part
    /// left.
    fn fraction(&self, start: Nanos) -> f64 {
        let members = self.members.iter().zip(self.progress);
        let fractions = members.map(|(member, progress)| fraction(member, progress, start));
        fractions.fold(1.0, f64::min)
    }
}

/// Returns the fraction of a member's work that is done, from 0 to 1, by time or by I/Os.
fn fraction(member: &Member, progress: &MemberProgress, start: Nanos) -> f64 {
    let job = &member.job;
    let by_time = job.runtime.map(|runtime| {
        let all = job.start_delay + job.ramp_time + runtime;
        (now() - start).seconds() / all.seconds()
    });
    let by_ios = job.number_ios.map(|n| {
        let works = job.numjobs.max(member.devices.len());
        let all = n.saturating_mul(job.rw.ios_of_one());
        progress.done().0 as f64 / (all as f64 * works as f64)
    });
    by_time.unwrap_or(0.0).max(by_ios.unwrap_or(0.0)).min(1.0)
}

fn duration(length: Nanos) -> Duration {
    Duration::from_nanos(length.0)
}
