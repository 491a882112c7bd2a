//! Affinity of interrupts: the CPUs that they are delivered to (Documentation/core-api/irq/irq-affinity.rst).

use crate::changes::{ChangeError, Changes};
use crate::knobs::{Knob, KnobError};
use crate::tree::Tree;
use joulio_units::CpuList;
use std::path::Path;

/// CPU affinity of an interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrqAffinity {
    /// CPUs that it may be delivered to (smp_affinity_list).
    pub allowed: CpuList,
    /// CPUs that it is delivered to (effective_affinity_list); `None` on kernels that do not report it. On x86 without
    /// interrupt remapping a change takes effect with the next interrupt.
    pub effective: Option<CpuList>,
}

/// Reads the affinity of interrupt `irq` of the system whose file tree begins at `root`.
///
/// # Errors
/// There is no such interrupt, or its files are not as the kernel writes them.
pub fn irq_affinity(root: &Path, irq: u32) -> Result<IrqAffinity, KnobError> {
    let tree = Tree::at(root);
    let list = |name: &str| -> Result<Option<CpuList>, KnobError> {
        let file = format!("proc/irq/{irq}/{name}");
        if !tree.has(&file) {
            return Ok(None);
        }
        let read = tree.text(&file).and_then(|text| {
            let list = text.parse();
            list.map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
        });
        read.map(Some).map_err(|source| KnobError::Read {
            path: tree.path(&file),
            source,
        })
    };
    let allowed = list("smp_affinity_list")?.ok_or(KnobError::NoIrq { irq })?;
    Ok(IrqAffinity {
        allowed,
        effective: list("effective_affinity_list")?,
    })
}

impl Changes<'_> {
    /// Directs interrupt `irq` of the system whose file tree begins at `root` to `cpus` only, and returns its affinity
    /// after that. Restored with the other changes.
    ///
    /// # Errors
    /// There is no such interrupt; a CPU is not online; the kernel keeps the interrupt where it is,
    /// as it does with the queues of its own NVMe driver; or another process has changed the same.
    pub fn irq_affinity(
        &mut self,
        root: &Path,
        irq: u32,
        cpus: &CpuList,
    ) -> Result<IrqAffinity, ChangeError> {
        let value = cpus.to_string();
        self.knobs(root, &[(Knob::IrqAffinity { irq }, &value)])?;
        Ok(irq_affinity(root, irq)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use crate::testing::FakeMachine;

    fn machine() -> FakeMachine {
        let machine = FakeMachine::new();
        machine.put("sys/devices/system/cpu/online", "0-3");
        machine.put("proc/irq/24/smp_affinity_list", "0-3");
        machine.put("proc/irq/24/effective_affinity_list", "2");
        machine
    }

    fn changes(journal: &Path) -> Changes<'static> {
        Changes::written_in(Journal::at(journal), |_| {})
    }

    #[test]
    fn an_interrupt_goes_to_the_cpus_that_were_requested_and_back() {
        let (machine, journal) = (machine(), tempfile::tempdir().unwrap());
        let mut changes = changes(journal.path());
        let cpus = "1,0".parse().unwrap();
        let found = changes.irq_affinity(machine.root(), 24, &cpus).unwrap();
        assert_eq!(found.allowed.to_string(), "0-1");
        assert_eq!(found.effective.unwrap().to_string(), "2");
        assert_eq!(machine.get("proc/irq/24/smp_affinity_list"), "0-1");
        assert_eq!(std::fs::read_dir(journal.path()).unwrap().count(), 1);
        assert!(changes.finish().unwrap().is_empty());
        assert_eq!(machine.get("proc/irq/24/smp_affinity_list"), "0-3");
        assert_eq!(std::fs::read_dir(journal.path()).unwrap().count(), 0);
    }

    #[test]
    fn each_interrupt_has_an_entry_of_its_own() {
        let (machine, journal) = (machine(), tempfile::tempdir().unwrap());
        machine.put("proc/irq/25/smp_affinity_list", "0-3");
        let mut changes = changes(journal.path());
        for irq in [24, 25] {
            let cpus = "3".parse().unwrap();
            let found = changes.irq_affinity(machine.root(), irq, &cpus).unwrap();
            assert_eq!(found.allowed, cpus);
        }
        assert_eq!(std::fs::read_dir(journal.path()).unwrap().count(), 2);
        drop(changes);
        for irq in [24, 25] {
            let file = format!("proc/irq/{irq}/smp_affinity_list");
            assert_eq!(machine.get(&file), "0-3");
        }
    }

    #[test]
    fn cpus_that_are_not_online_and_interrupts_that_are_not_there_are_refused() {
        let (machine, journal) = (machine(), tempfile::tempdir().unwrap());
        let mut changes = changes(journal.path());
        for (irq, cpus, says) in [
            (24, "4", "a list of CPUs in 0-3"),
            (24, "", "a list of CPUs in 0-3"),
            (99, "0", "no interrupt 99"),
        ] {
            let cpus = cpus.parse().unwrap();
            let refused = changes.irq_affinity(machine.root(), irq, &cpus);
            let said = refused.unwrap_err().to_string();
            assert!(said.contains(says), "{said}");
        }
        assert_eq!(machine.get("proc/irq/24/smp_affinity_list"), "0-3");
    }
}
