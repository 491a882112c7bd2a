//! Places of superblock, journal and units on a volume.

use crate::{FormatOptions, VolumeError};

/// Alignment in bytes of everything but the units.
const ALIGN: u64 = 4096;

/// Least and largest sizes in bytes of a journal region.
const REGION: (u64, u64) = (64 << 10, 64 << 20);

/// Least and largest sizes in bytes of an allocation unit.
const UNIT: (u64, u64) = (4 << 10, 64 << 20);

/// Places on a volume, in bytes from the start of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Identifier of the volume.
    pub id: u64,
    /// Bytes of a logical block.
    pub block: u64,
    /// Starts of the journal regions.
    pub regions: [u64; 2],
    /// Bytes of a journal region.
    pub region: u64,
    /// Start of the first unit.
    pub units_start: u64,
    /// Bytes of a unit.
    pub unit: u64,
    /// Number of units.
    pub units: u32,
}

impl Layout {
    /// Computes the places of volume `id` on a store of `blocks` blocks of `block` bytes.
    ///
    /// # Errors
    /// The store is too small, or an option is out of its range.
    pub fn new(
        block: u32,
        blocks: u64,
        options: FormatOptions,
        id: u64,
    ) -> Result<Layout, VolumeError> {
        let block = u64::from(block);
        let bytes = block.saturating_mul(blocks);
        let align = ALIGN.max(block);
        let size = |what, bytes: u64, (min, max): (u64, u64)| {
            let fits = bytes.is_power_of_two() && (min..=max).contains(&bytes);
            fits.then_some(bytes).ok_or(VolumeError::Size {
                what,
                bytes,
                min,
                max,
            })
        };
        let unit = size(
            "an allocation unit",
            options.unit,
            (UNIT.0.max(align), UNIT.1),
        )?;
        let of_size = (bytes / 512).next_power_of_two();
        let region = options.journal.unwrap_or(of_size.clamp(REGION.0, REGION.1));
        let region = size("a journal region", region, (REGION.0.max(align), REGION.1))?;
        let regions = [align, align + region];
        let units_start = (align + 2 * region).next_multiple_of(unit);
        let units = bytes.saturating_sub(units_start) / unit;
        if units == 0 {
            let min = units_start + unit;
            return Err(VolumeError::TooSmall { bytes, min });
        }
        Ok(Layout {
            id,
            block,
            regions,
            region,
            units_start,
            unit,
            units: u32::try_from(units).unwrap_or(u32::MAX),
        })
    }

    /// Returns the bytes of the superblock, in whole blocks.
    pub fn superblock(block: u32) -> usize {
        ALIGN.max(u64::from(block)) as usize
    }

    /// Returns the most bytes of a file: all units.
    pub fn max_file(&self) -> u64 {
        u64::from(self.units) * self.unit
    }
}
