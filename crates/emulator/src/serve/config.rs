//! PCI configuration space (PCI 3.0, 6.1 and 6.7; PCI Express 3.0, 7.8; PCI power management 1.2,
//! 3.2): a header and three capabilities in a chain.

use super::layout::Layout;
use crate::controller::EmulatedController;

/// PCI Express configuration space; beyond the first 256 bytes there are no capabilities.
pub(super) const SIZE: usize = 4096;
const CONVENTIONAL: usize = 256;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const BAR0: usize = 0x10;
const CAPABILITIES: usize = 0x34;
const INTERRUPT_LINE: usize = 0x3c;

const POWER_MANAGEMENT: usize = 0x40;
const MSIX: usize = 0x50;
const EXPRESS: usize = 0x60;
const DEVICE_CONTROL: usize = EXPRESS + 8;
/// Initiate Function Level Reset: bit 15 of Device Control, bit 7 of its high byte.
const INITIATE_RESET: u8 = 1 << 7;

/// Effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Bytes were stored, or ignored.
    Stored,
    /// A function-level reset.
    Reset,
}

/// The configuration space of the controller.
#[derive(Debug)]
pub(super) struct ConfigSpace {
    bytes: [u8; CONVENTIONAL],
    /// Masks of the bits that the host may write.
    writable: [u8; CONVENTIONAL],
}

impl ConfigSpace {
    pub(super) fn new(layout: &Layout) -> ConfigSpace {
        let mut space = ConfigSpace {
            bytes: [0; CONVENTIONAL],
            writable: [0; CONVENTIONAL],
        };
        space.header(layout);
        space.power_management();
        space.msix(layout);
        space.express();
        space
    }

    fn header(&mut self, layout: &Layout) {
        self.put(0x00, &EmulatedController::VENDOR.to_le_bytes());
        self.put(0x02, &EmulatedController::DEVICE.to_le_bytes());
        // Memory space, bus master and INTx disable can be written; INTx is never raised.
        self.allow(COMMAND, &0x0406u16.to_le_bytes());
        // There is a list of capabilities.
        self.put(STATUS, &0x0010u16.to_le_bytes());
        // NVM Express I/O controller: 01h 08h 02h.
        self.put(0x09, &[0x02, 0x08, 0x01]);
        // Memory, 64 bits wide.
        self.put(BAR0, &[0x04]);
        self.allow(BAR0, &(!(layout.size() - 1)).to_le_bytes());
        self.put(0x2c, &EmulatedController::VENDOR.to_le_bytes());
        self.put(0x2e, &EmulatedController::DEVICE.to_le_bytes());
        self.put(CAPABILITIES, &[POWER_MANAGEMENT as u8]);
        self.allow(INTERRUPT_LINE, &[0xff]);
    }

    fn power_management(&mut self) {
        // Version 3; D0 and D3hot, without a soft reset between them.
        self.put(POWER_MANAGEMENT, &[0x01, MSIX as u8, 0x03, 0x00, 0x08]);
        self.allow(POWER_MANAGEMENT + 4, &[0x03]);
    }

    fn msix(&mut self, layout: &Layout) {
        let [low, high] = (layout.vectors() - 1).to_le_bytes();
        self.put(MSIX, &[0x11, EXPRESS as u8, low, high]);
        // Enable and function mask can be written.
        self.allow(MSIX + 3, &[0xc0]);
        // Table and pending bits are in BAR 0.
        self.put(MSIX + 4, &(layout.table() as u32).to_le_bytes());
        self.put(MSIX + 8, &(layout.pending() as u32).to_le_bytes());
    }

    fn express(&mut self) {
        // Version 2, endpoint.
        self.put(EXPRESS, &[0x10, 0x00, 0x02, 0x00]);
        // Role-based error reporting, function-level reset.
        self.put(EXPRESS + 4, &(1u32 << 28 | 1 << 15).to_le_bytes());
        // Relaxed ordering and no snoop, as after a reset; the host can write those, payload and read request sizes and
        // error reporting.
        self.put(DEVICE_CONTROL, &0x2810u16.to_le_bytes());
        self.allow(DEVICE_CONTROL, &0x78ffu16.to_le_bytes());
        // 8 GT/s, 4 lanes, and negotiated so.
        self.put(EXPRESS + 0x0c, &(3u32 | 4 << 4).to_le_bytes());
        self.put(EXPRESS + 0x12, &(3u16 | 4 << 4).to_le_bytes());
        self.allow(EXPRESS + 0x10, &0x01c3u16.to_le_bytes());
        // Completion timeouts can be disabled.
        self.put(EXPRESS + 0x24, &(1u32 << 4).to_le_bytes());
        self.allow(EXPRESS + 0x28, &0x001fu16.to_le_bytes());
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn allow(&mut self, at: usize, mask: &[u8]) {
        self.writable[at..at + mask.len()].copy_from_slice(mask);
    }

    /// Reads from `offset`; the range is inside.
    pub(super) fn read(&self, offset: usize, to: &mut [u8]) {
        for (at, byte) in (offset..).zip(to) {
            *byte = self.bytes.get(at).copied().unwrap_or(0);
        }
    }

    /// Writes the writable bits at `offset`.
    pub(super) fn write(&mut self, offset: usize, from: &[u8]) -> Written {
        let mut written = Written::Stored;
        for (at, &byte) in (offset..)
            .zip(from)
            .take_while(|&(at, _)| at < CONVENTIONAL)
        {
            let writable = self.writable[at];
            self.bytes[at] = self.bytes[at] & !writable | byte & writable;
            if at == DEVICE_CONTROL + 1 && byte & INITIATE_RESET != 0 {
                written = Written::Reset;
            }
        }
        written
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn read<const N: usize>(space: &ConfigSpace, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        space.read(at, &mut bytes);
        bytes
    }

    #[test]
    fn the_capabilities_are_a_chain_that_ends() {
        let space = ConfigSpace::new(&Layout::new(65));
        let mut at = usize::from(read::<1>(&space, CAPABILITIES)[0]);
        let mut found = Vec::new();
        while at != 0 {
            let [id, next] = read(&space, at);
            found.push(id);
            at = usize::from(next);
        }
        assert_eq!(found, [0x01, 0x11, 0x10]);
        assert_eq!(read::<2>(&space, MSIX + 2), [64, 0]);
    }

    #[test]
    fn a_bar_of_ones_reads_back_as_its_size() {
        let layout = Layout::new(65);
        let mut space = ConfigSpace::new(&layout);
        space.write(BAR0, &[0xff; 8]);
        let bar = u64::from_le_bytes(read(&space, BAR0));
        assert_eq!(!(bar & !0xf) + 1, layout.size());
    }

    #[test]
    fn identifiers_cannot_be_written_and_a_reset_is_reported() {
        let mut space = ConfigSpace::new(&Layout::new(2));
        assert_eq!(space.write(0, &[0xff; 4]), Written::Stored);
        assert_eq!(read(&space, 0), EmulatedController::VENDOR.to_le_bytes());
        assert_eq!(space.write(DEVICE_CONTROL, &[0, 0x80]), Written::Reset);
        assert_eq!(read::<2>(&space, DEVICE_CONTROL)[1] & 0x80, 0);
        assert_eq!(space.write(SIZE - 1, &[1]), Written::Stored);
    }
}
