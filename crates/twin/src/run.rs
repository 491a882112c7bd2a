//! A run: its preparation, the run loop, and its result.

use crate::TwinError;
use crate::advance::advance;
use crate::core_threads::CoreThreads;
use crate::cpu::Cpu;
use crate::device::Device;
use crate::job_check::{check_job, check_threads};
use crate::neighbour::Neighbour;
use crate::oracle::{Oracle, OracleState};
use crate::other_irqs::OtherIrqs;
use crate::path::{Path, check_devices, check_method, policy};
use crate::report::report;
use crate::result::TwinRun;
use crate::runner::Runner;
use crate::setup::TwinSetup;
use crate::step_costs::{StepCosts, adaptive};
use crate::thread::{DeviceQueue, JobThread, Shape, ThreadPhase, Wakening};
use crate::world::World;
use joulio_job::{CompletionMode, Job, Method};
use joulio_units::Nanos;
use joulio_wait::AnyPolicy;
use std::collections::BTreeMap;

/// Runs `job` by `method` on `setup`. The same seed of the job gives the same result each time, and all methods run
/// on the same device.
///
/// # Errors
/// [`TwinError`], if the job, the method or the setup is invalid, or the machine lacks a step that the completion
/// mode needs.
pub fn run(job: &Job, method: Method, setup: &TwinSetup<'_>) -> Result<TwinRun, TwinError> {
    check_method(method, job.iodepth)?;
    let Method { engine, mode } = method;
    if policy(method).is_none() {
        return Err(TwinError::Method { engine, mode });
    }
    if mode == CompletionMode::Adaptive {
        let own = adaptive(job, method, setup)?;
        return simulate(
            job,
            method,
            setup,
            |_| AnyPolicy::Adaptive(own.clone()),
            None,
        );
    }
    let own = |_| policy(method).unwrap_or(AnyPolicy::POLL);
    simulate(job, method, setup, own, None)
}

/// Runs `job` on the path of `method`. Each job waits with the policy that `policy` returns for the job's index,
/// or, if it has several devices, for the index of each of its assignments.
///
/// # Errors
/// As [`run`]; any policy is allowed.
pub fn run_policy(
    job: &Job,
    method: Method,
    setup: &TwinSetup<'_>,
    policy: impl FnMut(usize) -> AnyPolicy,
) -> Result<TwinRun, TwinError> {
    simulate(job, method, setup, policy, None)
}

/// Runs `job` on the path of `method`, with `oracle` in place of a policy.
///
/// # Errors
/// As [`run`].
pub fn run_oracle(
    job: &Job,
    method: Method,
    setup: &TwinSetup<'_>,
    oracle: Oracle,
) -> Result<TwinRun, TwinError> {
    simulate(job, method, setup, |_| AnyPolicy::POLL, Some(oracle))
}

fn simulate(
    job: &Job,
    method: Method,
    setup: &TwinSetup<'_>,
    mut policy: impl FnMut(usize) -> AnyPolicy,
    oracle: Option<Oracle>,
) -> Result<TwinRun, TwinError> {
    let TwinSetup {
        machine, devices, ..
    } = *setup;
    let costs = machine.costs.as_ref().ok_or_else(|| TwinError::NoCosts {
        machine: machine.name.clone(),
    })?;
    if devices.is_empty() {
        return Err(TwinError::NoDevice);
    }
    let cores = machine.cores.count().max(1) as usize;
    let cpus = machine.cpus();
    check_job(job, setup, cpus)?;
    let (from, seed, path) = (job.ramp_time, job.seed, Path::of(method));
    check_devices(method, job.numjobs, devices.len())?;
    if oracle.is_some() && devices.len() > job.numjobs {
        return Err(TwinError::Job {
            field: "numjobs",
            problem: format!(
                "{} for {} devices: an oracle knows of one device a job",
                job.numjobs,
                devices.len()
            ),
        });
    }
    let costs = StepCosts::new(setup, costs, job, path)?;
    let mut world = World {
        machine,
        cpus: vec![Cpu::new(from, &costs); cpus],
        costs,
        cores,
        beside: Vec::new(),
        devices: (devices.iter().zip(0_u64..))
            .map(|(profile, i)| {
                let link = machine.link.as_ref();
                // Replicates have successive seeds, and no device of one may have that of another's.
                let seed = seed ^ (i << 32);
                Device::new(profile, link, &job.all_loads(), from, seed)
            })
            .collect(),
    };
    let place = |index: usize| match job.cpus_allowed.as_slice() {
        [] => index % cpus,
        allowed => allowed[index % allowed.len()],
    };
    let (mut used, mut on_core) = (vec![0_usize; cpus], vec![0_usize; cores]);
    // Numbers a thread of `cpu` among the threads of its core.
    let mut add = |world: &mut World<'_>, cpu: usize, endless: bool| {
        let place = on_core[cpu % cores];
        on_core[cpu % cores] += 1;
        world.cpus[cpu].run_queue.add(place, endless);
        place
    };
    let mut places = Vec::with_capacity(job.numjobs);
    for cpu in (0..job.numjobs).map(place) {
        used[cpu] += 1;
        world.cpus[cpu].jobs += 1;
        places.push((cpu, add(&mut world, cpu, false)));
    }
    let mut neighbours = Vec::new();
    for cpu in (0..cpus).filter(|cpu| used[*cpu] > 0) {
        for _ in 0..setup.neighbours {
            let place = add(&mut world, cpu, true);
            let off = true;
            neighbours.push(Neighbour { place, cpu, off });
        }
    }
    let mut irqs = Vec::new();
    for cpu in (0..cpus).filter(|cpu| setup.other_irqs > 0 && used[*cpu] > 0) {
        // A seed that no device has, of this replicate or of another.
        let seed = seed ^ ((cpu as u64 + 1) << 48);
        irqs.push(OtherIrqs::new(cpu, setup.other_irqs, seed));
    }
    let beside = |cpu: usize| -> Vec<usize> {
        let core = (cpu % cores..cpus).step_by(cores);
        core.filter(|&other| other != cpu && used[other] > 0)
            .collect()
    };
    world.beside = (0..cpus).map(beside).collect();
    let threads = (0..job.numjobs).map(|index| {
        let raises = (path, setup.coalescing);
        let queues = job.assignments(index, devices.len()).into_iter();
        let mut queues = queues.map(|assignment| {
            let policy = policy(assignment.index);
            DeviceQueue::new(job, index, assignment, policy)
        });
        let first = queues.next().expect("a job has a device");
        let others = queues.collect();
        JobThread::new(
            index,
            job,
            raises,
            places[index],
            first,
            others,
            &world.costs,
        )
    });
    let mut threads: Vec<_> = threads.collect();
    for thread in threads.iter().filter(|_| oracle.is_none()) {
        thread.check_steps(machine)?;
    }
    let per_job = setup.per_job && job.numjobs > 1;
    for thread in &mut threads {
        thread.own = per_job.then(Box::default);
        thread.log = setup.per_io.then(Box::default);
        thread.oracle =
            oracle.map(|oracle| OracleState::new(machine, &world.costs, oracle, setup.frequency));
        thread.shape = thread.shape(&world.costs);
        thread.posted = setup.posted_interrupts && thread.shape == Shape::Several;
        if world.cpus[thread.cpu].run_queue.shared() {
            let since = Nanos::ZERO;
            thread.phase = ThreadPhase::Woken;
            thread.wakening = Wakening::Slice { since };
        }
    }
    let jobs = threads.iter_mut().map(Runner::Job);
    let others = neighbours.iter_mut().map(Runner::Neighbour);
    let mut by_core = BTreeMap::<usize, Vec<_>>::new();
    let irqs = irqs.iter_mut().map(Runner::OtherIrqs);
    for (number, thread) in jobs.chain(others).chain(irqs).enumerate() {
        let threads = by_core.entry(thread.cpu() % cores).or_default();
        threads.push((number, thread));
    }
    let mut cores_of = vec![0; by_core.values().map(Vec::len).sum()];
    check_threads(cores_of.len())?;
    for (place, threads) in by_core.values().enumerate() {
        threads.iter().for_each(|one| cores_of[one.0] = place);
    }
    let mut cores: Vec<_> = by_core.into_values().map(CoreThreads::new).collect();
    advance(&mut cores, &cores_of, &mut world, setup.stop)?;
    Ok(report(&mut threads, &world, &used, method, setup))
}
