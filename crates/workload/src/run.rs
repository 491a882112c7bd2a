//! A run: its members at the same time, with one thread or process per job.

use crate::check::check;
use crate::conductor::{Conductor, RunOutcome};
use crate::member::Member;
use crate::place::place;
use crate::process::relay;
use crate::progress::MemberProgress;
use crate::protocol::JobMessage;
use crate::recorded_ios::RecordedIos;
use crate::report::RunReport;
use crate::run_error::RunError;
use crate::setup::Setup;
use crate::share::Share;
use crate::target::Target;
use crate::worker::Worker;
use crate::worker_error::WorkerError;
use joulio_energy::Meters;
use joulio_job::{Area, Assignment, JobKind, RunResult};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Runs `members` at the same time on the targets, which `meters` measure. If there are several, the result has
/// their sums, and a section for each.
///
/// # Errors
/// [`RunError`], if a job does not fit its targets, or if one of them or a job fails.
pub fn run(
    members: &[Member],
    setup: &Setup<'_>,
    meters: &mut Meters,
) -> Result<RunResult, RunError> {
    Ok(run_recorded(members, setup, meters)?.0)
}

/// Like [`run`], and also returns the recordings of single I/Os: empty without [`Setup::trace`] and
/// [`Job::log_ios`](joulio_job::Job::log_ios).
///
/// # Errors
/// As [`run`].
pub fn run_recorded(
    members: &[Member],
    setup: &Setup<'_>,
    meters: &mut Meters,
) -> Result<(RunResult, RecordedIos), RunError> {
    let areas = check(members, setup.targets)?;
    let progress = members
        .iter()
        .map(|member| MemberProgress::new(&member.job));
    let progress: Vec<_> = progress.collect();
    thread::scope(|scope| {
        let (messages, inbox) = channel();
        let mut orders = Vec::new();
        let mut threads = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let job = &member.job;
            let standing = Standing::new(members, number);
            for index in 0..job.numjobs {
                let assignments = job.assignments(index, member.devices.len());
                let targets = assignments.iter();
                let targets = targets.map(|one| &*setup.targets[member.devices[one.device]]);
                let targets: Vec<&dyn Target> = targets.collect();
                let (order, inbox_of_job) = channel();
                orders.push(order);
                let worker = Worker {
                    member: number,
                    job,
                    index,
                    turn: standing.turn + index,
                    bs: job.max_bs(index),
                    shares: standing.shares(member, index, &areas[number], setup),
                    stop: setup.stop,
                    wait_costs: member.wait_costs.as_ref(),
                    ring: member.ring,
                    trace: setup.trace,
                    progress: &progress[number].jobs[index],
                    enough: &progress[number].enough,
                    messages: messages.clone(),
                    orders: inbox_of_job,
                };
                let for_process = match job.kind {
                    JobKind::Thread => None,
                    JobKind::Process => targets[0].for_process(),
                };
                let method = member.method;
                let farewell = Farewell(number, messages.clone());
                let thread = thread::Builder::new()
                    .name(format!("joulio-job-{}", standing.first + index))
                    .spawn_scoped(scope, move || {
                        let _farewell = farewell;
                        if let Some(target) = for_process {
                            return relay(worker, method, target);
                        }
                        place(job, worker.turn)?;
                        targets[0].work(&targets, method, worker)
                    });
                threads.push(thread.map_err(RunError::Threads)?);
            }
        }
        drop(messages);
        let conductor = Conductor {
            members,
            setup,
            progress: &progress,
            inbox,
            orders,
        };
        let outcome = conductor.conduct(meters);
        if !matches!(outcome, Ok(RunOutcome::Finished(_))) {
            // Otherwise the jobs would go on to lay out their blocks, or to their end, although there is no result.
            setup.stop.fail();
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
        let report = RunReport { members, setup };
        Ok(report.result(outcome?))
    })
}

/// Position of a member in the run: totals over the members before it.
struct Standing {
    /// Number of the jobs of those members.
    first: usize,
    /// Number of those jobs that take turns on the CPUs of this member.
    turn: usize,
    /// Number of their works, one for each job and device; the number of a work seeds its random numbers.
    works: usize,
}

impl Standing {
    /// Returns the position of member `number` of `members`.
    fn new(members: &[Member], number: usize) -> Standing {
        let own = &members[number].job.cpus_allowed;
        let mut standing = Standing {
            first: 0,
            turn: 0,
            works: 0,
        };
        for Member { job, devices, .. } in &members[..number] {
            standing.first += job.numjobs;
            standing.works += job.numjobs.max(devices.len());
            if job.cpus_allowed == *own {
                standing.turn += job.numjobs;
            }
        }
        standing
    }

    /// Returns the shares of the devices for job `index` of `member`, which uses the `areas` of its devices.
    fn shares(
        &self,
        member: &Member,
        index: usize,
        areas: &[Area],
        setup: &Setup<'_>,
    ) -> Vec<Share> {
        let job = &member.job;
        let several = setup.targets.len() > 1;
        let assignments = job.assignments(index, member.devices.len()).into_iter();
        let shares = assignments.map(|own| {
            let device = member.devices[own.device];
            let info = setup.targets[device].info();
            Share {
                // Jobs on the same device share its blocks if they verify.
                blocks: areas[own.device].share(own.at, own.jobs, job.spacing(index)),
                assignment: Assignment {
                    device,
                    index: self.works + own.index,
                    ..own
                },
                may_write: info.lays_out(job),
                name: several.then(|| info.name.clone()),
            }
        });
        shares.collect()
    }
}

/// Reports the end of a job's thread, also after a panic: the channel stays open, since other jobs have senders, so
/// that the end would not be noticed otherwise.
struct Farewell(usize, Sender<(usize, JobMessage)>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.1.send((self.0, JobMessage::Ended));
    }
}

#[cfg(test)]
mod tests;
