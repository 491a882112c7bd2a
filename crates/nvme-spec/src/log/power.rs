//! Power that a controller measures: the interval power of the SMART log, and log 25h Power Measurement. Both were
//! added after Base 2.0c; the layouts are those of libnvme 3, which follows the versions from 2.1 on.

use crate::identify::PowerScale;
use bitfield_struct::bitfield;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Power over one interval of a second, or several: a value and its scale.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct IntervalPower {
    /// Power in units of [`IntervalPower::scale`].
    pub value: u16,
    /// Scale: 01b is 100 uW, 10b is 10 mW.
    #[bits(2)]
    pub scale_bits: u8,
    #[bits(2)]
    _reserved: u8,
    /// Kind of the measurement, as in PMTS of [`crate::feature::PowerMeasurement`]; only in the SMART log.
    #[bits(4)]
    pub kind: u8,
    _reserved2: u8,
}

impl IntervalPower {
    /// Returns the unit of the value.
    pub const fn scale(self) -> PowerScale {
        PowerScale::from_bits(self.scale_bits())
    }

    /// Returns the power in microwatts; `None` if it is not reported.
    pub const fn microwatts(self) -> Option<u64> {
        self.scale().microwatts(self.value())
    }

    /// Returns the power nearest to `microwatts`, in the finest unit in which it fits; at most 655.35 W.
    pub fn from_microwatts(microwatts: u64) -> IntervalPower {
        let nearest = |unit: u64| u16::try_from(microwatts.saturating_add(unit / 2) / unit).ok();
        let (value, scale) = match nearest(100) {
            Some(value) => (value, 1),
            None => (nearest(10_000).unwrap_or(u16::MAX), 2),
        };
        IntervalPower::new()
            .with_value(value)
            .with_scale_bits(scale)
    }
}

/// A time in the form in which controllers report it (Base 5.27.1.13, figure 333).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Timestamp {
    /// 48 bits of milliseconds, least significant byte first.
    pub bytes: [u8; 6],
    /// Bit 0: the clock may have stood still for some time. Bits 3:1 are the origin: 0 the last controller level
    /// reset, 1 the host's clock (1970-01-01).
    pub attributes: u8,
    /// Reserved.
    pub reserved7: u8,
}

impl Timestamp {
    /// Returns a timestamp of `milliseconds` after the last controller level reset.
    pub fn since_reset(milliseconds: u64) -> Timestamp {
        let [a, b, c, d, e, f, ..] = milliseconds.to_le_bytes();
        Timestamp {
            bytes: [a, b, c, d, e, f],
            ..Timestamp::default()
        }
    }

    /// Returns the milliseconds since the origin.
    pub fn milliseconds(&self) -> u64 {
        let [a, b, c, d, e, f] = self.bytes;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }
}

/// PMA: attributes of a power measurement.
#[bitfield(u16)]
#[derive(PartialEq, Eq)]
pub struct PowerMeasurementAttributes {
    /// PME: a measurement is in progress.
    pub enabled: bool,
    /// NCPDF: there are gaps in the measurement.
    pub non_contiguous: bool,
    /// EPF: powers are estimated, not measured.
    pub estimated: bool,
    /// MIPWRTS: the time of the maximum is reported.
    pub maximum_timestamp: bool,
    /// PHDO: some powers are above the last descriptor of the histogram.
    pub histogram_overflow: bool,
    #[bits(7)]
    _reserved: u8,
    /// PMT: measured part, as in PMTS of [`crate::feature::PowerMeasurement`].
    #[bits(4)]
    pub kind: u8,
}

/// Log 25h Power Measurement, without the histogram that follows it: 64 bytes.
///
/// From its start on, the measurement has the mean power of every second; the log has the number of these
/// intervals, their mean and their maximum.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct PowerMeasurementLog {
    /// VER: 0.
    pub version: u8,
    /// PMGN: number of starts; FFh is followed by 0.
    pub generation: u8,
    /// PMA; see [`PowerMeasurementLog::attributes`].
    pub pma: U16,
    /// SZE: bytes of the whole log.
    pub size: U32,
    /// PMC: number of intervals measured since the start; stops at its maximum.
    pub count: U32,
    /// NPHD: number of descriptors of the histogram, which begins at byte 64.
    pub histogram_descriptors: U16,
    /// SMTR: minutes after which the measurement stops by itself; 0: not specified.
    pub minutes_left: U16,
    /// SMTS: time at which the measurement stopped.
    pub stopped: Timestamp,
    /// PHDS: bytes of a descriptor of the histogram.
    pub histogram_descriptor_size: U16,
    /// PHBS: width of a bin of the histogram, 250 mW.
    pub histogram_bin_milliwatts: U16,
    /// NPHDS: largest number of descriptors.
    pub histogram_descriptors_supported: U16,
    /// VSS: bytes of vendor specific data at the end.
    pub vendor_specific_size: U16,
    /// PHDOC: number of intervals above the last descriptor.
    pub histogram_overflow_count: U32,
    /// Reserved.
    pub reserved36: [u8; 4],
    /// AIPWR; see [`PowerMeasurementLog::average`].
    pub average_interval_power: U32,
    /// MIPWR; see [`PowerMeasurementLog::maximum`].
    pub maximum_interval_power: U32,
    /// MIPWRT: time at which the maximum was measured.
    pub maximum_at: Timestamp,
    /// IPWRPE: largest error of a power in percent; [`PowerMeasurementLog::NO_ERROR_KNOWN`] if it is not known.
    pub percent_error: u8,
    /// Reserved.
    pub reserved57: [u8; 7],
}

const _: () = assert!(size_of::<PowerMeasurementLog>() == 64);
const _: () = assert!(core::mem::offset_of!(PowerMeasurementLog, stopped) == 16);
const _: () = assert!(core::mem::offset_of!(PowerMeasurementLog, average_interval_power) == 40);
const _: () = assert!(core::mem::offset_of!(PowerMeasurementLog, percent_error) == 56);

impl PowerMeasurementLog {
    /// IPWRPE: the error is not reported.
    pub const NO_ERROR_KNOWN: u8 = 255;
    /// Width of a histogram bin in milliwatts (PHBS), the same for every controller.
    pub const BIN_MILLIWATTS: u16 = 250;

    /// Returns PMA, decoded.
    pub fn attributes(&self) -> PowerMeasurementAttributes {
        PowerMeasurementAttributes::from(self.pma.get())
    }

    /// Returns AIPWR, the mean of all intervals.
    pub fn average(&self) -> IntervalPower {
        IntervalPower::from(self.average_interval_power.get())
    }

    /// Returns MIPWR, the highest of all intervals.
    pub fn maximum(&self) -> IntervalPower {
        IntervalPower::from(self.maximum_interval_power.get())
    }

    /// Returns IPWRPE; `None` if it is not reported, or invalid.
    pub fn percent_error(&self) -> Option<u8> {
        Some(self.percent_error).filter(|&percent| percent <= 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_takes_the_finest_unit_it_fits() {
        for (microwatts, value, scale, back) in [
            (0, 0, 1, 0),
            (5_000, 50, 1, 5_000),
            (49, 0, 1, 0),
            (50, 1, 1, 100),
            (6_553_549, 65_535, 1, 6_553_500),
            (6_553_550, 655, 2, 6_550_000),
            (25_000_000, 2_500, 2, 25_000_000),
            (u64::MAX, 65_535, 2, 655_350_000),
        ] {
            let power = IntervalPower::from_microwatts(microwatts);
            assert_eq!((power.value(), power.scale_bits()), (value, scale));
            assert_eq!(power.microwatts(), Some(back), "{microwatts}");
        }
    }

    #[test]
    fn a_power_without_a_scale_is_not_reported() {
        assert_eq!(IntervalPower::from(0).microwatts(), None);
        assert_eq!(IntervalPower::from(0x0003_0001).microwatts(), None);
        assert_eq!(
            IntervalPower::from(0x0002_0064).microwatts(),
            Some(1_000_000)
        );
    }

    #[test]
    fn attributes_stand_where_libnvme_has_them() {
        let pma = PowerMeasurementAttributes::new().with_estimated(true);
        assert_eq!(u16::from(pma.with_kind(0xc)), 0xc004);
        assert_eq!(u16::from(pma.with_maximum_timestamp(true)), 0x000c);
    }

    #[test]
    fn a_timestamp_has_48_bits() {
        assert_eq!(
            Timestamp::since_reset(u64::MAX).milliseconds(),
            (1 << 48) - 1
        );
        assert_eq!(Timestamp::since_reset(0x1_0203_0405).bytes[..2], [5, 4]);
    }
}
