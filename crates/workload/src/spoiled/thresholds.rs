//! Thresholds: losses up to which a run does not count as spoiled.

use joulio_units::Nanos;

/// Share of a run that may be lost. Runs of the same workload on an idle machine differ by about as much, so that a
/// smaller loss cannot be distinguished from noise.
pub const TOLERATED: f64 = 0.02;

/// Longest time between the wake-up of a thread and its run on a CPU that is not blamed on another program: the CPU
/// has to leave its idle state first. The deepest idle state of the machines in profiles/ takes 133 us, and a
/// guest's wake-up through its host some tens more.
pub const WAKE: Nanos = Nanos::from_micros(250);

/// Largest tolerated delay of the conductor. After at most a slice (3 ms) of each other thread the scheduler runs a
/// thread that was woken: 500 ms are 160 busy threads on its CPU, or a machine that stood still.
pub const LATE: Nanos = Nanos::from_millis(500);

/// Least length of a suspension, and least step of the wall clock, that count: on a busy machine shorter times may
/// pass between the readings of two clocks. NTP steps the clock by 128 ms or more, and slews it below that.
pub const CLOCKS: Nanos = Nanos::from_millis(100);

/// Largest number of voluntary context switches per second of a thread that only spins; page faults and locks cause
/// some.
pub(super) const SPINNER_SWITCHES: f64 = 10.0;
