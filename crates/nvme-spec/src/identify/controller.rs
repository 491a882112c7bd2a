//! The Identify Controller data structure (Base figure 275).

use super::{Ctratt, Oaes, Oncs, PowerStateDescriptor, Sgls};
use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Beginning of the NVM subsystem NQN (SUBNQN) of controllers that joulio emulates.
pub const EMULATED_SUBNQN: &str = "nqn.2026-01.io.joulio:emulated:";

/// CNS 01h: 4096 bytes. Field names are the specification's.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct IdentifyController {
    /// PCI vendor.
    pub vid: U16,
    /// PCI subsystem vendor.
    pub ssvid: U16,
    /// Serial number, ASCII.
    pub sn: [u8; 20],
    /// Model number, ASCII.
    pub mn: [u8; 40],
    /// Firmware revision, ASCII.
    pub fr: [u8; 8],
    /// Recommended arbitration burst, as a power of two.
    pub rab: u8,
    /// IEEE OUI, least significant byte first.
    pub ieee: [u8; 3],
    /// Controller multi-path I/O and namespace sharing.
    pub cmic: u8,
    /// Maximum data transfer size, 2^MDTS minimum pages; 0 is no limit.
    pub mdts: u8,
    /// Controller identifier.
    pub cntlid: U16,
    /// Version, as the register VS.
    pub ver: U32,
    /// RTD3 resume latency, microseconds.
    pub rtd3r: U32,
    /// RTD3 entry latency, microseconds.
    pub rtd3e: U32,
    /// Optional asynchronous events supported.
    pub oaes: U32,
    /// Controller attributes; see [`IdentifyController::attributes`].
    pub ctratt: U32,
    /// Read recovery levels supported.
    pub rrls: U16,
    /// Reserved.
    pub reserved102: [u8; 9],
    /// Controller type: 1 is an I/O controller.
    pub cntrltype: u8,
    /// FRU globally unique identifier.
    pub fguid: [u8; 16],
    /// Command retry delay times 1 to 3, units of 100 ms.
    pub crdt: [U16; 3],
    /// Reserved.
    pub reserved134: [u8; 119],
    /// NVM subsystem report.
    pub nvmsr: u8,
    /// VPD write cycle information.
    pub vwci: u8,
    /// Management endpoint capabilities.
    pub mec: u8,
    /// Optional admin commands supported.
    pub oacs: U16,
    /// Abort command limit, 0's based.
    pub acl: u8,
    /// Asynchronous event request limit, 0's based.
    pub aerl: u8,
    /// Firmware updates.
    pub frmw: u8,
    /// Log page attributes.
    pub lpa: u8,
    /// Error log page entries, 0's based.
    pub elpe: u8,
    /// Number of power states supported, 0's based.
    pub npss: u8,
    /// Admin vendor specific command configuration.
    pub avscc: u8,
    /// Autonomous power state transition attributes; bit 0 is support.
    pub apsta: u8,
    /// Warning composite temperature, kelvins.
    pub wctemp: U16,
    /// Critical composite temperature, kelvins.
    pub cctemp: U16,
    /// Maximum time for firmware activation, units of 100 ms.
    pub mtfa: U16,
    /// Host memory buffer preferred size, 4 KiB units.
    pub hmpre: U32,
    /// Host memory buffer minimum size, 4 KiB units.
    pub hmmin: U32,
    /// Total NVM capacity, bytes.
    pub tnvmcap: U128,
    /// Unallocated NVM capacity, bytes.
    pub unvmcap: U128,
    /// Replay protected memory block support.
    pub rpmbs: U32,
    /// Extended device self-test time, minutes.
    pub edstt: U16,
    /// Device self-test options.
    pub dsto: u8,
    /// Firmware update granularity.
    pub fwug: u8,
    /// Keep alive support, units of 100 ms.
    pub kas: U16,
    /// Host controlled thermal management attributes.
    pub hctma: U16,
    /// Minimum thermal management temperature, kelvins.
    pub mntmt: U16,
    /// Maximum thermal management temperature, kelvins.
    pub mxtmt: U16,
    /// Sanitize capabilities.
    pub sanicap: U32,
    /// Host memory buffer minimum descriptor entry size.
    pub hmminds: U32,
    /// Host memory buffer maximum descriptors.
    pub hmmaxd: U16,
    /// NVM set identifier maximum.
    pub nsetidmax: U16,
    /// Endurance group identifier maximum.
    pub endgidmax: U16,
    /// ANA transition time, seconds.
    pub anatt: u8,
    /// Asymmetric namespace access capabilities.
    pub anacap: u8,
    /// ANA group identifier maximum.
    pub anagrpmax: U32,
    /// Number of ANA group identifiers.
    pub nanagrpid: U32,
    /// Persistent event log size, 64 KiB units.
    pub pels: U32,
    /// Domain identifier.
    pub domainid: U16,
    /// Reserved.
    pub reserved358: [u8; 10],
    /// Max endurance group capacity, bytes.
    pub megcap: U128,
    /// Temperature threshold hysteresis attributes. This field and the next ones up to byte 395 were added after
    /// Base 2.0c, in which they are reserved.
    pub tmpthha: u8,
    /// Maximum unlimited power attributes: the scale of `mup`.
    pub mupa: u8,
    /// Command quiesce time, milliseconds.
    pub cqt: U16,
    /// Configurable device personality attributes.
    pub cdpa: U16,
    /// Maximum unlimited power: that of power state 0 without a power limit.
    pub mup: U16,
    /// Interval power measurement sample rate: value in 7:0, scale in 15:8.
    pub ipmsr: U16,
    /// Maximum stop measurement time, minutes: the limit of [`crate::feature::PowerMeasurement`].
    pub msmt: U16,
    /// Reserved.
    pub reserved396: [u8; 116],
    /// Submission queue entry size: required in 3:0, maximum in 7:4, as powers of two.
    pub sqes: u8,
    /// Completion queue entry size: required in 3:0, maximum in 7:4, as powers of two.
    pub cqes: u8,
    /// Maximum outstanding commands; 0: not reported.
    pub maxcmd: U16,
    /// Number of namespaces: the largest NSID.
    pub nn: U32,
    /// Optional NVM commands supported.
    pub oncs: U16,
    /// Fused operation support.
    pub fuses: U16,
    /// Format NVM attributes.
    pub fna: u8,
    /// Volatile write cache: bit 0 is presence.
    pub vwc: u8,
    /// Atomic write unit normal, logical blocks, 0's based.
    pub awun: U16,
    /// Atomic write unit power fail, logical blocks, 0's based.
    pub awupf: U16,
    /// I/O command set vendor specific command configuration.
    pub icsvscc: u8,
    /// Namespace write protection capabilities.
    pub nwpc: u8,
    /// Atomic compare and write unit, logical blocks, 0's based.
    pub acwu: U16,
    /// Optional copy formats supported.
    pub ocfs: U16,
    /// SGL support.
    pub sgls: U32,
    /// Maximum number of allowed namespaces.
    pub mnan: U32,
    /// Maximum domain namespace attachments.
    pub maxdna: U128,
    /// Maximum I/O controller namespace attachments.
    pub maxcna: U32,
    /// Reserved.
    pub reserved564: [u8; 204],
    /// NVM subsystem NQN, UTF-8, NUL-terminated.
    pub subnqn: [u8; 256],
    /// Reserved.
    pub reserved1024: [u8; 768],
    /// I/O queue command capsule supported size (fabrics).
    pub ioccsz: U32,
    /// I/O queue response capsule supported size (fabrics).
    pub iorcsz: U32,
    /// In capsule data offset (fabrics).
    pub icdoff: U16,
    /// Fabrics controller attributes.
    pub fcatt: u8,
    /// Maximum SGL data block descriptors (fabrics).
    pub msdbd: u8,
    /// Optional fabrics commands support.
    pub ofcs: U16,
    /// Reserved.
    pub reserved1806: [u8; 242],
    /// Power state descriptors 0 to 31.
    pub psd: [PowerStateDescriptor; 32],
    /// Vendor specific.
    pub vs: [U64; 128],
}

const _: () = assert!(size_of::<IdentifyController>() == 4096);
const _: () = assert!(core::mem::offset_of!(IdentifyController, oacs) == 256);
const _: () = assert!(core::mem::offset_of!(IdentifyController, tnvmcap) == 280);
const _: () = assert!(core::mem::offset_of!(IdentifyController, tmpthha) == 384);
const _: () = assert!(core::mem::offset_of!(IdentifyController, msmt) == 394);
const _: () = assert!(core::mem::offset_of!(IdentifyController, sqes) == 512);
const _: () = assert!(core::mem::offset_of!(IdentifyController, sgls) == 536);
const _: () = assert!(core::mem::offset_of!(IdentifyController, subnqn) == 768);
const _: () = assert!(core::mem::offset_of!(IdentifyController, ioccsz) == 1792);
const _: () = assert!(core::mem::offset_of!(IdentifyController, psd) == 2048);

impl IdentifyController {
    /// Returns CTRATT, decoded: among others whether the controller measures its power.
    pub fn attributes(&self) -> Ctratt {
        Ctratt::from(self.ctratt.get())
    }

    /// Returns true if the controller supports Autonomous Power State Transition (APSTA bit 0).
    pub fn has_apst(&self) -> bool {
        self.apsta & 1 != 0
    }

    /// Returns the power states that the controller reports (NPSS is 0's based), at most the 32 that exist.
    pub fn power_states(&self) -> &[PowerStateDescriptor] {
        let count = usize::from(self.npss) + 1;
        &self.psd[..count.min(self.psd.len())]
    }

    /// Returns ONCS, decoded: the optional NVM commands.
    pub fn optional_commands(&self) -> Oncs {
        Oncs::from(self.oncs.get())
    }

    /// Returns OAES, decoded: the optional asynchronous events.
    pub fn optional_events(&self) -> Oaes {
        Oaes::from(self.oaes.get())
    }

    /// Returns SGLS, decoded.
    pub fn sgl_support(&self) -> Sgls {
        Sgls::from(self.sgls.get())
    }

    /// Returns the largest number of outstanding Abort commands (ACL is 0's based).
    pub fn abort_limit(&self) -> u32 {
        u32::from(self.acl) + 1
    }

    /// Returns the largest number of outstanding Asynchronous Event Requests (AERL is 0's based).
    pub fn event_request_limit(&self) -> u32 {
        u32::from(self.aerl) + 1
    }
}
