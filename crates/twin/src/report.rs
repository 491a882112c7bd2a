//! Report of a run.

use crate::path::Path;
use crate::result::{Counted, DeviceResult, TwinRun};
use crate::setup::TwinSetup;
use crate::thread::JobThread;
use crate::times::CoreTimes;
use crate::world::World;
use joulio_energy::Model;
use joulio_job::{IoStatistics, JobCounts, Method, RunResult};
use joulio_model::{Pick, power};
use joulio_units::Nanos;
use joulio_wait::{Policy, WaitCounters};

/// Makes the result of a run that has ended, from its `threads` and the CPUs that are `used`.
pub(crate) fn report(
    threads: &mut [JobThread<'_>],
    world: &World<'_>,
    used: &[usize],
    method: Method,
    setup: &TwinSetup<'_>,
) -> TwinRun {
    let logs = threads.iter_mut().filter_map(|thread| thread.log.take());
    let per_io = logs.flat_map(|log| log.ios).collect();
    let job = threads[0].job;
    let ended = threads.iter().map(|thread| thread.done.ended).max();
    let end = ended.unwrap_or_default();
    let window = end - job.ramp_time;
    let (mut read, mut write) = (IoStatistics::new(), IoStatistics::new());
    for device in &world.devices {
        let [reads, writes] = &device.completed;
        read.add(reads);
        write.add(writes);
    }
    let mut counters = WaitCounters::default();
    for thread in threads.iter() {
        counters += thread.counted();
    }
    let cpus = used.iter().enumerate().filter(|(_, jobs)| **jobs > 0);
    let times = |cpu: usize| {
        let times = world.cpus[cpu].times();
        match setup.neighbours {
            0 => times,
            // The neighbour computes until the end of the window, after the jobs of its CPU have ended.
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
    let other_irqs = cpus.iter().map(|(_, times)| times.other_irqs).sum();
    let other_irqs = (setup.other_irqs > 0).then_some(other_irqs);
    let core = |core: usize| -> Vec<CoreTimes> {
        let on = cpus.iter().filter(|(cpu, _)| cpu % world.cores == core);
        on.map(|(_, times)| *times).collect()
    };
    let cores: Vec<_> = (0..world.cores).map(core).collect();
    let cores = cores.iter().filter(|threads| !threads.is_empty());
    let mut cores: Vec<_> = cores.map(|on| CoreTimes::of_core(on, window)).collect();
    if Path::of(method) == Path::Sqpoll {
        // The threads that submit and poll spin on the cores that are left.
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
    let per_job = threads.iter().enumerate().filter_map(|(index, thread)| {
        let own = thread.own.as_ref()?;
        let window = thread.done.ended - job.ramp_time;
        Some(JobCounts::new(job.max_bs(index), own, window))
    });
    let counted = Counted {
        per_job: per_job.collect(),
        neighbour_percent,
        other_irqs,
        window,
        read: &read,
        write: &write,
        counters,
        cpus: &cpus,
        preempted,
        devices: &world.devices,
        unissued: threads.iter().map(|thread| thread.done.unissued).sum(),
        behind: threads.iter().map(|thread| thread.done.behind).sum(),
        energies: &energies,
    };
    let policy = match oracle {
        true => "oracle".into(),
        false => threads[0].queue.policy.name().into_owned(),
    };
    let names = setup.devices.iter().map(|device| device.name.clone());
    let result = counted.result(job, method, names.collect(), policy);
    TwinRun {
        result: RunResult {
            past_tdp: power::past_tdp(world.machine, &parts, window),
            useful_cpu_percent: (could > 0.0).then(|| {
                let polled = Nanos(counters.empty_polls * world.costs.poll.0);
                let working = cpus.iter().map(|(_, times)| times.working().seconds());
                (working.sum::<f64>() - polled.seconds()).max(0.0) / could * 100.0
            }),
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
        other_irqs,
        devices: devices.collect(),
        energy: energies.swap_remove(0),
        parts,
        per_io,
    }
}
