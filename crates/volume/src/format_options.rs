//! Options of a new volume.

/// Options of [`Volume::format`](crate::Volume::format).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatOptions {
    /// Bytes of an allocation unit: a power of two, 4 KiB to 64 MiB.
    pub unit: u64,
    /// Bytes of each of the two journal regions: a power of two, 64 KiB to 64 MiB; `None`: a 512th of the
    /// device, within these.
    pub journal: Option<u64>,
    /// Whether an existing volume is overwritten.
    pub overwrite: bool,
}

impl Default for FormatOptions {
    /// Returns units of 64 KiB, a journal by the size of the device, and nothing overwritten.
    fn default() -> FormatOptions {
        FormatOptions {
            unit: 64 << 10,
            journal: None,
            overwrite: false,
        }
    }
}
