//! The power state descriptor (Base figure 276).

use bitfield_struct::bitfield;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A power state: 32 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PowerStateDescriptor {
    /// MP: maximum power, in 10 mW or, with MXPS, in 100 uW.
    pub mp: U16,
    /// Reserved.
    pub reserved2: u8,
    /// MXPS and NOPS; see [`PowerStateFlags`].
    pub flags: u8,
    /// ENLAT: longest time to enter the state, in microseconds.
    pub enlat: U32,
    /// EXLAT: longest time to exit the state, in microseconds.
    pub exlat: U32,
    /// RRT: relative read throughput; lower is better.
    pub rrt: u8,
    /// RRL: relative read latency.
    pub rrl: u8,
    /// RWT: relative write throughput.
    pub rwt: u8,
    /// RWL: relative write latency.
    pub rwl: u8,
    /// IDLP: idle power, in units of [`PowerStateDescriptor::idle_scale`].
    pub idlp: U16,
    /// IPS in bits 7:6.
    pub ips: u8,
    /// Reserved.
    pub reserved19: u8,
    /// ACTP: active power, in units of [`PowerStateDescriptor::active_scale`].
    pub actp: U16,
    /// APW in bits 2:0, APS in bits 7:6.
    pub apw_aps: u8,
    /// Reserved.
    pub reserved23: [u8; 9],
}

const _: () = assert!(size_of::<PowerStateDescriptor>() == 32);

/// Byte 3 of a power state descriptor.
#[bitfield(u8)]
#[derive(PartialEq, Eq)]
pub struct PowerStateFlags {
    /// MXPS: MP is in units of 100 uW.
    pub mxps: bool,
    /// NOPS: a non-operational state, in which the controller does no I/O.
    pub nops: bool,
    #[bits(6)]
    _reserved: u8,
}

/// Unit of IDLP and ACTP (IPS, APS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerScale {
    /// 0h: the power is not reported.
    NotReported,
    /// 1h: units of 100 uW.
    HundredMicrowatts,
    /// 2h: units of 10 mW.
    TenMilliwatts,
    /// 3h: reserved.
    Reserved,
}

impl PowerScale {
    /// Returns the scale for the two low bits of `bits`.
    pub(crate) const fn from_bits(bits: u8) -> PowerScale {
        match bits & 3 {
            0 => PowerScale::NotReported,
            1 => PowerScale::HundredMicrowatts,
            2 => PowerScale::TenMilliwatts,
            _ => PowerScale::Reserved,
        }
    }

    /// Returns `value` in this unit as microwatts; `None` if the unit is not one of power.
    pub const fn microwatts(self, value: u16) -> Option<u64> {
        match self {
            PowerScale::HundredMicrowatts => Some(value as u64 * 100),
            PowerScale::TenMilliwatts => Some(value as u64 * 10_000),
            PowerScale::NotReported | PowerScale::Reserved => None,
        }
    }
}

impl PowerStateDescriptor {
    /// Returns byte 3, decoded.
    pub fn power_state_flags(&self) -> PowerStateFlags {
        PowerStateFlags::from(self.flags)
    }

    /// Returns MP in microwatts.
    pub fn max_power_microwatts(&self) -> u64 {
        let unit = if self.power_state_flags().mxps() {
            100
        } else {
            10_000
        };
        u64::from(self.mp.get()) * unit
    }

    /// Returns IPS, the unit of IDLP.
    pub fn idle_scale(&self) -> PowerScale {
        PowerScale::from_bits(self.ips >> 6)
    }

    /// Returns APS, the unit of ACTP.
    pub fn active_scale(&self) -> PowerScale {
        PowerScale::from_bits(self.apw_aps >> 6)
    }

    /// Returns APW, the workload with which ACTP was measured.
    pub fn active_workload(&self) -> u8 {
        self.apw_aps & 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_power_follows_its_scale() {
        let mut d = PowerStateDescriptor {
            mp: U16::new(2500),
            ..Default::default()
        };
        assert_eq!(d.max_power_microwatts(), 25_000_000);
        d.flags = PowerStateFlags::new()
            .with_mxps(true)
            .with_nops(true)
            .into();
        assert_eq!(d.max_power_microwatts(), 250_000);
    }
}
