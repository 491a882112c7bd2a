//! Thresholds: the losses up to which a run is not spoiled.

use joulio_units::Nanos;

/// The share of a run that may be lost. Runs of one workload on an idle machine differ by about as
/// much: what takes less cannot be distinguished from that.
pub const TOLERATED: f64 = 0.02;

/// Longest time that a thread that was woken may take to get its CPU, without another program's
/// doing: the CPU has to leave its idle state first. The deepest of the machines in profiles/ takes
/// 133 us, and a guest's wake-up through its host some tens more.
pub const WAKE: Nanos = Nanos::from_micros(250);

/// Longest time that the thread that watches a run may be late. A scheduler gives a thread that was
/// woken its CPU after a slice (3 ms) of each of the others at most: 500 ms are 160 busy
/// threads on its CPU, or a machine that stood still.
pub const LATE: Nanos = Nanos::from_millis(500);

/// Least length of a suspension, and least step of the wall clock: on a busy machine that much may
/// pass between reading two clocks. NTP steps by 128 ms or more, and slews below.
pub const CLOCKS: Nanos = Nanos::from_millis(100);

/// Maximum number of voluntary switches a second of a thread that does nothing but spin: page
/// faults, locks.
pub(super) const SPINNER_SWITCHES: f64 = 10.0;
