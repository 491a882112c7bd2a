//! PCI configuration space, accessed by messages.

use super::VfioUserError;
use super::session::Session;
use crate::DeviceError;
use crate::pci::PciId;
use crate::vfio::config::{
    COMMAND, COMMAND_BUS_MASTER, COMMAND_INTX_DISABLE, COMMAND_MEMORY, IDENTIFIERS, MsiXTable,
};
use joulio_vfio_user_wire::pci;

/// The class code's three bytes (PCI 3.0, 6.2.1).
const CLASS: u16 = 0x09;
/// Mass storage, non-volatile memory, NVM Express (PCIe 2.1.5).
const NVME: u32 = 0x01_08_02;
/// MSI-X Enable in Message Control, at offset 2 of the capability.
const MSIX_ENABLE: u16 = 1 << 15;
const MSIX_FUNCTION_MASK: u16 = 1 << 14;

fn read(session: &Session, offset: u16, to: &mut [u8]) -> Result<(), VfioUserError> {
    session.read(pci::CONFIG, offset.into(), to)
}

/// Reads the function's identifiers.
pub(super) fn pci_id(session: &Session) -> Result<Option<PciId>, VfioUserError> {
    let mut word = [0; 4];
    read(session, IDENTIFIERS, &mut word)?;
    Ok(PciId::of_config(word))
}

/// Refuses a device that is not an NVMe controller.
pub(super) fn check_class(session: &Session) -> Result<(), VfioUserError> {
    // Revision and class are one word; every peer accepts an aligned word.
    let mut word = [0; 4];
    read(session, CLASS - 1, &mut word)?;
    let class = u32::from_le_bytes(word) >> 8;
    if class != NVME {
        return Err(VfioUserError::NotNvme {
            device: session.link.device().into(),
            class,
        });
    }
    Ok(())
}

/// Enables bus mastering and the memory BARs of the function and disables INTx, for which nobody listens: a peer may
/// take the absence of Interrupt Disable for an order to raise it, and fail when it cannot.
pub(super) fn set_command(session: &Session) -> Result<(), VfioUserError> {
    let mut command = [0; 2];
    read(session, COMMAND, &mut command)?;
    command[0] |= COMMAND_MEMORY | COMMAND_BUS_MASTER;
    command[1] |= COMMAND_INTX_DISABLE;
    session.write(pci::CONFIG, COMMAND.into(), &command)
}

/// Finds the MSI-X capability.
pub(super) fn msix(session: &Session) -> Result<Option<MsiXTable>, DeviceError> {
    crate::vfio::config::msix(|offset, to| Ok(read(session, offset, to)?))
}

/// Sets or clears MSI-X Enable, and clears Function Mask. With a peer that refuses or forgets this word, the eventfds
/// alone decide.
pub(super) fn enable_msix(
    session: &Session,
    table: &MsiXTable,
    enabled: bool,
) -> Result<(), VfioUserError> {
    let mut control = [0; 2];
    let at = table.capability + 2;
    let written = read(session, at, &mut control).and_then(|()| {
        let enable = if enabled { MSIX_ENABLE } else { 0 };
        let word = u16::from_le_bytes(control) & !(MSIX_FUNCTION_MASK | MSIX_ENABLE) | enable;
        session.write(pci::CONFIG, at.into(), &word.to_le_bytes())
    });
    match written {
        Err(VfioUserError::Refused { .. }) => Ok(()),
        other => other,
    }
}
