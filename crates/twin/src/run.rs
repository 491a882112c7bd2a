//! The run: who is next.

use crate::TwinError;
use crate::cpu::{Cause, Cpu, Got};
use crate::device::Device;
use crate::job_check::{check_job, loads};
use crate::load::Source;
use crate::oracle::{Oracle, OracleState};
use crate::path::{Path, check_method, policy};
use crate::result::{Counted, DeviceResult, TwinRun};
use crate::setup::TwinSetup;
use crate::step_costs::StepCosts;
use crate::thread::{Phase, Thread, Wakening};
use crate::times::{Doing, Times};
use joulio_energy::Model;
use joulio_job::{IoStatistics, Job, Method, RunResult};
use joulio_model::{MachineProfile, Pick, power};
use joulio_units::Nanos;
use joulio_wait::{AnyPolicy, Counters, Policy};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two checks of the flag that stops a run.
const STOP_INTERVAL: u64 = 1 << 16;

/// State that the jobs share: the machine, its CPUs, and the devices.
pub(crate) struct World<'a> {
    pub(crate) machine: &'a MachineProfile,
    pub(crate) costs: StepCosts,
    /// Hardware threads: the first of each core, then the second of each.
    pub(crate) cpus: Vec<Cpu>,
    cores: usize,
    /// The other hardware threads of each one's core that have jobs.
    beside: Vec<Vec<usize>>,
    pub(crate) devices: Vec<Device<'a>>,
}

impl World<'_> {
    /// Gives `cpu` to `job`, at `at` or when those who asked before are done.
    pub(crate) fn take(&mut self, cpu: usize, job: usize, at: Nanos, cause: Cause) -> Got {
        self.cpus[cpu].take(job, at, cause, &self.costs)
    }

    /// Work of the path's own; when it is done.
    #[inline]
    pub(crate) fn work(&mut self, cpu: usize, at: Nanos, time: Nanos) -> Nanos {
        self.run(cpu, at, time, self.costs.work)
    }

    /// Work of the kernel's; when it is done.
    #[inline]
    pub(crate) fn kernel(&mut self, cpu: usize, at: Nanos, time: Nanos) -> Nanos {
        self.run(cpu, at, time, Doing::Kernel)
    }

    /// The way from a thread to idle, or to another; when that is done.
    pub(crate) fn switch(&mut self, cpu: usize, at: Nanos) -> Nanos {
        let end = self.kernel(cpu, at, self.costs.switch);
        self.uncharge(cpu, at, end, 1.0 - self.costs.charged);
        end
    }

    /// Handles what woke a CPU, and goes the way to the thread, from when the CPU is `got` on;
    /// returns when that is done.
    pub(crate) fn wake(&mut self, cpu: usize, got: Got, handler: Nanos) -> Nanos {
        let handled = self.kernel(cpu, got.at, handler);
        let end = self.kernel(cpu, handled, self.costs.wake);
        if got.idle {
            self.uncharge(cpu, got.at, handled, 1.0);
            self.uncharge(cpu, handled, end, 1.0 - self.costs.charged);
        }
        end
    }

    #[inline]
    fn uncharge(&mut self, cpu: usize, from: Nanos, to: Nanos, share: f64) {
        if share == 1.0 {
            return self.cpus[cpu].uncharge(to, to - from);
        }
        let time = Nanos::nearest((to - from).0 as f64 * share);
        self.cpus[cpu].uncharge(to, time);
    }

    /// Polls, which wait for memory and not for the core.
    #[inline]
    pub(crate) fn spin(&mut self, cpu: usize, at: Nanos, time: Nanos) -> Nanos {
        self.cpus[cpu].spend(at, time, Doing::Spin)
    }

    /// Code, which is slower beside another thread of the core.
    #[inline]
    fn run(&mut self, cpu: usize, at: Nanos, time: Nanos, doing: Doing) -> Nanos {
        let mut beside = self.beside[cpu].iter();
        let time = if beside.any(|&other| self.cpus[other].busy(at)) {
            Nanos::nearest(time.0 as f64 * self.costs.smt_slowdown)
        } else {
            time
        };
        self.cpus[cpu].spend(at, time, doing)
    }
}

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
    let cpus = cores * costs.threads_per_core.count().max(1) as usize;
    check_job(job, setup, cpus)?;
    let (from, seed, path) = (job.ramp_time, job.seed, Path::of(method));
    let mut world = World {
        machine,
        costs: StepCosts::new(setup, costs, job, path)?,
        cpus: vec![Cpu::new(from); cpus],
        cores,
        beside: Vec::new(),
        devices: (devices.iter().zip(0..))
            .map(|(profile, i)| Device::new(profile, &loads(job), from, seed.wrapping_add(i)))
            .collect(),
    };
    let place = |index: usize| match job.cpus_allowed.as_slice() {
        [] => index % cpus,
        allowed => allowed[index % allowed.len()],
    };
    let mut used = vec![0_usize; cpus];
    (0..job.numjobs).for_each(|index| used[place(index)] += 1);
    for (cpu, jobs) in world.cpus.iter_mut().zip(&used) {
        cpu.shared = *jobs > 1;
    }
    let beside = |cpu: usize| -> Vec<usize> {
        let core = (cpu % cores..cpus).step_by(cores);
        core.filter(|&other| other != cpu && used[other] > 0)
            .collect()
    };
    world.beside = (0..cpus).map(beside).collect();
    let threads = (0..job.numjobs).map(|index| {
        let random = Pcg64Mcg::seed_from_u64(seed ^ (index as u64 + 1) << 32);
        let at = (place(index), index % devices.len());
        let source = Source::new(job, random)?;
        let raises = (path, setup.coalescing);
        Ok(Thread::new(index, job, raises, at, policy(index), source))
    });
    let mut threads = threads.collect::<Result<Vec<_>, TwinError>>()?;
    for thread in &mut threads {
        thread.oracle =
            oracle.map(|oracle| OracleState::new(machine, &world.costs, oracle, setup.frequency));
        if world.cpus[thread.cpu].shared {
            thread.phase = Phase::Woken(Wakening::Slice);
        }
    }
    advance(&mut threads, &mut world, setup.stop)?;
    Ok(report(&threads, &world, &used, method, setup))
}

/// Does what is next until nobody has anything to do.
///
/// A job goes on without a turn as long as it touches only itself and a CPU of its own: its rings
/// alone, and all that it does on a shared CPU, are seen by others.
fn advance(
    threads: &mut [Thread<'_>],
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
        let shared = world.cpus[thread.cpu].shared;
        loop {
            events += 1;
            if events.is_multiple_of(STOP_INTERVAL) && stopped() {
                return Err(TwinError::Stopped);
            }
            if shared && thread.is_off() && !world.cpus[thread.cpu].claim(index) {
                break;
            }
            let next = thread.step(at, world)?;
            if shared
                && (next.is_none() || thread.is_off())
                && let Some(heir) = world.cpus[thread.cpu].release()
            {
                queue.push(Reverse(heir));
            }
            let Some(next) = next else {
                break;
            };
            at = next;
            if at == Nanos::MAX {
                return Err(TwinError::TooLong);
            }
            let alone = thread.phase != Phase::Ring && !shared;
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
    threads: &[Thread<'_>],
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
    for thread in threads {
        read.add(&thread.done.read);
        write.add(&thread.done.write);
        counters += thread.counted();
    }
    let cpus = used.iter().enumerate().filter(|(_, jobs)| **jobs > 0);
    let cpus: Vec<_> = cpus.map(|(cpu, _)| (cpu, world.cpus[cpu].times)).collect();
    let core = |core: usize| -> Vec<Times> {
        let on = cpus.iter().filter(|(cpu, _)| cpu % world.cores == core);
        on.map(|(_, times)| *times).collect()
    };
    let cores: Vec<_> = (0..world.cores).map(core).collect();
    let cores = cores.iter().filter(|threads| !threads.is_empty());
    let mut cores: Vec<_> = cores.map(|on| Times::of_core(on, window)).collect();
    if Path::of(method) == Path::Sqpoll {
        // The threads that submit and poll, on the cores that are left.
        let spare = world.cores.saturating_sub(cores.len()).min(threads.len());
        let spinning = Times {
            spin: window,
            ..Times::default()
        };
        cores.extend(vec![spinning; spare]);
    }
    let residencies = cores.iter().map(|core| core.residency(setup.frequency));
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
    let energy = model.energy(window, &residencies);
    let preempted = threads.iter().map(|thread| thread.done.preempted).sum();
    let counted = Counted {
        window,
        read: &read,
        write: &write,
        counters,
        cpus: &cpus,
        preempted,
        unissued: threads.iter().map(|thread| thread.done.unissued).sum(),
        energy: &energy,
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
        devices: devices.collect(),
        energy,
        parts,
    }
}
