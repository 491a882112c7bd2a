//! Bit fields of Identify: capabilities of a controller and of a namespace.

use bitfield_struct::bitfield;

/// ONCS: optional commands of the NVM command set (Base figure 275).
#[bitfield(u16)]
#[derive(PartialEq, Eq)]
pub struct Oncs {
    /// Compare.
    pub compare: bool,
    /// Write Uncorrectable.
    pub write_uncorrectable: bool,
    /// Dataset Management.
    pub dsm: bool,
    /// Write Zeroes.
    pub write_zeroes: bool,
    /// The save bit of Set Features and the select field of Get Features.
    pub features_save: bool,
    /// Reservations.
    pub reservations: bool,
    /// The timestamp feature.
    pub timestamp: bool,
    /// Verify.
    pub verify: bool,
    /// Copy.
    pub copy: bool,
    #[bits(7)]
    _reserved: u8,
}

/// OAES: optional asynchronous events (Base figure 275).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Oaes {
    _reserved: u8,
    /// Namespace Attribute notices.
    pub namespace_attribute: bool,
    /// Firmware Activation notices.
    pub firmware_activation: bool,
    _reserved2: bool,
    /// Asymmetric Namespace Access Change notices.
    pub ana_change: bool,
    /// Predictable Latency Event Aggregate Log Change notices.
    pub predictable_latency: bool,
    /// LBA Status Information notices.
    pub lba_status: bool,
    /// Endurance Group Event Aggregate Log Page Change notices.
    pub endurance_group: bool,
    /// Normal NVM Subsystem Shutdown events.
    pub normal_shutdown: bool,
    _reserved3: u16,
}

/// CTRATT: controller attributes (Base figure 275), only those of power and of the host identifier.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Ctratt {
    /// HIDS: a host identifier of 128 bits.
    pub hids: bool,
    /// NOPSPM: in a non-operational power state the controller may exceed its power for background work (permissive
    /// mode).
    pub nopspm: bool,
    #[bits(18)]
    _reserved: u32,
    /// PLS: power limit, feature 23h. This bit and the next two were added after Base 2.0c; their positions are
    /// those of libnvme 3.
    pub pls: bool,
    /// PMS: power measurement, feature 25h and log 25h.
    pub pms: bool,
    /// VMS: voltage measurement.
    pub vms: bool,
    #[bits(9)]
    _reserved2: u16,
}

/// SGLS: SGL support (Base figure 275).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Sgls {
    /// 00b: none; 01b: data blocks with any alignment; 10b: data blocks of aligned dwords. See [`Sgls::supported`].
    #[bits(2)]
    pub support: u8,
    /// Keyed Data Block descriptors (fabrics).
    pub keyed: bool,
    #[bits(13)]
    _reserved: u16,
    /// Bit Bucket descriptors.
    pub bit_bucket: bool,
    /// A byte-aligned contiguous metadata buffer at MPTR.
    pub metadata_buffer: bool,
    /// SGLs that are longer than the transfer.
    pub longer: bool,
    /// MPTR is the address of an SGL segment with one descriptor.
    pub metadata_sgl: bool,
    /// Addresses that are offsets (fabrics).
    pub offsets: bool,
    /// Transport SGL Data Block descriptors (fabrics).
    pub transport: bool,
    #[bits(10)]
    _reserved2: u16,
}

impl Sgls {
    /// SUPPORT 01b: data blocks may begin anywhere and have any length.
    pub const ANY_ALIGNMENT: u8 = 0b01;
    /// SUPPORT 10b: addresses and lengths of data blocks are multiples of 4.
    pub const DWORDS: u8 = 0b10;

    /// Returns true if I/O commands may use SGLs. Data blocks of aligned dwords are always allowed then.
    pub const fn supported(self) -> bool {
        matches!(self.support(), Sgls::ANY_ALIGNMENT | Sgls::DWORDS)
    }
}

/// NSFEAT: features of a namespace (NVM figure 97).
#[bitfield(u8)]
#[derive(PartialEq, Eq)]
pub struct Nsfeat {
    /// THINP: thin provisioned; NCAP may be less than NSZE.
    pub thinp: bool,
    /// NSABP: NAWUN, NAWUPF and NACWU are defined.
    pub nsabp: bool,
    /// DAE: reads of deallocated blocks can be reported as errors.
    pub dae: bool,
    /// UIDREUSE: NGUID and EUI64 are never reused.
    pub uidreuse: bool,
    /// OPTPERF: NPWG, NPWA, NPDG, NPDA and NOWS are defined.
    pub optperf: bool,
    #[bits(3)]
    _reserved: u8,
}

/// DLFEAT: deallocation of logical blocks in a namespace (NVM figure 97).
#[bitfield(u8)]
#[derive(PartialEq, Eq)]
pub struct Dlfeat {
    /// Content of deallocated blocks when read: 001b zeroes, 010b FFh, 000b not reported.
    #[bits(3)]
    pub read_behaviour: u8,
    /// DEAC of Write Zeroes is supported.
    pub write_zeroes_deallocate: bool,
    /// The guard of deallocated blocks is the CRC of the data that they read as.
    pub guard_crc: bool,
    #[bits(3)]
    _reserved: u8,
}

impl Dlfeat {
    /// READ_BEHAVIOUR: zeroes.
    pub const READS_ZEROES: u8 = 0b001;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_where_the_specification_has_them() {
        let oncs = Oncs::new().with_compare(true).with_dsm(true);
        let oncs = oncs.with_write_zeroes(true).with_verify(true);
        assert_eq!(u16::from(oncs), 0x8d);
        assert_eq!(
            u32::from(Oaes::new().with_namespace_attribute(true)),
            1 << 8
        );
        assert_eq!(u32::from(Oaes::new().with_normal_shutdown(true)), 1 << 15);
        assert_eq!(u32::from(Ctratt::new().with_nopspm(true)), 1 << 1);
        assert_eq!(u32::from(Ctratt::new().with_pms(true)), 1 << 21);
        assert_eq!(u32::from(Sgls::new().with_bit_bucket(true)), 1 << 16);
        assert_eq!(u32::from(Sgls::new().with_transport(true)), 1 << 21);
        assert_eq!(u8::from(Nsfeat::new().with_optperf(true)), 1 << 4);
        let dlfeat = Dlfeat::new().with_read_behaviour(Dlfeat::READS_ZEROES);
        assert_eq!(u8::from(dlfeat.with_write_zeroes_deallocate(true)), 0x09);
    }

    #[test]
    fn reserved_sgl_support_is_none() {
        let supported = [0b00, 0b01, 0b10, 0b11].map(|bits| Sgls::from(bits).supported());
        assert_eq!(supported, [false, true, true, false]);
    }
}
