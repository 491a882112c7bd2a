//! The run: who is next.

use crate::TwinError;
use crate::cpu::Cpu;
use crate::device::Device;
use crate::job_check::check_job;
use crate::neighbour::Neighbour;
use crate::oracle::{Oracle, OracleState};
use crate::path::{Path, check_method, policy};
use crate::result::{Counted, DeviceResult, TwinRun};
use crate::run_queue::Turn;
use crate::runner::Runner;
use crate::setup::TwinSetup;
use crate::step_costs::{StepCosts, adaptive};
use crate::thread::{JobThread, ThreadPhase, Wakening};
use crate::times::CoreTimes;
use crate::world::World;
use joulio_energy::Model;
use joulio_job::{CompletionMode, IoStatistics, Job, Method, RunResult, Schedule};
use joulio_model::{Pick, power};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Counters, Policy};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two checks of the flag that stops a run.
const STOP_INTERVAL: u64 = 1 << 16;

/// Runs `job` by `method` on `setup`. The job's seed gives the same result each time, and every
/// method meets the same device.
///
/// # Errors
/// [`TwinError`], if the job, the method or the setup makes no sense, or the machine lacks a step
/// that the completion mode takes.
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

/// Runs `job` on the path of `method`, where each job waits by the policy that `policy` makes for
/// its index.
///
/// # Errors
/// As [`run`]; any policy is taken.
pub fn run_policy(
    job: &Job,
    method: Method,
    setup: &TwinSetup<'_>,
    policy: impl FnMut(usize) -> AnyPolicy,
) -> Result<TwinRun, TwinError> {
    simulate(job, method, setup, policy, None)
}

/// Runs `job` on the path of `method`, where `oracle` waits.
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
    let costs = StepCosts::new(setup, costs, job, path)?;
    let mut world = World {
        machine,
        cpus: vec![Cpu::new(from, &costs); cpus],
        costs,
        cores,
        beside: Vec::new(),
        devices: (devices.iter().zip(0..))
            .map(|(profile, i)| {
                let link = machine.link.as_ref();
                Device::new(profile, link, &job.all_loads(), from, seed.wrapping_add(i))
            })
            .collect(),
    };
    let place = |index: usize| match job.cpus_allowed.as_slice() {
        [] => index % cpus,
        allowed => allowed[index % allowed.len()],
    };
    let mut used = vec![0_usize; cpus];
    for index in 0..job.numjobs {
        used[place(index)] += 1;
        world.cpus[place(index)].run_queue.add(index, false);
    }
    let mut neighbours = Vec::new();
    for cpu in (0..cpus).filter(|cpu| used[*cpu] > 0) {
        for _ in 0..setup.neighbours {
            let index = job.numjobs + neighbours.len();
            world.cpus[cpu].run_queue.add(index, true);
            let off = true;
            neighbours.push(Neighbour { index, cpu, off });
        }
    }
    let beside = |cpu: usize| -> Vec<usize> {
        let core = (cpu % cores..cpus).step_by(cores);
        core.filter(|&other| other != cpu && used[other] > 0)
            .collect()
    };
    world.beside = (0..cpus).map(beside).collect();
    let threads = (0..job.numjobs).map(|index| {
        let at = (place(index), index % devices.len());
        let schedule = Schedule::new(job, index, Nanos::ZERO);
        let raises = (path, setup.coalescing);
        Ok(JobThread::new(
            index,
            job,
            raises,
            at,
            policy(index),
            schedule,
        ))
    });
    let mut threads = threads.collect::<Result<Vec<_>, TwinError>>()?;
    for thread in threads.iter().filter(|_| oracle.is_none()) {
        thread.check_steps(&world)?;
    }
    for thread in &mut threads {
        thread.oracle =
            oracle.map(|oracle| OracleState::new(machine, &world.costs, oracle, setup.frequency));
        if world.cpus[thread.cpu].run_queue.shared() {
            let since = Nanos::ZERO;
            thread.phase = ThreadPhase::Woken(Wakening::Slice { since });
        }
    }
    let jobs = threads.iter_mut().map(Runner::Job);
    let others = neighbours.iter_mut().map(Runner::Neighbour);
    advance(
        &mut jobs.chain(others).collect::<Vec<_>>(),
        &mut world,
        setup.stop,
    )?;
    Ok(report(&threads, &world, &used, method, setup))
}

/// Does what is next until nobody has anything to do.
///
/// A thread goes on without a turn as long as it touches only itself and a core of its own: its rings
/// alone, and all that it does on a shared CPU or core, are seen by others.
fn advance(
    threads: &mut [Runner<'_, '_>],
    world: &mut World<'_>,
    stop: Option<&AtomicBool>,
) -> Result<(), TwinError> {
    let stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let mut events = 0_u64;
    let mut queue: BinaryHeap<_> = (0..threads.len())
        .map(|index| Reverse((Nanos::ZERO, index)))
        .collect();
    while let Some(Reverse((mut at, index))) = queue.pop() {
        let thread = &mut threads[index];
        let cpu = thread.cpu();
        let shared = world.cpus[cpu].run_queue.shared();
        // The other thread of its core sees whether it runs.
        let seen = shared || !world.beside[cpu].is_empty();
        loop {
            events += 1;
            if events.is_multiple_of(STOP_INTERVAL) && stopped() {
                return Err(TwinError::Stopped);
            }
            if shared {
                let run_queue = &mut world.cpus[cpu].run_queue;
                if thread.is_off() {
                    if run_queue.wants(index, at) == Turn::Waits {
                        break;
                    }
                } else if run_queue.must_give_up(at) {
                    thread.preempted(at);
                    let heir = run_queue.give_up(at);
                    queue.extend(heir.map(|heir| Reverse((at, heir))));
                    break;
                }
            }
            let next = thread.step(at, world)?;
            if shared && (next.is_none() || thread.is_off()) {
                let cpu = &mut world.cpus[cpu];
                let free = cpu.free.max(at);
                let heir = match next {
                    Some(wakes) => cpu.run_queue.sleeps(free, wakes),
                    None => cpu.run_queue.ends(free),
                };
                queue.extend(heir.map(|heir| Reverse((free, heir))));
            }
            let Some(next) = next else {
                break;
            };
            at = next;
            if at == Nanos::MAX {
                return Err(TwinError::TooLong);
            }
            let alone = thread.alone() && !seen;
            let turn = Reverse((at, index));
            if !alone && queue.peek().is_some_and(|first| *first > turn) {
                queue.push(turn);
                break;
            }
        }
    }
    Ok(())
}

fn report(
    threads: &[JobThread<'_>],
    world: &World<'_>,
    used: &[usize],
    method: Method,
    setup: &TwinSetup<'_>,
) -> TwinRun {
    let job = threads[0].job;
    let ended = threads.iter().map(|thread| thread.done.ended).max();
    let end = ended.unwrap_or_default();
    let window = end - job.ramp_time;
    let (mut read, mut write) = (IoStatistics::new(), IoStatistics::new());
    let mut counters = Counters::default();
    let mut by_device = vec![(IoStatistics::new(), IoStatistics::new()); world.devices.len()];
    for thread in threads {
        let (reads, writes) = &mut by_device[thread.device];
        reads.add(&thread.done.read);
        writes.add(&thread.done.write);
        read.add(&thread.done.read);
        write.add(&thread.done.write);
        counters += thread.counted();
    }
    let cpus = used.iter().enumerate().filter(|(_, jobs)| **jobs > 0);
    let times = |cpu: usize| {
        let times = world.cpus[cpu].times;
        match setup.neighbours {
            0 => times,
            // It goes on when its CPU's jobs have ended.
            _ => CoreTimes {
                neighbour: times.neighbour + (window - times.total()),
                ..times
            },
        }
    };
    let cpus: Vec<_> = cpus.map(|(cpu, _)| (cpu, times(cpu))).collect();
    let worked = cpus.iter().map(|(_, times)| times.neighbour.seconds());
    let could = window.seconds() * cpus.len() as f64;
    let neighbour_percent =
        (setup.neighbours > 0 && could > 0.0).then(|| worked.sum::<f64>() / could * 100.0);
    let core = |core: usize| -> Vec<CoreTimes> {
        let on = cpus.iter().filter(|(cpu, _)| cpu % world.cores == core);
        on.map(|(_, times)| *times).collect()
    };
    let cores: Vec<_> = (0..world.cores).map(core).collect();
    let cores = cores.iter().filter(|threads| !threads.is_empty());
    let mut cores: Vec<_> = cores.map(|on| CoreTimes::of_core(on, window)).collect();
    if Path::of(method) == Path::Sqpoll {
        // The threads that submit and poll, on the cores that are left.
        let spare = world.cores.saturating_sub(cores.len()).min(threads.len());
        let spinning = CoreTimes {
            spin: window,
            ..CoreTimes::default()
        };
        cores.extend(vec![spinning; spare]);
    }
    let smt = world.costs.smt_watts_share;
    let residencies = (cores.iter()).map(|core| core.residency(setup.frequency, smt));
    let residencies: Vec<_> = residencies.collect();
    let active = world.devices.iter().map(|d| (d.profile, d.activity(end)));
    let active: Vec<_> = active.collect();
    let model = Model {
        machine: world.machine,
        devices: active.iter().map(|(p, a)| (Some(*p), *a)).collect(),
    };
    let parts = power::energy(world.machine, &active, window, &residencies, Pick::Value);
    let oracle = threads.iter().any(|thread| thread.oracle.is_some());
    let devices = world.devices.iter().map(|device| {
        let [read, write] = device.done();
        DeviceResult {
            name: device.profile.name.clone(),
            read,
            write,
        }
    });
    let mut energies = model.energies(window, &residencies);
    energies.push(model.devices_energy(window));
    let preempted = threads.iter().map(|thread| thread.done.preempted).sum();
    let counted = Counted {
        window,
        read: &read,
        write: &write,
        counters,
        cpus: &cpus,
        preempted,
        devices: &by_device,
        unissued: threads.iter().map(|thread| thread.done.unissued).sum(),
        energies: &energies,
    };
    let policy = match oracle {
        true => "oracle".into(),
        false => threads[0].policy.name().into_owned(),
    };
    let names = setup.devices.iter().map(|device| device.name.clone());
    let result = counted.result(job, method, names.collect(), policy);
    TwinRun {
        result: RunResult {
            past_tdp: power::past_tdp(world.machine, &parts, window),
            ..result
        },
        window,
        read,
        write,
        counters,
        cpus,
        cores,
        preempted,
        neighbour_percent,
        devices: devices.collect(),
        energy: energies.swap_remove(0),
        parts,
    }
}
