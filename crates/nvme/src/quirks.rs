//! Drives that do not keep to the specification, or report wrong data about themselves.
//!
//! From Linux' driver as of 6.18 (drivers/nvme/host/pci.c, `nvme_id_table` and `nvme_pci_enable`; core.c,
//! `core_quirks`) and, where a row says so, of a later version, restricted to functions that joulio uses. It reads no
//! list of namespace descriptors and compares no NQNs. Quirks that a drive has only in some machines are left out
//! (pci.c, `check_vendor_combination_bug`).

use joulio_device::pci::PciId;
use joulio_nvme_spec::ascii;
use joulio_nvme_spec::identify::IdentifyController;
use joulio_units::Nanos;

/// Power states to which a drive may go by itself after idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdleStates {
    /// All that Identify reports.
    #[default]
    All,
    /// All but the last: the drive does not come back from that (NVME_QUIRK_NO_DEEPEST_PS).
    NotDeepest,
    /// None: the drive fails once it goes to power states by itself (NVME_QUIRK_NO_APST).
    None,
}

/// Quirks of a drive: how the driver has to treat it differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// Time after a write to CC before CSTS may be read; before that CSTS reads as nonsense
    /// (NVME_QUIRK_DELAY_BEFORE_CHK_RDY).
    pub(crate) csts_delay: Nanos,
    /// Commands should not cross a multiple of the largest transfer, though NOIOB does not say so: such a command takes
    /// as long as two (NVME_QUIRK_STRIPE_SIZE).
    pub(crate) striped: bool,
    /// Identify has only CNS 00h and 01h, whatever the version (NVME_QUIRK_IDENTIFY_CNS).
    pub(crate) no_lists: bool,
    /// Write Zeroes is present but does harm, or takes for ever (NVME_QUIRK_DISABLE_WRITE_ZEROES).
    pub(crate) no_write_zeroes: bool,
    /// Submission queues must have the medium priority class, also without weighted round robin
    /// (NVME_QUIRK_MEDIUM_PRIO_SQ).
    pub(crate) medium_priority: bool,
    /// Largest queue depth if CAP.MQES is 0; 0 for drives that have no more than the two entries then
    /// (`nvme_pci_enable`: "detected PM1725 NVMe controller").
    pub(crate) depth_without_mqes: usize,
    /// The last entry of a PRP list, if it ends with a page, is taken for the address of a further list, although it is
    /// that of data: other data are read and written (NVME_QUIRK_DMAPOOL_ALIGN_512).
    pub(crate) spaced_lists: bool,
    /// Power states for autonomous transitions.
    pub(crate) idle_states: IdleStates,
    /// Why this driver cannot have it.
    pub(crate) refused: Option<&'static str>,
}

const NONE: Quirks = Quirks {
    csts_delay: Nanos::ZERO,
    striped: false,
    no_lists: false,
    no_write_zeroes: false,
    medium_priority: false,
    depth_without_mqes: 0,
    spaced_lists: false,
    idle_states: IdleStates::All,
    refused: None,
};
/// NVME_QUIRK_DELAY_AMOUNT.
const SLOW: Quirks = Quirks {
    csts_delay: Nanos::from_millis(2_300),
    ..NONE
};
/// Linux gives these queues 64 entries, of which one stays empty.
const PM1725: Quirks = Quirks {
    depth_without_mqes: 63,
    ..SLOW
};
const STRIPED: Quirks = Quirks {
    striped: true,
    ..NONE
};
const NO_WRITE_ZEROES: Quirks = Quirks {
    no_write_zeroes: true,
    ..NONE
};
const NO_DEEPEST_STATE: Quirks = Quirks {
    idle_states: IdleStates::NotDeepest,
    ..NONE
};
const NO_IDLE_STATES: Quirks = Quirks {
    idle_states: IdleStates::None,
    ..NONE
};
/// Quirks of controllers with entries of 128 bytes, and one set of command identifiers for all queues
/// (NVME_QUIRK_128_BYTES_SQES and NVME_QUIRK_SHARED_TAGS).
const APPLE: Quirks = Quirks {
    refused: Some(
        "its queues have entries of 128 bytes and share their command identifiers: leave it to the kernel's driver",
    ),
    ..NONE
};

/// Vendor and device identifier, and quirks.
const TABLE: [(u16, u16, Quirks); 40] = [
    // Intel 750, P3500, P3600, P3700; P3520; P4500, P4600; Dell's P4600.
    (0x8086, 0x0953, STRIPED),
    (0x8086, 0x0a53, STRIPED),
    (0x8086, 0x0a54, STRIPED),
    (0x8086, 0x0a55, STRIPED),
    // Intel 600p, P3100.
    (
        0x8086,
        0xf1a5,
        Quirks {
            medium_priority: true,
            idle_states: IdleStates::NotDeepest,
            ..NO_WRITE_ZEROES
        },
    ),
    // QEMU's, up to 5.1.
    (
        0x8086,
        0x5845,
        Quirks {
            no_lists: true,
            ..NO_WRITE_ZEROES
        },
    ),
    // Seagate Nytro; HGST; WDC SN200; Memblaze PBlaze4; Samsung PM1725, PM1725a.
    (0x1bb1, 0x0100, SLOW),
    (0x1c58, 0x0003, SLOW),
    (0x1c58, 0x0023, SLOW),
    (0x1c5f, 0x0540, SLOW),
    (0x144d, 0xa821, PM1725),
    (
        0x144d,
        0xa822,
        Quirks {
            no_write_zeroes: true,
            ..PM1725
        },
    ),
    // Phison E19, E21; SK hynix PC400, BC901; SanDisk Skyhawk; SPCC.
    (0x1987, 0x5019, NO_WRITE_ZEROES),
    (0x1987, 0x5021, NO_WRITE_ZEROES),
    (0x1c5c, 0x1504, NO_WRITE_ZEROES),
    (0x1c5c, 0x1d59, NO_WRITE_ZEROES),
    (0x15b7, 0x2001, NO_WRITE_ZEROES),
    (0x1d97, 0x2263, NO_WRITE_ZEROES),
    // Samsung PM9B1, MZALQ256HBJD; UMIS; Kingston's with Phison controllers.
    (0x144d, 0xa80b, NO_WRITE_ZEROES),
    (0x144d, 0xa809, NO_WRITE_ZEROES),
    (0x1cc4, 0x6303, NO_WRITE_ZEROES),
    (0x1cc4, 0x6302, NO_WRITE_ZEROES),
    (0x2646, 0x5018, NO_WRITE_ZEROES),
    (0x2646, 0x5016, NO_WRITE_ZEROES),
    (0x2646, 0x501a, NO_WRITE_ZEROES),
    (0x2646, 0x501b, NO_WRITE_ZEROES),
    (0x2646, 0x501e, NO_WRITE_ZEROES),
    // Kingston OM3SGP4: Linux 7.1, commit a8eebf9699d6.
    (0x2646, 0x502f, NO_WRITE_ZEROES),
    // SanDisk SN550; Kingston KC2000, A2000; ADATA SX8200; Silicon Motion's; Zhitai TiPro5000, TiPro7000; Solidigm P44.
    (0x15b7, 0x5009, NO_DEEPEST_STATE),
    (0x2646, 0x2262, NO_DEEPEST_STATE),
    (0x2646, 0x2263, NO_DEEPEST_STATE),
    (0x1cc1, 0x8201, NO_DEEPEST_STATE),
    (0x126f, 0x1001, NO_DEEPEST_STATE),
    (0x126f, 0x2262, NO_DEEPEST_STATE),
    (0x1e49, 0x0021, NO_DEEPEST_STATE),
    (0x1e49, 0x0041, NO_DEEPEST_STATE),
    (0x025e, 0xf1ac, NO_DEEPEST_STATE),
    // O2 Micro's of the Steam Deck with 64 GB: Linux 6.13, commit ebefac564796.
    (
        0x1217,
        0x8760,
        Quirks {
            spaced_lists: true,
            ..NONE
        },
    ),
    // Apple's of the MacBook of 2015 (NVME_QUIRK_QDEPTH_ONE), and of Macs with the T2.
    (
        0x106b,
        0x2001,
        Quirks {
            refused: Some(
                "with more than one command outstanding it resets itself and loses data: leave it to the kernel's driver",
            ),
            ..NONE
        },
    ),
    (0x106b, 0x2005, APPLE),
];

/// Vendor identifier and model number by Identify Controller (VID, MN), and quirks: of drives whose identifiers other
/// drives have too.
const MODELS: [(u16, &str, Quirks); 3] = [
    // As the 970 EVO Plus, 144d:a808.
    (
        0x144d,
        "Samsung Portable SSD X5",
        Quirks {
            idle_states: IdleStates::NotDeepest,
            ..SLOW
        },
    ),
    // Toshiba's; Kioxia CD6-V.
    (0x1179, "THNSF5256GPUK TOSHIBA", NO_IDLE_STATES),
    (0x1e0f, "KCD6XVUL6T40", NO_IDLE_STATES),
];

impl Quirks {
    /// Returns the quirks of drives with the identifiers `id`, before any command is sent; most drives have none.
    pub(crate) fn of(id: Option<PciId>) -> Quirks {
        let known = TABLE.iter().find(|(vendor, device, _)| {
            id == Some(PciId {
                vendor: *vendor,
                device: *device,
            })
        });
        known.map_or(NONE, |(_, _, quirks)| *quirks)
    }

    /// Returns these quirks, and those of the model that `identity` names.
    pub(crate) fn with_model(self, identity: &IdentifyController) -> Quirks {
        let (vendor, model) = (identity.vid.get(), ascii(&identity.mn));
        let known = MODELS
            .iter()
            .find(|(vid, name, _)| *vid == vendor && *name == model);
        known.map_or(self, |(_, _, quirks)| self.and(*quirks))
    }

    fn and(self, other: Quirks) -> Quirks {
        Quirks {
            csts_delay: self.csts_delay.max(other.csts_delay),
            striped: self.striped || other.striped,
            no_lists: self.no_lists || other.no_lists,
            no_write_zeroes: self.no_write_zeroes || other.no_write_zeroes,
            medium_priority: self.medium_priority || other.medium_priority,
            depth_without_mqes: self.depth_without_mqes.max(other.depth_without_mqes),
            spaced_lists: self.spaced_lists || other.spaced_lists,
            idle_states: self.idle_states.max(other.idle_states),
            refused: self.refused.or(other.refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;
    use zerocopy::little_endian::U16;

    #[test]
    fn each_drive_is_in_the_table_once_and_has_a_quirk() {
        for (index, (vendor, device, quirks)) in TABLE.iter().enumerate() {
            assert_ne!(*quirks, NONE, "{vendor:04x}:{device:04x}");
            let same = |other: &&(u16, u16, Quirks)| (other.0, other.1) == (*vendor, *device);
            assert_eq!(
                TABLE[index..].iter().filter(same).count(),
                1,
                "{vendor:04x}:{device:04x}"
            );
        }
        assert_eq!(Quirks::of(None), NONE);
        let pm9a3 = PciId {
            vendor: 0x144d,
            device: 0xa80a,
        };
        assert_eq!(Quirks::of(Some(pm9a3)), NONE);
    }

    #[test]
    fn a_models_quirks_are_added_to_those_of_its_identifiers() {
        let identity = |vendor, model: &str| {
            let mut identity = IdentifyController::new_zeroed();
            identity.vid = U16::new(vendor);
            identity.mn.fill(b' ');
            identity.mn[..model.len()].copy_from_slice(model.as_bytes());
            identity
        };
        for (vendor, model, quirks) in MODELS {
            let it = identity(vendor, model);
            assert_eq!(NONE.with_model(&it), quirks, "{model}");
            let both = STRIPED.with_model(&it);
            assert!(both.striped, "{model}");
            assert_eq!(both.csts_delay, quirks.csts_delay, "{model}");
            let other = identity(0x8086, model);
            assert_eq!(NONE.with_model(&other), NONE, "{model}");
        }
        let evo = identity(0x144d, "Samsung SSD 970 EVO Plus 1TB");
        assert_eq!(NONE.with_model(&evo), NONE);
        let longer = identity(0x144d, "Samsung Portable SSD X5 2");
        assert_eq!(NONE.with_model(&longer), NONE);
    }
}
