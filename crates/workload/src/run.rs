//! A run: one workload in one completion mode, one thread or process a job.

use crate::conductor::Conductor;
use crate::place::place;
use crate::process::relay;
use crate::progress::JobProgress;
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
use joulio_job::{Area, Assignment, EngineName, Job, JobError, JobKind, Method, RunResult};
use joulio_units::{Direction, Operation};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Checks that `job` can run on every target by `engine`, and returns the part of each that it
/// uses. [`run`] writes nothing before this has passed.
///
/// # Errors
/// [`JobError`], with the flag that does not fit.
pub fn check(
    job: &Job,
    engine: EngineName,
    targets: &[Box<dyn Target>],
) -> Result<Vec<Area>, JobError> {
    job.check()?;
    if targets.is_empty() {
        return Err(JobError {
            flag: "--device",
            problem: "none to run on".into(),
        });
    }
    let wrong = |flag, problem| JobError { flag, problem };
    check_together(job, engine, targets)?;
    targets
        .iter()
        .enumerate()
        .map(|(index, target)| {
            let info = target.info();
            let max = info.max_depth(engine);
            if max == 0 {
                return Err(wrong(
                    "--engine",
                    format!("{} has no engine {engine}", info.name),
                ));
            }
            if job.iodepth > max {
                return Err(wrong(
                    "--iodepth",
                    format!(
                        "{} is too deep for {engine} on {}: at most {max}",
                        job.iodepth,
                        info.name,
                    ),
                ));
            }
            if job.queue_priority.is_some() && !info.weighted {
                return Err(wrong(
                    "--queue_priority",
                    match engine {
                        EngineName::Nvme => format!(
                            "{} has no weighted round robin (CAP.AMS): leave it out; emulated:PROFILE,arbitration=wrr has it",
                            info.name
                        ),
                        _ => format!("the queues of {engine} are the kernel's: --engine nvme has its own"),
                    },
                ));
            }
            if job.kind == JobKind::Process && target.for_process().is_none() {
                return Err(wrong(
                    "--process",
                    format!(
                        "the queues of {} belong to the process that drives it; the kernel's engines take processes: --device /dev/nvme0n1",
                        info.name
                    ),
                ));
            }
            let jobs = job.jobs_on(index, targets.len());
            if jobs > info.max_jobs {
                return Err(wrong(
                    "--numjobs",
                    format!(
                        "{} queue pairs wanted, {} has {}",
                        jobs,
                        info.name,
                        info.max_jobs
                    ),
                ));
            }
            if job.does(Direction::Write) && !info.may_write {
                return Err(wrong(
                    "--rw",
                    format!(
                        "{} writes: data on {} would be lost: add --allow-write if it may be",
                        job.rw,
                        info.name
                    ),
                ));
            }
            check_operations(job, engine, &**target)?;
            job.area(info.size, info.block_size)
        })
        .collect()
}

/// Checks that `target` can be trimmed and flushed by `engine`, where the job does that.
fn check_operations(job: &Job, engine: EngineName, target: &dyn Target) -> Result<(), JobError> {
    let asked = Operation::ALL.into_iter().filter(|one| job.has(*one));
    for operation in asked {
        let refused = |why| JobError {
            flag: match operation {
                Operation::Sync => "--fsync",
                Operation::DataSync => "--fdatasync",
                _ => "--rw",
            },
            problem: format!("{engine} cannot on {}: {why}", target.info().name),
        };
        target.can(engine, operation).map_err(refused)?;
    }
    Ok(())
}

/// Checks that each job can wait for its devices together, where it has several.
fn check_together(
    job: &Job,
    engine: EngineName,
    targets: &[Box<dyn Target>],
) -> Result<(), JobError> {
    let (jobs, devices) = (job.numjobs, targets.len());
    if devices <= jobs {
        return Ok(());
    }
    let wrong = |problem| {
        let flag = "--numjobs";
        Err(JobError { flag, problem })
    };
    if engine.is_kernel() {
        return wrong(format!(
            "{jobs} job(s) for {devices} devices: a job has one device by {engine}; give --numjobs {devices}, or controllers to joulio's own driver"
        ));
    }
    for index in 0..jobs {
        let all = job.assignments(index, devices).into_iter();
        let mut all = all.map(|one| &targets[one.device]);
        let first = all.next();
        let strange = all.find(|other| !first.is_some_and(|first| first.joins(&***other)));
        if let (Some(first), Some(other)) = (first, strange) {
            return wrong(format!(
                "{jobs} job(s) for {devices} devices: {} and {} are of two kinds, which one job cannot wait for together; give --numjobs {devices}, or devices of one kind",
                first.info().name,
                other.info().name
            ));
        }
    }
    Ok(())
}

/// Runs `job` with `method` on the targets, read by `meters`.
///
/// # Errors
/// [`RunError`], if the job does not fit its targets, or one of them or a job fails.
pub fn run(
    job: &Job,
    method: Method,
    setup: &Setup<'_>,
    meters: &mut Meters,
) -> Result<RunResult, RunError> {
    Ok(run_recorded(job, method, setup, meters)?.0)
}

/// Runs as [`run`] does, and also returns what was recorded of single I/Os: nothing without
/// [`Setup::trace`] or [`Job::log_ios`].
///
/// # Errors
/// As [`run`].
pub fn run_recorded(
    job: &Job,
    method: Method,
    setup: &Setup<'_>,
    meters: &mut Meters,
) -> Result<(RunResult, RecordedIos), RunError> {
    let areas = check(job, method.engine, setup.targets)?;
    let several = setup.targets.len() > 1;
    let progress: Vec<_> = (0..job.numjobs).map(|_| JobProgress::default()).collect();
    let enough = &AtomicBool::new(false);
    thread::scope(|scope| {
        let (messages, inbox) = channel();
        let mut orders = Vec::new();
        let mut threads = Vec::new();
        for (index, done) in progress.iter().enumerate() {
            let bs = job.max_bs(index);
            let assignments = job.assignments(index, setup.targets.len());
            let of_job = assignments.iter().map(|one| &*setup.targets[one.device]);
            let of_job: Vec<&dyn Target> = of_job.collect();
            let shares = assignments.iter().map(|&assignment| {
                let Assignment {
                    device, at, jobs, ..
                } = assignment;
                Share {
                    assignment,
                    // Jobs on one device share its blocks when they verify.
                    blocks: areas[device].share(at, jobs, job.spacing(index)),
                    may_write: setup.targets[device].info().may_write,
                    name: several.then(|| setup.targets[device].info().name.clone()),
                }
            });
            let (order, inbox_of_job) = channel();
            orders.push(order);
            let worker = Worker {
                job,
                index,
                bs,
                shares: shares.collect(),
                stop: setup.stop,
                wait_costs: setup.wait_costs,
                trace: setup.trace,
                progress: done,
                enough,
                messages: messages.clone(),
                orders: inbox_of_job,
            };
            let for_process = match job.kind {
                JobKind::Thread => None,
                JobKind::Process => of_job[0].for_process(),
            };
            let farewell = Farewell(messages.clone());
            let thread = thread::Builder::new()
                .name(format!("joulio-job-{index}"))
                .spawn_scoped(scope, move || {
                    let _farewell = farewell;
                    if let Some(target) = for_process {
                        return relay(worker, method, target);
                    }
                    place(job, index)?;
                    of_job[0].work(&of_job, method, worker)
                });
            threads.push(thread.map_err(RunError::Threads)?);
        }
        drop(messages);
        let conductor = Conductor {
            job,
            setup,
            progress: &progress,
            enough,
            inbox,
            orders,
        };
        let outcome = conductor.conduct(meters);
        if outcome.is_err() {
            // The others would go on to their end for nothing.
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
        let report = RunReport { job, setup };
        Ok(report.result(method, outcome?))
    })
}

/// Says that a job's thread ends, be it by a panic: the others hold the channel open, so that its
/// silence would not be noticed.
struct Farewell(Sender<JobMessage>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.0.send(JobMessage::Ended);
    }
}

#[cfg(test)]
mod tests;
