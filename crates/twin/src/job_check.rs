//! Checks that a job can be simulated.

use crate::event_queue::MAX_NUMBERS;
use crate::{TwinError, TwinSetup};
use joulio_job::{Job, Load, MAX_IO};
use joulio_model::{DeviceProfile, FrequencyRatio};
use joulio_units::Nanos;

/// Largest fraction of a CPU's time for handlers of interrupts of other queues and devices.
const MAX_HANDLING: f64 = 0.8;

/// Refuses a `load` with I/Os that `devices` cannot do.
pub(crate) fn check_load(load: &Load, devices: &[DeviceProfile]) -> Result<(), TwinError> {
    let wrong = |field, problem| Err(TwinError::Job { field, problem });
    if load.bs == 0 {
        return wrong("bs", "must be above zero".into());
    }
    if load.bs > MAX_IO {
        return wrong(
            "bs",
            format!("{} is longer than an I/O can be: at most {MAX_IO}", load.bs),
        );
    }
    if load.read_percent > 100 {
        return wrong("read_percent", "must be 0 to 100".into());
    }
    if let Some(problem) = load.arrivals.problem() {
        return wrong("arrivals", problem.into());
    }
    let block = |device: &DeviceProfile| device.lba.sizes_bytes.iter().min().copied();
    let broken =
        |device: &&DeviceProfile| block(device).is_some_and(|block| !load.bs.is_multiple_of(block));
    if let Some(device) = devices.iter().find(broken) {
        let (bs, name) = (load.bs, &device.name);
        let block = block(device).unwrap_or_default();
        let problem = format!("{bs} is not a multiple of {name}'s block of {block} bytes");
        return wrong("bs", problem);
    }
    Ok(())
}

/// Refuses a run with more `threads` than the event queue has numbers for.
pub(crate) fn check_threads(threads: usize) -> Result<(), TwinError> {
    if threads <= MAX_NUMBERS {
        return Ok(());
    }
    Err(TwinError::Job {
        field: "numjobs",
        problem: format!("{threads} threads with the jobs' neighbours: at most {MAX_NUMBERS}"),
    })
}

/// Refuses a job that cannot be simulated on `setup`, whose machine has `cpus` CPUs.
pub(crate) fn check_job(job: &Job, setup: &TwinSetup<'_>, cpus: usize) -> Result<(), TwinError> {
    let rules = [
        (
            (1..=4095).contains(&job.iodepth),
            "iodepth",
            "must be 1 to 4095",
        ),
        (
            (1..=4096).contains(&job.numjobs),
            "numjobs",
            "must be 1 to 4096",
        ),
        (
            job.bs.iter().all(|bs| u32::try_from(bs).is_ok()),
            "bs",
            "must be below 4 GiB",
        ),
        (
            job.queue_priority.is_none(),
            "queue_priority",
            "is not modelled: devices serve all queues alike",
        ),
        (
            !job.rw.trims(),
            "rw",
            "trims are not modelled: no profile has their service times",
        ),
        (!job.flushes.any(), "flushes", "are not modelled"),
        (
            job.steady_state.is_none(),
            "steady_state",
            "ends no run in virtual time: give a runtime",
        ),
        (
            job.number_ios.is_some() || job.runtime.is_some(),
            "number_ios",
            "say how much by number_ios, or how long by runtime",
        ),
        (
            job.number_ios != Some(0),
            "number_ios",
            "must be above zero",
        ),
        (
            job.runtime != Some(Nanos::ZERO),
            "runtime",
            "must be above zero",
        ),
        (
            job.phases.iter().all(|phase| phase.length > Nanos::ZERO),
            "phases",
            "must each be longer than 0 ns",
        ),
        (
            setup.coalescing.is_none_or(|c| c.threshold > 0),
            "coalescing",
            "needs a threshold of at least 1",
        ),
    ];
    let handling = setup.machine.costs.iter();
    let handling = handling.map(|costs| costs.interrupt_ns.value * f64::from(setup.other_irqs));
    // At a lower clock a handler takes longer.
    let clock = setup.frequency.map_or(1.0, FrequencyRatio::get);
    if handling.sum::<f64>() > MAX_HANDLING * 1e9 * clock {
        return Err(TwinError::Job {
            field: "other-irqs",
            problem: format!(
                "{} a second leave no CPU to the jobs: handlers may have {:.0} % of it",
                setup.other_irqs,
                100.0 * MAX_HANDLING
            ),
        });
    }
    for (held, field, problem) in rules {
        if !held {
            let problem = problem.to_owned();
            return Err(TwinError::Job { field, problem });
        }
    }
    for load in job.all_loads() {
        check_load(&load, setup.devices)?;
    }
    if let Some(&cpu) = job.cpus_allowed.iter().find(|&&cpu| cpu >= cpus) {
        return Err(TwinError::Job {
            field: "cpus_allowed",
            problem: format!(
                "{cpu} is not there: {} has CPUs 0 to {}",
                setup.machine.name,
                cpus - 1
            ),
        });
    }
    Ok(())
}
