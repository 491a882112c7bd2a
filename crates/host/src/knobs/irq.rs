//! Affinity of an interrupt: /proc/irq/N/smp_affinity_list.

use super::error::KnobError;
use super::reading::{KnobReading, KnobValues};
use crate::tree::Tree;
use joulio_units::CpuList;

pub(super) fn folder(irq: u32) -> String {
    format!("proc/irq/{irq}")
}

pub(super) fn file(irq: u32) -> String {
    format!("{}/smp_affinity_list", folder(irq))
}

pub(super) fn read(tree: &Tree, irq: u32) -> Result<KnobReading, KnobError> {
    let file = file(irq);
    if !tree.has(&file) {
        return Err(KnobError::NoIrq { irq });
    }
    let value = tree.value(&file).map_err(|source| KnobError::Read {
        path: tree.path(&file),
        source,
    })?;
    let online = tree.text("sys/devices/system/cpu/online").ok();
    let online: Option<CpuList> = online.and_then(|text| text.parse().ok());
    Ok(KnobReading {
        value,
        allowed: KnobValues::CpusOf(online.unwrap_or_default()),
    })
}
