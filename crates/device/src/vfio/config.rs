//! The words of PCI configuration space that are read here (PCI 3.0, 6.1 and 6.8.2).

use super::function::Function;
use crate::DeviceError;

/// The command register.
pub(super) const COMMAND: u16 = 0x04;
pub(super) const COMMAND_MEMORY: u8 = 1 << 1;
pub(super) const COMMAND_BUS_MASTER: u8 = 1 << 2;

const CAPABILITIES: u16 = 0x34;
const CAPABILITY_MSIX: u8 = 0x11;

/// Where the MSI-X table is.
pub(super) struct MsiXTable {
    pub(super) entries: u16,
    pub(super) bar: u8,
    pub(super) offset: usize,
}

/// The function's MSI-X capability.
pub(super) fn msix(function: &Function) -> Result<Option<MsiXTable>, DeviceError> {
    let mut pointer = [0u8; 1];
    function.read_config(CAPABILITIES, &mut pointer)?;
    // 48 capabilities fill the space: a chain that loops ends there.
    for _ in 0..48 {
        let at = u16::from(pointer[0] & 0xfc);
        if at < 0x40 {
            return Ok(None);
        }
        let mut cap = [0u8; 8];
        function.read_config(at, &mut cap)?;
        if cap[0] == CAPABILITY_MSIX {
            let table = u32::from_le_bytes([cap[4], cap[5], cap[6], cap[7]]);
            return Ok(Some(MsiXTable {
                entries: (u16::from_le_bytes([cap[2], cap[3]]) & 0x7ff) + 1,
                bar: (table & 7) as u8,
                offset: (table & !7) as usize,
            }));
        }
        pointer = [cap[1]];
    }
    Ok(None)
}
