//! Conversion of an experiment's options to those of virtual time.

use super::options::ExperimentOptions;
use crate::virtual_time::{IdleState, TwinOptions, VirtualError, VirtualOptions};
use joulio_units::Nanos;
use joulio_workload::{JobKind, RingOptions, Verify};

/// Returns an error if the experiment is in virtual time and has an option without meaning there.
pub(super) fn check(options: &ExperimentOptions) -> Result<(), VirtualError> {
    let senseless = senseless(options).filter(|_| options.twin.is_some());
    match senseless {
        Some((flag, why)) => Err(VirtualError::Senseless { flag, why }),
        None => Ok(()),
    }
}

/// Returns an option that was given although it has no meaning in virtual time, and the reason.
fn senseless(options: &ExperimentOptions) -> Option<(&'static str, &'static str)> {
    let ExperimentOptions {
        targets,
        workload,
        settings,
        energy,
        ..
    } = options;
    let meters = "nothing is measured in virtual time";
    let host = "it is a setting of this machine, which virtual time does not touch";
    let others = !settings.set.is_empty() || settings.cpu_dma_latency.is_some();
    let flags = [
        (
            workload.kind == JobKind::Process,
            "--process",
            "jobs are threads in virtual time",
        ),
        (
            workload.verify != Verify::None,
            "--verify",
            "no data moves in virtual time",
        ),
        (
            workload.numa_node.is_some(),
            "--numa",
            "machines have one node in virtual time",
        ),
        (workload.window.is_some(), "--window", "not modelled"),
        (!energy.meters.is_empty(), "--meter", meters),
        (energy.idle_baseline.is_some(), "--idle-baseline", meters),
        (energy.root.is_some(), "--root", meters),
        (
            !targets.faults.is_empty(),
            "--faults",
            "devices make no faults in virtual time",
        ),
        (
            targets.ring != RingOptions::default(),
            "--fixedbufs, --registerfiles and --sqthread_*",
            "not modelled",
        ),
        (others, "--set and --cpu_dma_latency", host),
        (
            settings.apst.is_some(),
            "--apst",
            "a modelled drive has power state 0 alone",
        ),
        (
            !workload.batches.is_usual(workload.iodepth),
            "--iodepth_batch_submit and --iodepth_batch_complete_*",
            "not modelled",
        ),
        (
            workload.rw.trims(),
            "--rw",
            "trims are not modelled: no profile has their service times",
        ),
        (
            workload.flushes.any(),
            "--fsync, --fdatasync and --end_fsync",
            "flushes are not modelled",
        ),
        (
            workload.steady_state.is_some(),
            "--steadystate",
            "ends no run in virtual time: give --runtime",
        ),
        (
            workload.start_delay > Nanos::ZERO,
            "--startdelay",
            "jobs begin at once in virtual time",
        ),
        (
            workload.exitall && workload.numjobs > 1,
            "--exitall",
            "ends no job in virtual time",
        ),
        (
            options.io_logs.any(),
            "--write_lat_log and its like",
            "single I/Os are not kept in virtual time",
        ),
    ];
    let given = flags.into_iter().find(|(given, ..)| *given);
    given.map(|(_, flag, why)| (flag, why))
}

/// Combines `options` and `twin` into the options of an experiment in virtual time.
pub(super) fn options(
    options: &ExperimentOptions,
    twin: &TwinOptions,
) -> Result<VirtualOptions, VirtualError> {
    let states = options.settings.max_cstates.iter();
    let states = states.map(|name| name.parse::<IdleState>());
    let states = states.collect::<Result<_, _>>();
    Ok(VirtualOptions {
        devices: options.targets.devices.clone(),
        machine: options.energy.machine.clone(),
        schedulers: options.settings.schedulers.clone(),
        frequencies: twin.frequencies.clone(),
        max_cstates: states.map_err(VirtualError::NoIdleState)?,
        coalescing: twin.coalescing.clone(),
        surroundings: twin.surroundings,
    })
}
