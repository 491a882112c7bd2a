//! What the machine counted during a run.

use joulio_kernel_io::{Disk, Interrupts};
use serde::Serialize;
use std::collections::BTreeMap;

/// Counters of the machine, from the first job's beginning to the last one's end. What it cannot
/// give is `null`, and `missing` says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MachineCounters {
    /// Interrupts of the devices' I/O queues, by the kernel's count.
    pub device_interrupts: Option<u64>,
    /// Interrupts of the CPUs' timers, of all CPUs.
    pub timer_interrupts: Option<u64>,
    /// Why a counter is `null`.
    pub missing: BTreeMap<&'static str, String>,
}

/// The counters at a moment.
pub(crate) struct Look {
    interrupts: Result<Interrupts, String>,
}

impl Look {
    /// Now.
    pub(crate) fn now() -> Look {
        Look {
            interrupts: Interrupts::read("/").map_err(|error| error.to_string()),
        }
    }

    /// What was counted since `before`, on `disks`: one for each target, none for those that the
    /// kernel does not drive.
    pub(crate) fn since(&self, before: &Look, disks: &[Option<&Disk>]) -> MachineCounters {
        let mut counters = MachineCounters::default();
        let mut missing = |name, why: String| {
            counters.missing.insert(name, why);
        };
        let (after, before) = match (&self.interrupts, &before.interrupts) {
            (Ok(after), Ok(before)) => (after, before),
            (Err(why), _) | (_, Err(why)) => {
                missing("device_interrupts", why.clone());
                missing("timer_interrupts", why.clone());
                return counters;
            }
        };
        let timer = after.timer().zip(before.timer());
        if timer.is_none() {
            missing("timer_interrupts", "no line LOC in /proc/interrupts".into());
        }
        let devices = devices(after, before, disks);
        if let Err(why) = &devices {
            missing("device_interrupts", why.clone());
        }
        counters.timer_interrupts = timer.map(|(after, before)| after.saturating_sub(before));
        counters.device_interrupts = devices.ok();
        counters
    }
}

/// The interrupts of all of `disks`; a disk that several targets are on counts once.
fn devices(
    after: &Interrupts,
    before: &Interrupts,
    disks: &[Option<&Disk>],
) -> Result<u64, String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut sum = 0;
    for disk in disks {
        let disk = disk.ok_or("not a device of the kernel's: the jobs count their own")?;
        if seen.contains(&disk.name.as_str()) {
            continue;
        }
        seen.push(&disk.name);
        let counts = after.of_disk(disk).zip(before.of_disk(disk));
        let (after, before) = counts
            .ok_or_else(|| format!("{} has no interrupts of its own that are known", disk.name))?;
        sum += after.saturating_sub(before);
    }
    Ok(sum)
}
