//! The counters of devices and machine, before and after the measured part.

use crate::cpu;
use crate::machine::{self, ThreadCounters};
use crate::setup::Setup;
use crate::spoiled::Scheduled;
use crate::target::TargetActivity;
use crate::{Happened, Surroundings};
use joulio_job::{MachineCounters, ThreadUsage};
use joulio_kernel_io::Disk;
use joulio_model::TransferTotals;
use joulio_nvme::wait::now;
use joulio_units::{Joules, Nanos};
use std::path::Path;

/// Counters of the machine at a moment.
pub(crate) struct MachineSnapshot {
    counters: machine::Snapshot,
    surroundings: Surroundings,
}

/// Counters of the machine, of the devices and of their threads at a moment.
pub(super) struct RunSnapshot {
    machine: MachineSnapshot,
    activity: Vec<TargetActivity>,
    /// Time at which the devices' energy without any I/O was read.
    idle_read: Nanos,
    usage: ThreadUsage,
    /// Scheduling of each device's threads.
    scheduled: Vec<DeviceThreads>,
}

/// Share of their CPUs that a device's threads had together, and their number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceThreads {
    /// Share of their CPUs.
    pub(crate) scheduled: Scheduled,
    /// Number of the threads.
    pub(crate) threads: usize,
}

impl DeviceThreads {
    /// Scheduling of a device without threads.
    pub(crate) fn none() -> DeviceThreads {
        DeviceThreads {
            scheduled: Scheduled {
                run_delay: Some(Nanos::ZERO),
                ..Scheduled::default()
            },
            threads: 0,
        }
    }

    /// Returns the sums of both.
    pub(crate) fn and(self, other: DeviceThreads) -> DeviceThreads {
        DeviceThreads {
            scheduled: self.scheduled.and(other.scheduled),
            threads: self.threads + other.threads,
        }
    }
}

/// Activity of the devices and the machine between two snapshots.
pub(crate) struct Did {
    /// Activity of each device.
    pub(crate) devices: Vec<TargetActivity>,
    /// Time of the devices' energy without any I/O, which begins before the first I/O and ends after the last.
    pub(crate) idle_time: Nanos,
    /// CPU time of the devices' threads.
    pub(crate) device_threads: ThreadUsage,
    /// Share of their CPUs that the threads of each device had.
    pub(crate) device_scheduled: Vec<DeviceThreads>,
    /// Counters of the machine.
    pub(crate) machine: MachineCounters,
    /// Events beside the run.
    pub(crate) happened: Happened,
}

impl MachineSnapshot {
    /// Reads the counters; the counters that show what spoils a run are below `root`.
    pub(crate) fn now(root: &Path) -> MachineSnapshot {
        MachineSnapshot {
            counters: machine::Snapshot::now(),
            surroundings: Surroundings::now(root),
        }
    }

    /// Returns the counts and events since `earlier`; `disks` and `threads` are those of
    /// [`machine::Snapshot::since`].
    pub(crate) fn since(
        &self,
        earlier: &MachineSnapshot,
        disks: &[Option<&Disk>],
        threads: &ThreadCounters,
    ) -> (MachineCounters, Happened) {
        (
            self.counters.since(&earlier.counters, disks, threads),
            self.surroundings.since(&earlier.surroundings),
        )
    }
}

impl RunSnapshot {
    /// Reads the counters of the machine and of the run's targets.
    pub(super) fn now(setup: &Setup<'_>) -> RunSnapshot {
        let mut usage = ThreadUsage::default();
        let targets = || setup.targets.iter();
        let scheduled = targets().map(|target| {
            let threads = target.threads().into_iter();
            threads.fold(DeviceThreads::none(), |sum, tid| {
                usage.add(cpu::thread(tid));
                sum.and(DeviceThreads {
                    scheduled: cpu::scheduled_of(tid),
                    threads: 1,
                })
            })
        });
        let scheduled = scheduled.collect();
        RunSnapshot {
            machine: MachineSnapshot::now(setup.root),
            scheduled,
            idle_read: now(),
            activity: targets().map(|target| target.activity()).collect(),
            usage,
        }
    }

    /// Returns the snapshot with the devices' energy without any I/O as it is now: between the snapshot and the first
    /// I/O they use that too.
    pub(super) fn with_idle_devices(mut self, setup: &Setup<'_>) -> RunSnapshot {
        self.idle_read = now();
        for (activity, target) in self.activity.iter_mut().zip(setup.targets) {
            activity.idle = target.activity().idle;
        }
        self
    }

    /// Returns the activity since `before`; `disks` are those of the targets, `threads` are the counts of the jobs'
    /// threads.
    pub(super) fn since(
        &self,
        before: &RunSnapshot,
        disks: &[Option<&Disk>],
        threads: &ThreadCounters,
    ) -> Did {
        let devices = self.activity.iter().zip(&before.activity);
        let (machine, happened) = self.machine.since(&before.machine, disks, threads);
        Did {
            devices: devices.map(|(a, b)| since(*a, *b)).collect(),
            idle_time: self.idle_read.since(before.idle_read),
            device_threads: self.usage.since(before.usage),
            device_scheduled: (self.scheduled.iter().zip(&before.scheduled))
                .map(|(after, before)| DeviceThreads {
                    scheduled: after.scheduled.since(before.scheduled),
                    ..*before
                })
                .collect(),
            machine,
            happened,
        }
    }
}

fn since(after: TargetActivity, before: TargetActivity) -> TargetActivity {
    let side = |a: TransferTotals, b: TransferTotals| TransferTotals {
        ios: a.ios.saturating_sub(b.ios),
        bytes: a.bytes.saturating_sub(b.bytes),
        service: a.service - b.service,
    };
    TargetActivity {
        read: side(after.read, before.read),
        write: side(after.write, before.write),
        idle: after.idle.zip(before.idle).map(|(a, b)| Joules(a.0 - b.0)),
    }
}
