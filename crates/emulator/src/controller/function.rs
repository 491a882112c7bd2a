//! The controller as a PCI function: what surrounds the NVMe registers, for servers of hosts outside of this process.

use super::{EmulatedController, Event};
use crate::doorbells::Doorbells;
use crate::options::PCI_ID;
use joulio_device::{DeviceError, SharedMemory};
use std::os::fd::OwnedFd;
use std::sync::Arc;

impl EmulatedController {
    /// PCI vendor identifier of an emulated controller: the letters `LJ`, which are assigned to nobody.
    pub const VENDOR: u16 = PCI_ID.vendor;
    /// PCI device identifier.
    pub const DEVICE: u16 = PCI_ID.device;

    /// Resets the function: the registers are as after power-on, and all commands under way are gone. Mappings and
    /// events remain.
    pub(crate) fn reset_function(&mut self) {
        self.reset();
        self.registers.reset_function();
    }

    /// Resets the function for a host in this process, which has no configuration space: vectors stay enabled, masked.
    /// Returns `false` when the function ignores it.
    pub(crate) fn reset_function_for_host(&mut self) -> bool {
        if self.ignores_function_reset() {
            return false;
        }
        self.reset_function();
        self.interrupts.reset_function();
        true
    }

    /// Clears all state that a host has left, which is gone.
    pub(crate) fn detach(&mut self) {
        self.reset_function();
        self.guest.clear();
        for vector in 0..self.vectors() {
            self.interrupts.wire(vector, None);
        }
    }

    /// Moves the doorbells to a new page, which a host can map by the descriptor, at the offset that the registers
    /// have. Writes to an earlier page, which a host may still have mapped, are ignored from then on.
    pub(crate) fn map_doorbells(&mut self) -> Result<OwnedFd, DeviceError> {
        let (page, file) = SharedMemory::shareable(REGISTERS)?;
        let queue_pairs = self.doorbells.pairs() - 1;
        self.doorbells.reset();
        self.doorbells = Arc::new(Doorbells::mapped(queue_pairs, Arc::new(page)));
        Ok(file)
    }

    /// Whether the device was removed: then its server reads all of it as all ones.
    pub(crate) fn is_removed(&self) -> bool {
        self.registers.is_removed()
    }

    /// Connects a vector to an event, or disconnects it. Returns `false` when there is no such vector.
    pub(crate) fn wire(&mut self, vector: u16, event: Option<Event>) -> bool {
        self.interrupts.wire(vector, event)
    }

    /// Sends the interrupt of `vector`.
    pub(crate) fn trigger(&mut self, vector: u16) {
        self.interrupts.trigger(vector, &self.guest);
    }

    /// Reads dword `index` of the MSI-X table.
    pub(crate) fn read_table(&self, index: usize) -> u32 {
        self.interrupts.read_table(index)
    }

    /// Writes dword `index` of the MSI-X table.
    pub(crate) fn write_table(&mut self, index: usize, value: u32) {
        if index % 4 == 3 && value & 1 == 0 {
            self.forget_satisfied((index / 4) as u16);
        }
        self.interrupts.write_table(index, value, &self.guest);
    }

    /// Clears a pending interrupt before the vector is unmasked, if the host has consumed all completions that it was
    /// for (PCI 3.0, 6.8.2: the function clears the pending bit).
    pub(super) fn forget_satisfied(&mut self, vector: u16) {
        if !self.interrupts.is_pending(vector) {
            return;
        }
        let mut left = false;
        for qid in 0..self.doorbells.pairs() {
            if self.queues.completes_to(qid, vector) {
                self.poll_head(qid);
                let queue = self.queues.completion(qid);
                left |= queue.is_some_and(|queue| !queue.is_empty());
            }
        }
        if !left {
            self.interrupts.forget_pending(vector);
        }
    }

    /// Reads dword `index` of the MSI-X pending bits.
    pub(crate) fn read_pending(&self, index: usize) -> u32 {
        self.interrupts.read_pending(index)
    }
}

/// Size in bytes of the registers, of which only the doorbells are in the memory: one page of them, for up to 511 I/O
/// queue pairs.
const REGISTERS: usize = 8192;
