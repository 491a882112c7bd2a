//! Identifiers of a PCI function.

/// Identifiers of a PCI function (PCI 3.0, 6.2.1): the model of a drive, before any command was sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciId {
    /// Vendor identifier.
    pub vendor: u16,
    /// Device identifier.
    pub device: u16,
}

impl PciId {
    /// Reads the identifiers from the first four bytes of a configuration space; `None` where no function answers.
    pub(crate) fn of_config(bytes: [u8; 4]) -> Option<PciId> {
        let [v0, v1, d0, d1] = bytes;
        let id = PciId {
            vendor: u16::from_le_bytes([v0, v1]),
            device: u16::from_le_bytes([d0, d1]),
        };
        (id.vendor != u16::MAX).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ones_are_nobodys() {
        let samsung = PciId {
            vendor: 0x144d,
            device: 0xa822,
        };
        assert_eq!(PciId::of_config([0x4d, 0x14, 0x22, 0xa8]), Some(samsung));
        assert_eq!(PciId::of_config([0xff; 4]), None);
    }
}
