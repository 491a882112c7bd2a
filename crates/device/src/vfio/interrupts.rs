//! MSI-X: eventfds through VFIO, masked and redirected through the mapped table.
//!
//! VFIO has no call to mask an MSI-X vector; the mask bit of its table entry is used, and clearing it delivers a
//! pending interrupt. An entry may also be pointed at DMA memory: the IOMMU then translates the interrupt's write like
//! any other of the device's.

use super::container::os;
use super::function::Function;
use super::ioctl;
use super::retry::connect_up_to;
use super::{affinity, config};
use crate::mmio::MappedBar;
use crate::pci::PciAddress;
use crate::{DeviceError, Iova, Vector, VectorControl};
use joulio_units::CpuList;
use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vfio_bindings::bindings::vfio as sys;

/// Bytes of a table entry: address low and high, data, control.
const ENTRY: usize = 16;
const MASKED: u32 = 1;

pub(super) struct MsiX {
    function: Arc<Function>,
    /// PCI address, which the kernel uses in the names of the interrupts.
    address: String,
    table: Arc<MappedBar>,
    offset: usize,
    entries: u16,
    /// Control dword of each entry when it was last read: all bits but the mask bit are preserved.
    controls: Box<[AtomicU32]>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of enabled vectors. VFIO refuses to disable vectors that are not enabled.
    enabled: usize,
    /// Address and data of redirected entries as the kernel had written them.
    redirected: HashMap<u16, [u32; 3]>,
}

impl MsiX {
    pub(super) fn find(
        name: &str,
        address: PciAddress,
        function: &Arc<Function>,
    ) -> Result<MsiX, DeviceError> {
        let unsupported = |reason: &str| DeviceError::Unsupported {
            device: name.into(),
            reason: reason.into(),
        };
        let table = config::msix(|at, to| function.read_config(at, to))?
            .ok_or_else(|| unsupported("it has no MSI-X"))?;
        let bar = function.bar(name, table.bar)?;
        let end = table.offset + usize::from(table.entries) * ENTRY;
        if end > bar.len() {
            return Err(unsupported("its MSI-X table lies outside of its BAR"));
        }
        let count = ioctl::irq_count(function.device(), sys::VFIO_PCI_MSIX_IRQ_INDEX)
            .map_err(os("VFIO_DEVICE_GET_IRQ_INFO"))?;
        let entries = table.entries.min(count.try_into().unwrap_or(u16::MAX));
        Ok(MsiX {
            function: Arc::clone(function),
            address: address.to_string(),
            table: bar,
            offset: table.offset,
            entries,
            controls: (0..entries).map(|_| AtomicU32::new(0)).collect(),
            state: Mutex::default(),
        })
    }

    pub(super) fn count(&self) -> u16 {
        self.entries
    }

    pub(super) fn enable(this: &Arc<MsiX>, count: u16) -> Result<Vec<Vector>, DeviceError> {
        let mut events = Vector::eventfds(count, this.entries)?;
        let raw: Vec<i32> = events.iter().map(AsRawFd::as_raw_fd).collect();
        // The kernel cannot add vectors to enabled ones (VFIO_IRQ_INFO_NORESIZE): all are disabled, then enabled at
        // once.
        let index = sys::VFIO_PCI_MSIX_IRQ_INDEX;
        let mut state = this.lock();
        this.disable(&mut state)?;
        let had = connect_up_to(&raw, |events| {
            ioctl::set_irqs(this.function.device(), index, events)
        })
        .map_err(os("VFIO_DEVICE_SET_IRQS"))?;
        state.enabled = had;
        drop(state);
        events.truncate(had);
        Vector::masked(events, this)
    }

    /// Masks every enabled vector, after a reset of the function: the kernel has restored its own entries, which are
    /// neither masked nor redirected.
    pub(super) fn mask_all(&self) -> Result<(), DeviceError> {
        let enabled = {
            let mut state = self.lock();
            state.redirected.clear();
            state.enabled as u16
        };
        (0..enabled).try_for_each(|vector| self.set_mask(vector, true))
    }

    fn disable(&self, state: &mut State) -> Result<(), DeviceError> {
        if std::mem::take(&mut state.enabled) > 0 {
            state.redirected.clear();
            ioctl::set_irqs(self.function.device(), sys::VFIO_PCI_MSIX_IRQ_INDEX, &[])
                .map_err(os("VFIO_DEVICE_SET_IRQS"))?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, vector: u16) -> Result<usize, DeviceError> {
        if vector >= self.entries {
            return Err(DeviceError::Vectors {
                wanted: vector,
                have: self.entries,
            });
        }
        Ok(self.offset + usize::from(vector) * ENTRY)
    }
}

/// Returns `control` with its mask bit set or cleared.
fn with_mask(control: u32, masked: bool) -> u32 {
    if masked {
        control | MASKED
    } else {
        control & !MASKED
    }
}

impl VectorControl for MsiX {
    fn set_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        let at = self.entry(vector)? + 12;
        let control = self.table.read32(at);
        self.controls[usize::from(vector)].store(control, Ordering::Relaxed);
        self.table.write32(at, with_mask(control, masked));
        // The write is posted: reading it back ensures that it has arrived.
        self.table.read32(at);
        Ok(())
    }

    fn masks_by_store(&self) -> bool {
        true
    }

    fn post_mask(&self, vector: u16, masked: bool) -> Result<(), DeviceError> {
        let at = self.entry(vector)? + 12;
        let control = self.controls[usize::from(vector)].load(Ordering::Relaxed);
        self.table.write32(at, with_mask(control, masked));
        Ok(())
    }

    fn keep(
        &self,
        vector: u16,
        masked: bool,
        target: Option<(Iova, u32)>,
    ) -> Result<bool, DeviceError> {
        let at = self.entry(vector)?;
        // An entry that is masked for a moment is being written by the kernel just now, which unmasks it.
        let mut kept = !masked || self.table.read32(at + 12) & MASKED != 0;
        if let Some((iova, data)) = target {
            let words = [0, 4, 8].map(|word| self.table.read32(at + word));
            if words != [iova.0 as u32, (iova.0 >> 32) as u32, data] {
                kept = false;
                // The entry that the kernel wants there has changed too.
                self.lock().redirected.insert(vector, words);
                self.redirect(vector, target)?;
            }
        }
        if !kept {
            self.set_mask(vector, masked)?;
        }
        Ok(kept)
    }

    fn direct(&self, vector: u16, cpu: usize) -> Result<Option<CpuList>, DeviceError> {
        affinity::direct(Path::new("/"), &self.address, vector, cpu).map(Some)
    }

    fn cpus(&self, vector: u16) -> Result<Option<CpuList>, DeviceError> {
        affinity::effective(Path::new("/"), &self.address, vector).map(Some)
    }

    fn redirect(&self, vector: u16, target: Option<(Iova, u32)>) -> Result<(), DeviceError> {
        let at = self.entry(vector)?;
        let redirected = &mut self.lock().redirected;
        let words = match target {
            Some((iova, data)) => {
                redirected
                    .entry(vector)
                    .or_insert_with(|| [0, 4, 8].map(|word| self.table.read32(at + word)));
                [iova.0 as u32, (iova.0 >> 32) as u32, data]
            }
            None => match redirected.remove(&vector) {
                Some(words) => words,
                None => return Ok(()),
            },
        };
        // An entry may only be changed while it is masked (PCI 3.0, 6.8.2).
        let control = self.table.read32(at + 12);
        self.table.write32(at + 12, control | MASKED);
        for (word, value) in words.into_iter().enumerate() {
            self.table.write32(at + 4 * word, value);
        }
        self.table.write32(at + 12, control);
        self.table.read32(at + 12);
        Ok(())
    }
}

impl Drop for MsiX {
    fn drop(&mut self) {
        // The last close would do it too; this does it earlier.
        let mut state = std::mem::take(&mut *self.lock());
        let _ = self.disable(&mut state);
    }
}
