//! Features (Base 5.27.1, figure 317).

use bitfield_struct::bitfield;
use open_enum::open_enum;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// FID, the feature identifier (Base figure 317).
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FeatureId {
    /// Base 5.27.1.1.
    ARBITRATION = 0x01,
    /// Base 5.27.1.2.
    POWER_MANAGEMENT = 0x02,
    /// Base 5.27.1.5.
    NUMBER_OF_QUEUES = 0x07,
    /// Base 5.27.1.6.
    INTERRUPT_COALESCING = 0x08,
    /// Base 5.27.1.7.
    INTERRUPT_VECTOR_CONFIGURATION = 0x09,
    /// Base 5.27.1.9.
    ASYNCHRONOUS_EVENT_CONFIGURATION = 0x0b,
    /// Base 5.27.1.10.
    AUTONOMOUS_POWER_STATE_TRANSITION = 0x0c,
    /// Base 5.27.1.11.
    HOST_MEMORY_BUFFER = 0x0d,
    /// Power Measurement, of later versions than Base 2.0c: see [`PowerMeasurement`].
    POWER_MEASUREMENT = 0x25,
}

impl FeatureId {
    /// Returns whether the feature has data in addition to its dwords, as far as the specification defines the
    /// feature. Of the identifiers without a constant here, these have data: LBA Range Type, Timestamp, Predictable
    /// Latency Mode Config, Host Behavior Support, metadata (7Dh to 7Fh) and Host Identifier.
    pub const fn has_data(self) -> bool {
        matches!(
            self.0,
            0x03 | 0x0c | 0x0d | 0x0e | 0x13 | 0x16 | 0x7d..=0x7f | 0x81
        )
    }
}

/// 01h Arbitration (Base figure 318): numbers of commands that are fetched in a queue's turn and, with weighted
/// round robin, in the turn of each priority class.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Arbitration {
    /// AB: at most 2^AB commands of one queue at a time; 7 means no limit.
    #[bits(3)]
    pub ab: u8,
    #[bits(5)]
    _reserved: u8,
    /// LPW: commands of low priority in a round, 0's based.
    pub lpw: u8,
    /// MPW: commands of medium priority in a round, 0's based.
    pub mpw: u8,
    /// HPW: commands of high priority in a round, 0's based.
    pub hpw: u8,
}

/// 02h Power Management (Base figure 319).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct PowerManagement {
    /// PS: the power state.
    #[bits(5)]
    pub ps: u8,
    /// WH: workload hint.
    #[bits(3)]
    pub wh: u8,
    #[bits(24)]
    _reserved: u32,
}

/// 07h Number of Queues, requested and allocated; both 0's based (Base figures 322 and 323).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct NumberOfQueues {
    /// NSQR or NSQA: I/O submission queues.
    pub submission: u16,
    /// NCQR or NCQA: I/O completion queues.
    pub completion: u16,
}

/// 08h Interrupt Coalescing (Base figure 324).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct InterruptCoalescing {
    /// THR: completions per vector before an interrupt, 0's based.
    pub thr: u8,
    /// TIME: longest delay, in units of 100 us; 0 means none.
    pub time: u8,
    _reserved: u16,
}

/// 09h Interrupt Vector Configuration (Base figure 325).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct InterruptVectorConfiguration {
    /// IV: the vector.
    pub iv: u16,
    /// CD: coalescing is disabled for the vector.
    pub cd: bool,
    #[bits(15)]
    _reserved: u16,
}

/// Entry of the table of feature 0Ch (Base figure 330): transition from a power state to a lower one when idle.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct ApstEntry {
    #[bits(3)]
    _reserved: u8,
    /// ITPS: target power state.
    #[bits(5)]
    pub itps: u8,
    /// ITPT: idle time before the transition, in milliseconds.
    #[bits(24)]
    pub itpt: u32,
    _reserved2: u32,
}

/// Data of 0Ch Autonomous Power State Transition: 256 bytes, with one entry per power state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ApstTable {
    /// Entries for power states 0 to 31; see [`ApstEntry`].
    pub entries: [U64; 32],
}

const _: () = assert!(size_of::<ApstTable>() == 256);

/// 0Dh Host Memory Buffer, dword 11 (Base 5.27.1.11).
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct HostMemoryBuffer {
    /// EHM: the controller may use the memory.
    pub ehm: bool,
    /// MR: the host returns the memory of before a reset, with the same list and unchanged content.
    pub mr: bool,
    #[bits(30)]
    _reserved: u32,
}

/// Entry of the list of 0Dh: a range of whole memory pages.
#[repr(C)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
pub struct HostMemoryDescriptor {
    /// BADD: address, a multiple of the memory page size.
    pub badd: U64,
    /// BSIZE: number of memory pages.
    pub bsize: U32,
    /// Reserved.
    pub reserved: U32,
}

/// Data of Get Features for 0Dh: 4096 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct HostMemoryAttributes {
    /// HSIZE: number of memory pages.
    pub hsize: U32,
    /// HMDLAL and HMDLAU: address of the list.
    pub list: U64,
    /// HMDLEC: number of entries of the list.
    pub hmdlec: U32,
    /// Reserved.
    pub reserved16: [u8; 4080],
}

const _: () = assert!(size_of::<HostMemoryDescriptor>() == 16);
const _: () = assert!(size_of::<HostMemoryAttributes>() == 4096);

/// 25h Power Measurement: starts and stops the measurement that log 25h reports. It was added after Base 2.0c; the
/// layout is libnvme 3's.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct PowerMeasurement {
    /// ACT: [`PowerMeasurement::STOP`] or [`PowerMeasurement::START`].
    #[bits(4)]
    pub act: u8,
    /// PMTS: measured part; 0h is the whole NVM subsystem, Ch to Fh are vendor specific.
    #[bits(4)]
    pub pmts: u8,
    _reserved: u8,
    /// SMT: minutes after which the measurement stops by itself; 0 means never.
    pub smt: u16,
}

impl PowerMeasurement {
    /// ACT 0h.
    pub const STOP: u8 = 0;
    /// ACT 1h: starts a new measurement, and discards an earlier one.
    pub const START: u8 = 1;
    /// PMTS 0h: the total of the NVM subsystem.
    pub const TOTAL: u8 = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stand_from_low_to_high() {
        let weights = Arbitration::new().with_ab(3).with_lpw(1).with_mpw(2);
        assert_eq!(u32::from(weights.with_hpw(9)), 0x0902_0103);
    }

    #[test]
    fn a_measurement_is_started_and_timed_where_libnvme_puts_it() {
        let start = PowerMeasurement::new().with_act(PowerMeasurement::START);
        assert_eq!(u32::from(start.with_pmts(0xc).with_smt(10)), 0x000a_00c1);
    }

    #[test]
    fn an_apst_entry_stands_where_the_kernel_puts_it() {
        // From nvme_configure_apst in Linux: (state << 3) | (transition_ms << 8).
        let entry = ApstEntry::new().with_itps(4).with_itpt(2_000);
        assert_eq!(u64::from(entry), 4 << 3 | 2_000 << 8);
    }
}
