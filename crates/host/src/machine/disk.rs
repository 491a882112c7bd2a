//! A disk's queue, its interrupts, and the CPUs that they are delivered to.

use super::files::{number, read};
use super::known::Known;
use crate::knobs::{Knob, KnobError, Knobs, Setting};
use crate::tree::Tree;
use joulio_kernel_io::{Disk, Interrupts};
use serde::Serialize;
use std::path::Path;

/// Settings of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskSettings {
    /// Name in /sys/block.
    pub name: String,
    /// Controllers that it belongs to: `nvme0`.
    pub controllers: Vec<String>,
    /// Model of the device.
    pub model: Known<String>,
    /// I/O scheduler.
    pub scheduler: Known<String>,
    /// Requests that may be queued.
    pub nr_requests: Known<String>,
    /// Merges that are tried.
    pub nomerges: Known<String>,
    /// CPU on which requests complete.
    pub rq_affinity: Known<String>,
    /// Polling of the disk's queue: 1 if it polls, else 0.
    pub io_poll: Known<String>,
    /// Microseconds of sleep before polling, up to Linux 6.3.
    pub io_poll_delay: Known<String>,
    /// Microseconds that writeback throttling aims at.
    pub wbt_lat_usec: Known<String>,
    /// Hardware queues that the kernel uses.
    pub hardware_queues: Known<u32>,
    /// Queues of the driver that are polled (nvme.poll_queues).
    pub poll_queues: Known<u32>,
    /// Power state of the device on its bus: `D0`. The kernel does not know that of NVMe.
    pub bus_power_state: Known<String>,
    /// Interrupts of its controllers.
    pub interrupts: Known<Vec<DiskInterrupt>>,
}

/// An interrupt of a disk, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskInterrupt {
    /// Number of the interrupt.
    pub irq: u32,
    /// Chip, how it triggers, and who handles it.
    pub description: String,
    /// CPUs that may take it.
    pub allowed_cpus: Known<String>,
    /// CPU that takes it.
    pub effective_cpus: Known<String>,
}

impl DiskSettings {
    pub(super) fn read(root: &Path, disk: &Disk) -> DiskSettings {
        let tree = Tree::at(root);
        let knobs = Knobs::at(root);
        let queue = |setting| match knobs.read(&Knob::queue(&disk.name, setting)) {
            Ok(reading) => Known::some(reading.value),
            Err(KnobError::Absent { why, .. }) => Known::none(why),
            Err(error) => Known::none(error),
        };
        let folder = format!("sys/block/{}", disk.name);
        DiskSettings {
            name: disk.name.clone(),
            controllers: disk.controllers.clone(),
            model: read(&tree, &format!("{folder}/device/model")),
            scheduler: queue(Setting::Scheduler),
            nr_requests: queue(Setting::NrRequests),
            nomerges: queue(Setting::Nomerges),
            rq_affinity: queue(Setting::RqAffinity),
            io_poll: queue(Setting::IoPoll),
            io_poll_delay: queue(Setting::IoPollDelay),
            wbt_lat_usec: queue(Setting::WbtLatUsec),
            hardware_queues: hardware_queues(&tree, &folder),
            poll_queues: poll_queues(&tree, disk),
            bus_power_state: read(&tree, &format!("{folder}/device/device/power_state")),
            interrupts: lines(root, &tree, disk),
        }
    }
}

/// Counts the hardware queues of blk-mq: a directory each in mq/.
fn hardware_queues(tree: &Tree, folder: &str) -> Known<u32> {
    let count = tree.numbered(&format!("{folder}/mq"), "").len();
    match u32::try_from(count) {
        Ok(count) if count > 0 => Known::some(count),
        _ => Known::none(format!(
            "no queues in /{folder}/mq: a device without request queue"
        )),
    }
}

fn poll_queues(tree: &Tree, disk: &Disk) -> Known<u32> {
    if !disk.controllers.iter().any(|name| name.starts_with("nvme")) {
        return Known::none("only the nvme driver has this parameter");
    }
    number(tree, "sys/module/nvme/parameters/poll_queues")
}

fn lines(root: &Path, tree: &Tree, disk: &Disk) -> Known<Vec<DiskInterrupt>> {
    let interrupts = match Interrupts::read(root) {
        Ok(interrupts) => interrupts,
        Err(error) => return Known::none(error),
    };
    let lines = interrupts.lines_of_disk(disk).filter_map(|line| {
        let irq = line.label.parse().ok()?;
        Some(DiskInterrupt {
            irq,
            description: line.description.clone(),
            allowed_cpus: read(tree, &format!("proc/irq/{irq}/smp_affinity_list")),
            effective_cpus: read(tree, &format!("proc/irq/{irq}/effective_affinity_list")),
        })
    });
    let lines: Vec<DiskInterrupt> = lines.collect();
    if lines.is_empty() {
        return Known::none("no line of /proc/interrupts is known to be its");
    }
    Known::some(lines)
}
