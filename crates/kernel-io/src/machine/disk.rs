//! A disk's queue, its interrupts, and where they go.

use super::Told;
use super::files::{number, told};
use crate::knobs::{Setting, Tree};
use crate::{Disk, Interrupts, Knob, KnobError, Knobs};
use serde::Serialize;
use std::path::Path;

/// What is set of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiskSettings {
    /// Its name in /sys/block.
    pub name: String,
    /// What drives it: `nvme0`.
    pub controllers: Vec<String>,
    /// The device's model.
    pub model: Told<String>,
    /// The scheduler.
    pub scheduler: Told<String>,
    /// Requests that may be queued.
    pub nr_requests: Told<String>,
    /// Which merges are tried.
    pub nomerges: Told<String>,
    /// Where requests complete.
    pub rq_affinity: Told<String>,
    /// Whether it has queues that are polled.
    pub io_poll: Told<String>,
    /// Microseconds of sleep before polling, up to Linux 6.3.
    pub io_poll_delay: Told<String>,
    /// Microseconds that writeback throttling aims at.
    pub wbt_lat_usec: Told<String>,
    /// Hardware queues that the kernel uses.
    pub hardware_queues: Told<u32>,
    /// nvme.poll_queues: how many of the driver's queues are polled.
    pub poll_queues: Told<u32>,
    /// The power state of the device on its bus: `D0`. That of NVMe is not known to the kernel.
    pub bus_power_state: Told<String>,
    /// Its interrupts.
    pub interrupts: Told<Vec<Line>>,
}

/// An interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Its number.
    pub irq: u32,
    /// The chip, how it triggers, and who handles it.
    pub description: String,
    /// The CPUs that may take it.
    pub allowed_cpus: Told<String>,
    /// The CPU that takes it.
    pub effective_cpus: Told<String>,
}

impl DiskSettings {
    pub(super) fn read(root: &Path, disk: &Disk) -> DiskSettings {
        let tree = Tree::at(root);
        let knobs = Knobs::at(root);
        let queue = |setting| match knobs.read(&Knob::queue(&disk.name, setting)) {
            Ok(reading) => Told::some(reading.value),
            Err(KnobError::Absent { why, .. }) => Told::none(why),
            Err(error) => Told::none(error),
        };
        let folder = format!("sys/block/{}", disk.name);
        DiskSettings {
            name: disk.name.clone(),
            controllers: disk.controllers.clone(),
            model: told(&tree, &format!("{folder}/device/model")),
            scheduler: queue(Setting::Scheduler),
            nr_requests: queue(Setting::NrRequests),
            nomerges: queue(Setting::Nomerges),
            rq_affinity: queue(Setting::RqAffinity),
            io_poll: queue(Setting::IoPoll),
            io_poll_delay: queue(Setting::IoPollDelay),
            wbt_lat_usec: queue(Setting::WbtLatUsec),
            hardware_queues: hardware_queues(&tree, &folder),
            poll_queues: poll_queues(&tree, disk),
            bus_power_state: told(&tree, &format!("{folder}/device/device/power_state")),
            interrupts: lines(root, &tree, disk),
        }
    }
}

/// Those of blk-mq: a folder each in mq/.
fn hardware_queues(tree: &Tree, folder: &str) -> Told<u32> {
    let count = tree.numbered(&format!("{folder}/mq"), "").len();
    match u32::try_from(count) {
        Ok(count) if count > 0 => Told::some(count),
        _ => Told::none(format!(
            "no queues in /{folder}/mq: a device without request queue"
        )),
    }
}

fn poll_queues(tree: &Tree, disk: &Disk) -> Told<u32> {
    if !disk.controllers.iter().any(|name| name.starts_with("nvme")) {
        return Told::none("only the nvme driver has this parameter");
    }
    number(tree, "sys/module/nvme/parameters/poll_queues")
}

fn lines(root: &Path, tree: &Tree, disk: &Disk) -> Told<Vec<Line>> {
    let interrupts = match Interrupts::read(root) {
        Ok(interrupts) => interrupts,
        Err(error) => return Told::none(error),
    };
    let lines = interrupts.lines_of_disk(disk).filter_map(|line| {
        let irq = line.label.parse().ok()?;
        Some(Line {
            irq,
            description: line.description.clone(),
            allowed_cpus: told(tree, &format!("proc/irq/{irq}/smp_affinity_list")),
            effective_cpus: told(tree, &format!("proc/irq/{irq}/effective_affinity_list")),
        })
    });
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() {
        return Told::none("no line of /proc/interrupts is known to be its");
    }
    Told::some(lines)
}
