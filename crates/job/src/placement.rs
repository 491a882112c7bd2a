//! Places of a run: of its jobs, their buffers and its devices.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Pages that buffers lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MemoryPages {
    /// Ordinary pages, of 4 KiB on x86.
    #[serde(rename = "ordinary")]
    Ordinary,
    /// Transparent huge pages.
    #[serde(rename = "transparent huge")]
    TransparentHuge,
    /// Huge pages of the hugetlb pool.
    #[serde(rename = "huge")]
    Huge,
}

/// Places of a run's jobs, their buffers and its devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Placement {
    /// NUMA nodes of the CPUs on which the jobs ended.
    pub cpu_nodes: BTreeSet<u32>,
    /// NUMA nodes of the jobs' buffers.
    pub memory_nodes: BTreeSet<u32>,
    /// NUMA nodes of the devices that the system knows a node for.
    pub device_nodes: BTreeSet<u32>,
    /// Pages of the jobs' buffers.
    pub memory_pages: BTreeSet<MemoryPages>,
    /// CPUs that took the interrupts for which the user-space driver blocked, those of the jobs where they are bound to
    /// one each; empty: it did not block, the device is emulated, or the system does not say it.
    pub interrupt_cpus: BTreeSet<u32>,
    /// Reason why interrupts were not directed to the jobs' CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_elsewhere: Option<String>,
}

impl Placement {
    /// Adds the placement of another job.
    pub fn add(&mut self, other: &Placement) {
        self.cpu_nodes.extend(&other.cpu_nodes);
        self.memory_nodes.extend(&other.memory_nodes);
        self.device_nodes.extend(&other.device_nodes);
        self.memory_pages.extend(&other.memory_pages);
        self.interrupt_cpus.extend(&other.interrupt_cpus);
        if self.interrupts_elsewhere.is_none() {
            self.interrupts_elsewhere
                .clone_from(&other.interrupts_elsewhere);
        }
    }

    /// Returns true if CPUs, memory and devices are on more than one NUMA node, among those whose node is known:
    /// each I/O then crosses the link between nodes.
    pub fn is_split(&self) -> bool {
        let nodes = [&self.cpu_nodes, &self.memory_nodes, &self.device_nodes];
        nodes.into_iter().flatten().collect::<BTreeSet<_>>().len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_split_where_any_node_is_another() {
        let of = |cpu: &[u32], memory: &[u32], device: &[u32]| Placement {
            cpu_nodes: cpu.iter().copied().collect(),
            memory_nodes: memory.iter().copied().collect(),
            device_nodes: device.iter().copied().collect(),
            ..Placement::default()
        };
        assert!(!of(&[1], &[1], &[1]).is_split());
        assert!(!of(&[1], &[1], &[]).is_split());
        assert!(of(&[0], &[1], &[]).is_split());
        assert!(of(&[0], &[0], &[1]).is_split());
        let mut both = of(&[0], &[0], &[]);
        both.add(&of(&[1], &[0], &[]));
        assert!(both.is_split());
    }
}
