//! Log pages (Base 5.16.1, figure 202).

mod power;

pub use power::{IntervalPower, PowerMeasurementAttributes, PowerMeasurementLog, Timestamp};

use open_enum::open_enum;
use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// LID, the log page identifier (Base figure 202).
#[open_enum]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LogId {
    /// Base 5.16.1.2.
    ERROR_INFORMATION = 0x01,
    /// Base 5.16.1.3.
    SMART_HEALTH = 0x02,
    /// Base 5.16.1.5: namespaces that have changed since the log was last read.
    CHANGED_NAMESPACES = 0x04,
    /// Power Measurement, of later versions than Base 2.0c: see [`PowerMeasurementLog`].
    POWER_MEASUREMENT = 0x25,
}

/// Entry of log 01h Error Information: 64 bytes (Base figure 206).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct ErrorInformation {
    /// A count that only increases; 0: the entry is empty.
    pub error_count: U64,
    /// SQID.
    pub sqid: U16,
    /// CID; FFFFh if the error belongs to no command.
    pub cid: U16,
    /// Status field in bits 15:1, phase tag in bit 0.
    pub status: U16,
    /// Position of the error in the command: byte in 7:0, bit in 10:8; FFFFh: unknown.
    pub parameter_error_location: U16,
    /// First LBA that failed.
    pub lba: U64,
    /// NSID.
    pub nsid: U32,
    /// Log page with vendor specific information; 0: none.
    pub vendor_log: u8,
    /// TRTYPE.
    pub transport_type: u8,
    /// Reserved.
    pub reserved30: [u8; 2],
    /// Command specific.
    pub command_specific: U64,
    /// Transport specific.
    pub transport_specific: U16,
    /// Reserved.
    pub reserved42: [u8; 22],
}

const _: () = assert!(size_of::<ErrorInformation>() == 64);

/// Log 02h SMART / Health Information: 512 bytes (Base figure 207).
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct SmartHealth {
    /// Critical warning bits.
    pub critical_warning: u8,
    /// Composite temperature in kelvins.
    pub composite_temperature: U16,
    /// Available spare, percent.
    pub available_spare: u8,
    /// Available spare threshold, percent.
    pub available_spare_threshold: u8,
    /// Percentage used; may exceed 100.
    pub percentage_used: u8,
    /// Endurance group critical warnings.
    pub endurance_group_critical_warning: u8,
    /// Reserved.
    pub reserved7: [u8; 25],
    /// Data read, in thousands of 512-byte units, rounded up.
    pub data_units_read: U128,
    /// Data written, in thousands of 512-byte units, rounded up.
    pub data_units_written: U128,
    /// Read commands completed.
    pub host_read_commands: U128,
    /// Write commands completed.
    pub host_write_commands: U128,
    /// Minutes with outstanding commands.
    pub controller_busy_time: U128,
    /// Power cycles.
    pub power_cycles: U128,
    /// Hours powered on.
    pub power_on_hours: U128,
    /// Unsafe shutdowns.
    pub unsafe_shutdowns: U128,
    /// Media and data integrity errors.
    pub media_errors: U128,
    /// Entries ever written to log 01h.
    pub error_log_entries: U128,
    /// Minutes above the warning temperature.
    pub warning_temperature_time: U32,
    /// Minutes above the critical temperature.
    pub critical_temperature_time: U32,
    /// Temperature sensors 1 to 8, kelvins; 0: the sensor does not exist.
    pub temperature_sensors: [U16; 8],
    /// Thermal management temperature 1 transitions.
    pub thermal_transitions_1: U32,
    /// Thermal management temperature 2 transitions.
    pub thermal_transitions_2: U32,
    /// Seconds in thermal management temperature 1.
    pub thermal_time_1: U32,
    /// Seconds in thermal management temperature 2.
    pub thermal_time_2: U32,
    /// Operational lifetime energy consumed, watt-hours rounded up; 0: not reported. Defined after Base 2.0c, in
    /// which this field and the next are reserved.
    pub lifetime_energy: U64,
    /// Interval power measurement: the mean power in the second before the log was read; see
    /// [`SmartHealth::power`].
    pub interval_power: U32,
    /// Reserved.
    pub reserved244: [u8; 268],
}

const _: () = assert!(size_of::<SmartHealth>() == 512);
const _: () = assert!(core::mem::offset_of!(SmartHealth, lifetime_energy) == 232);
const _: () = assert!(core::mem::offset_of!(SmartHealth, interval_power) == 240);

impl SmartHealth {
    /// Returns the interval power measurement, decoded.
    pub fn power(&self) -> IntervalPower {
        IntervalPower::from(self.interval_power.get())
    }
}
