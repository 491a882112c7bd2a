//! Controller registers (Base 3.1.4, figures 35 to 51) and doorbells (PCIe 3.1.2).

use bitfield_struct::bitfield;

/// Offset of CAP, Controller Capabilities (64 bits).
pub const CAP: u32 = 0x00;
/// Offset of VS, Version.
pub const VS: u32 = 0x08;
/// Offset of INTMS, Interrupt Mask Set: not to be used with MSI-X.
pub const INTMS: u32 = 0x0c;
/// Offset of INTMC, Interrupt Mask Clear: not to be used with MSI-X.
pub const INTMC: u32 = 0x10;
/// Offset of CC, Controller Configuration.
pub const CC: u32 = 0x14;
/// Offset of CSTS, Controller Status.
pub const CSTS: u32 = 0x1c;
/// Offset of NSSR, NVM Subsystem Reset.
pub const NSSR: u32 = 0x20;
/// Offset of AQA, Admin Queue Attributes.
pub const AQA: u32 = 0x24;
/// Offset of ASQ, Admin Submission Queue Base Address (64 bits).
pub const ASQ: u32 = 0x28;
/// Offset of ACQ, Admin Completion Queue Base Address (64 bits).
pub const ACQ: u32 = 0x30;
/// Offset of CRTO, Controller Ready Timeouts (since NVM Express 2.0).
pub const CRTO: u32 = 0x68;
/// Offset of the first doorbell: the submission queue tail of the admin queue.
pub const DOORBELLS: u32 = 0x1000;

/// CAP, Controller Capabilities (Base figure 36).
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct Cap {
    /// MQES: largest number of entries of an I/O queue, 0's based.
    pub mqes: u16,
    /// CQR: I/O queues must be physically contiguous.
    pub cqr: bool,
    /// AMS: arbitration mechanisms beyond round robin.
    #[bits(2)]
    pub ams: u8,
    #[bits(5)]
    _reserved: u8,
    /// TO: worst-case time for CSTS.RDY to follow CC.EN, in units of 500 ms.
    pub to: u8,
    /// DSTRD: doorbell stride; the distance between doorbells is 2^(2 + DSTRD) bytes.
    #[bits(4)]
    pub dstrd: u8,
    /// NSSRS: NVM subsystem reset is supported.
    pub nssrs: bool,
    /// CSS: command sets, [`Cap::NVM_COMMAND_SET`] and [`Cap::ALL_COMMAND_SETS`].
    pub css: u8,
    /// BPS: boot partitions.
    pub bps: bool,
    /// CPS: controller power scope.
    #[bits(2)]
    pub cps: u8,
    /// MPSMIN: the smallest memory page is 2^(12 + MPSMIN) bytes.
    #[bits(4)]
    pub mpsmin: u8,
    /// MPSMAX: the largest memory page is 2^(12 + MPSMAX) bytes.
    #[bits(4)]
    pub mpsmax: u8,
    /// PMRS: persistent memory region.
    pub pmrs: bool,
    /// CMBS: controller memory buffer.
    pub cmbs: bool,
    /// NSSS: NVM subsystem shutdown.
    pub nsss: bool,
    /// CRMS: controller ready modes.
    #[bits(2)]
    pub crms: u8,
    #[bits(3)]
    _reserved2: u8,
}

impl Cap {
    /// Bit of CRMS: CRTO has the time that the controller may take until its media are ready.
    pub const READY_WITH_MEDIA: u8 = 1;
    /// Bit of AMS: weighted round robin with an urgent priority class.
    pub const WEIGHTED: u8 = 1;
    /// Bit of CSS: the NVM command set.
    pub const NVM_COMMAND_SET: u8 = 1;
    /// Bit of CSS: one or more I/O command sets, selected together by [`Cc::ALL_COMMAND_SETS`].
    pub const ALL_COMMAND_SETS: u8 = 1 << 6;
}

/// CRTO, Controller Ready Timeouts (Base 2.0, 3.1.3, offset 68h), in units of 500 ms.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Crto {
    /// CRWMT: worst-case time for CSTS.RDY to follow CC.EN, with all media ready.
    pub crwmt: u16,
    /// CRIMT: worst-case time for CSTS.RDY to follow CC.EN if media need not be ready (CC.CRIME).
    pub crimt: u16,
}

/// VS, Version (Base figure 37).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Version {
    /// Tertiary version number.
    pub tertiary: u8,
    /// Minor version number.
    pub minor: u8,
    /// Major version number.
    pub major: u16,
}

/// CC, Controller Configuration (Base figure 46).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Cc {
    /// EN: enable; a change from 1 to 0 is a controller reset.
    pub en: bool,
    #[bits(3)]
    _reserved: u8,
    /// CSS: selected I/O command set.
    #[bits(3)]
    pub css: u8,
    /// MPS: the memory page size is 2^(12 + MPS) bytes.
    #[bits(4)]
    pub mps: u8,
    /// AMS: selected arbitration mechanism.
    #[bits(3)]
    pub ams: u8,
    /// SHN: shutdown notification.
    #[bits(2)]
    pub shn: u8,
    /// IOSQES: I/O submission queue entries are 2^IOSQES bytes.
    #[bits(4)]
    pub iosqes: u8,
    /// IOCQES: I/O completion queue entries are 2^IOCQES bytes.
    #[bits(4)]
    pub iocqes: u8,
    /// CRIME: controller ready independent of media.
    pub crime: bool,
    #[bits(7)]
    _reserved2: u8,
}

impl Cc {
    /// AMS of the weighted round robin with an urgent priority class.
    pub const WEIGHTED: u8 = 1;
    /// CSS of the NVM command set alone.
    pub const NVM_COMMAND_SET: u8 = 0;
    /// CSS of all I/O command sets that the controller has.
    pub const ALL_COMMAND_SETS: u8 = 0b110;
    /// IOSQES of the 64-byte submission queue entry, the only size of the NVM command set.
    pub const SQES: u8 = 6;
    /// IOCQES of the 16-byte completion queue entry.
    pub const CQES: u8 = 4;
}

/// CSTS, Controller Status (Base figure 47).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Csts {
    /// RDY: ready; follows CC.EN.
    pub rdy: bool,
    /// CFS: controller fatal status.
    pub cfs: bool,
    /// SHST: shutdown status.
    #[bits(2)]
    pub shst: u8,
    /// NSSRO: an NVM subsystem reset occurred.
    pub nssro: bool,
    /// PP: processing paused.
    pub pp: bool,
    /// ST: shutdown type.
    pub st: bool,
    #[bits(25)]
    _reserved: u32,
}

impl Csts {
    /// Value of a read if the device is not there.
    pub const GONE: Csts = Csts(u32::MAX);

    /// Returns true if the register reads as all ones: the device was removed, or its BAR is disabled.
    pub fn is_removed(self) -> bool {
        self.0 == u32::MAX
    }
}

/// AQA, Admin Queue Attributes (Base figure 49).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Aqa {
    /// ASQS: entries of the admin submission queue, 0's based.
    #[bits(12)]
    pub asqs: u16,
    #[bits(4)]
    _reserved: u8,
    /// ACQS: entries of the admin completion queue, 0's based.
    #[bits(12)]
    pub acqs: u16,
    #[bits(4)]
    _reserved2: u8,
}

/// Returns the offset of the submission queue tail doorbell of queue `qid` with stride `dstrd` (PCIe figure 5). If
/// the offset does not fit into 32 bits, it is the last offset, where no doorbell can be.
pub const fn submission_doorbell(qid: u16, dstrd: u8) -> u32 {
    doorbell(2 * qid as u64, dstrd)
}

/// Returns the offset of the completion queue head doorbell of queue `qid` with stride `dstrd` (PCIe figure 6).
pub const fn completion_doorbell(qid: u16, dstrd: u8) -> u32 {
    doorbell(2 * qid as u64 + 1, dstrd)
}

const fn doorbell(index: u64, dstrd: u8) -> u32 {
    let offset = DOORBELLS as u64 + index * (4 << (dstrd & 0xf));
    if offset > u32::MAX as u64 {
        u32::MAX
    } else {
        offset as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cap_of_a_known_controller_decodes() {
        // QEMU's controller: MQES 2047, CQR, TO 15, CSS NVM + I/O command sets, MPSMAX 4.
        let cap = Cap::from(0x0040_8020_0f01_07ff);
        assert_eq!(cap.mqes(), 2047);
        assert!(cap.cqr());
        assert_eq!(cap.to(), 15);
        assert_eq!(cap.dstrd(), 0);
        assert_eq!(cap.css() & 1, 1);
        assert_eq!(cap.mpsmin(), 0);
        assert_eq!(cap.mpsmax(), 4);
    }

    #[test]
    fn doorbells_stand_in_pairs_at_the_stride() {
        assert_eq!(submission_doorbell(0, 0), 0x1000);
        assert_eq!(completion_doorbell(0, 0), 0x1004);
        assert_eq!(submission_doorbell(3, 0), 0x1018);
        assert_eq!(completion_doorbell(1, 2), 0x1030);
        assert_eq!(completion_doorbell(u16::MAX, 15), u32::MAX);
    }
}
