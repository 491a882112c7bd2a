//! Registers of PCI configuration space (PCI 3.0, 6.1 and 6.8.2).

use crate::DeviceError;

/// Vendor and device identifier.
pub(crate) const IDENTIFIERS: u16 = 0x00;
/// The command register.
pub(crate) const COMMAND: u16 = 0x04;
pub(crate) const COMMAND_MEMORY: u8 = 1 << 1;
pub(crate) const COMMAND_BUS_MASTER: u8 = 1 << 2;
/// Interrupt Disable, bit 10: in the second byte.
pub(crate) const COMMAND_INTX_DISABLE: u8 = 1 << 2;

const CAPABILITIES: u16 = 0x34;
const CAPABILITY_MSIX: u8 = 0x11;

/// Location of the MSI-X table.
pub(crate) struct MsiXTable {
    /// Offset of the capability in configuration space, in bytes.
    pub(crate) capability: u16,
    pub(crate) entries: u16,
    pub(crate) bar: u8,
    pub(crate) offset: usize,
}

/// Finds the MSI-X capability of the function whose configuration space `read` reads.
pub(crate) fn msix(
    read: impl Fn(u16, &mut [u8]) -> Result<(), DeviceError>,
) -> Result<Option<MsiXTable>, DeviceError> {
    let mut pointer = [0u8; 1];
    read(CAPABILITIES, &mut pointer)?;
    // 48 capabilities fill the space: a chain with a loop ends there.
    for _ in 0..48 {
        let at = u16::from(pointer[0] & 0xfc);
        if at < 0x40 {
            return Ok(None);
        }
        let mut cap = [0u8; 8];
        read(at, &mut cap)?;
        if cap[0] == CAPABILITY_MSIX {
            let table = u32::from_le_bytes([cap[4], cap[5], cap[6], cap[7]]);
            return Ok(Some(MsiXTable {
                capability: at,
                entries: (u16::from_le_bytes([cap[2], cap[3]]) & 0x7ff) + 1,
                bar: (table & 7) as u8,
                offset: (table & !7) as usize,
            }));
        }
        pointer = [cap[1]];
    }
    Ok(None)
}
