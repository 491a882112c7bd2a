//! Checks before a run: that its members' jobs fit their devices, and that the members can run at the same time.

use crate::member::Member;
use crate::target::{OperationError, Target};
use joulio_job::{Area, EngineName, Job, JobError, JobKind, Verify};
use joulio_units::{Direction, Operation};

/// Checks that `job` can run on every target with `engine`, and returns the area of each target that it uses.
fn check_job(
    job: &Job,
    engine: EngineName,
    targets: &[&dyn Target],
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
            check_queues(job.jobs_on(index, targets.len()), *target)?;
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
            check_operations(job, engine, *target)?;
            job.area(info.size, info.block_size)
        })
        .collect()
}

/// Checks that each of `members` can run on its targets, and that they can run at the same time. Returns the areas
/// that each uses, in the order of its devices. [`run`](crate::run) writes nothing before this check has passed.
///
/// # Errors
/// [`JobError`], which names the flag that does not fit, and the member if there are several.
pub fn check(members: &[Member], targets: &[Box<dyn Target>]) -> Result<Vec<Vec<Area>>, JobError> {
    let each = members.iter().map(|member| {
        let own = member.devices.iter().map(|&device| &*targets[device]);
        let own: Vec<&dyn Target> = own.collect();
        let areas = check_job(&member.job, member.method.engine, &own);
        areas.map_err(|error| named(members, member, error))
    });
    let areas: Vec<Vec<Area>> = each.collect::<Result<_, _>>()?;
    for (device, target) in targets.iter().enumerate() {
        let jobs = members.iter().map(|member| member.jobs_on(device));
        check_queues(jobs.sum(), &**target)?;
    }
    check_data(members, &areas, targets)?;
    check_ends(members)?;
    Ok(areas)
}

/// Returns `error`, with the name of `member` if there are several.
fn named(members: &[Member], member: &Member, error: JobError) -> JobError {
    match members.len() {
        0 | 1 => error,
        _ => JobError {
            problem: format!("[{}] {}", member.name, error.problem),
            ..error
        },
    }
}

/// Checks that `target` has queues for `jobs` jobs.
fn check_queues(jobs: usize, target: &dyn Target) -> Result<(), JobError> {
    let info = target.info();
    if jobs <= info.max_jobs {
        return Ok(());
    }
    Err(JobError {
        flag: "--numjobs",
        problem: format!(
            "{jobs} queue pairs wanted, {} has {}",
            info.name, info.max_jobs
        ),
    })
}

/// Checks that the jobs are threads, if the end of one ends the others.
fn check_ends(members: &[Member]) -> Result<(), JobError> {
    let jobs = || members.iter().map(|member| &member.job);
    let several = jobs().map(|job| job.numjobs).sum::<usize>() > 1;
    let ends = several && jobs().any(|job| job.exitall);
    match ends && jobs().any(|job| job.kind == JobKind::Process) {
        true => Err(JobError {
            flag: "--exitall",
            problem:
                "threads can be ended early alone: leave out --process, in a job file thread=0"
                    .into(),
        }),
        false => Ok(()),
    }
}

/// Checks that no member writes to an area whose data another member expects to be unchanged.
fn check_data(
    members: &[Member],
    areas: &[Vec<Area>],
    targets: &[Box<dyn Target>],
) -> Result<(), JobError> {
    let places = |at: usize| members[at].devices.iter().zip(&areas[at]);
    for (at, member) in members.iter().enumerate() {
        if member.job.verify == Verify::None {
            continue;
        }
        for (beside, other) in members.iter().enumerate().filter(|(other, _)| *other != at) {
            let mut pairs =
                places(at).flat_map(|own| places(beside).map(move |other| (own, other)));
            let shared = pairs.find(|((here, own), (there, area))| {
                let writes = other.job.does(Direction::Write)
                    // Before the run, the data that its reads are to verify is written.
                    || other.job.verify != Verify::None
                        && targets[**there].info().lays_out(&other.job);
                here == there && writes && own.overlaps(**area)
            });
            if let Some(((device, _), _)) = shared {
                let problem = format!(
                    "[{}] verifies what [{}] overwrites on {} meanwhile: give each a part of its own by offset and size, put stonewall between them, or leave verify out",
                    member.name,
                    other.name,
                    targets[*device].info().name
                );
                let flag = "--verify";
                return Err(JobError { flag, problem });
            }
        }
    }
    Ok(())
}

/// Checks that `engine` can trim and flush `target`, if the job does that.
fn check_operations(job: &Job, engine: EngineName, target: &dyn Target) -> Result<(), JobError> {
    let requested = Operation::ALL.into_iter().filter(|one| job.has(*one));
    for operation in requested {
        let refused = |why: OperationError| JobError {
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

/// Checks that each job can wait for all its devices together, if it has several.
fn check_together(job: &Job, engine: EngineName, targets: &[&dyn Target]) -> Result<(), JobError> {
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
        let mut all = all.map(|one| targets[one.device]);
        let first = all.next();
        let strange = all.find(|other| !first.is_some_and(|first| first.joins(*other)));
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
