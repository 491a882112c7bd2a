//! The range of a figure, by its quantity: wider than any real value, and narrow enough that no sum or quotient of
//! figures overflows.

/// A range of a quantity, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    /// Unit in words; empty for counts and fractions.
    unit: &'static str,
}

impl Range {
    /// Time of a device in microseconds: at most a minute, twice the 30 s after which hosts give up.
    pub(crate) const SERVICE_US: Range = Range::of(0.0, 60e6, "microseconds");
    /// Time of a step of an I/O on a core, in nanoseconds: at most a second.
    pub(crate) const STEP_NS: Range = Range::of(0.0, 1e9, "nanoseconds");
    /// Bandwidth that limits a device, in bytes per second: from that of a floppy disk to ten times that of a
    /// memory bus.
    pub(crate) const BANDWIDTH: Range = Range::of(1e5, 1e13, "bytes per second");
    /// Power of a storage device in watts.
    pub(crate) const DEVICE_WATTS: Range = Range::of(0.0, 1e3, "watts");
    /// Power of an NVMe power state in watts: the range of 16 bits of hundredths of a watt (MP).
    pub(crate) const STATE_WATTS: Range = Range::of(0.0, 655.35, "watts");
    /// Power of a machine in watts.
    pub(crate) const MACHINE_WATTS: Range = Range::of(1e-3, 1e5, "watts");
    /// Power of a part of a processor in watts; may be zero.
    pub(crate) const UNCORE_WATTS: Range = Range::of(0.0, 1e4, "watts");
    /// Power of a core in watts; not zero, since it is divided by.
    pub(crate) const CORE_WATTS: Range = Range::of(1e-6, 1e3, "watts");
    /// Energy of a wake-up in joules.
    pub(crate) const WAKE_JOULES: Range = Range::of(0.0, 1.0, "joules");
    /// Frequency of a core in hertz.
    pub(crate) const CORE_HERTZ: Range = Range::of(1e6, 1e11, "hertz");

    /// Returns the range from `low` to `high` in `unit`.
    pub(crate) const fn of(low: f64, high: f64, unit: &'static str) -> Range {
        Range { low, high, unit }
    }

    /// Returns true if the range contains `value`.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Range { low, high, unit } = self;
        let space = if unit.is_empty() { "" } else { " " };
        write!(f, "from {low} to {high}{space}{unit}")
    }
}
