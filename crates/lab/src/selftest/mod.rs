//! Self-tests of the user-level waits and user interrupts of this CPU.

mod check;
mod device;
mod error;
mod latency;
mod pinned;
mod report;
mod residency;
mod spread;
mod tpause;
mod uintr;
mod umwait;
mod waits;

pub use check::SelftestCheck;
pub use error::SelftestError;
pub use latency::Latency;
pub use report::{LimitsRow, SelftestReport};
pub use uintr::SetupError;
pub use waits::{PowerReading, WaitResult, Waits};

use crate::device_name::DeviceName;
use joulio_energy::Discovery;
use joulio_units::Nanos;
use pinned::PinnedCpus;

/// Completion mode to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selftest {
    /// Timed pauses: TPAUSE, on AMD MWAITX.
    Tpause,
    /// Waits for a store by another CPU: UMWAIT, on AMD MWAITX.
    Umwait,
    /// User interrupts, from the test source of `kmod/joulio_uintr` or from a device.
    Uintr,
}

impl Selftest {
    /// Returns the name of the test in reports.
    pub fn name(self) -> &'static str {
        match self {
            Selftest::Tpause => "tpause",
            Selftest::Umwait => "umwait",
            Selftest::Uintr => "uintr",
        }
    }
}

/// Options of a self-test.
#[derive(Clone, Debug)]
pub struct SelftestOptions {
    /// Completion mode to test.
    pub test: Selftest,
    /// Number of rounds of each part of the test.
    pub rounds: u32,
    /// CPU to wait on; `None`: the calling thread's.
    pub cpu: Option<usize>,
    /// CPU that stores to the cache line; `None`: any other.
    pub store_cpu: Option<usize>,
    /// Time over which the power of each wait is measured.
    pub window: Nanos,
    /// Device whose completions are waited for, instead of the test's own events. It is only read.
    pub device: Option<DeviceName>,
}

/// Tests a completion mode on the calling thread, which remains bound to its CPU; then measures each wait with the
/// meters of `discovery`.
///
/// # Errors
/// There is nothing to test here ([`SelftestError::is_refusal`]), or the test could not continue. A failed check is not
/// an error: see [`SelftestReport::passed`].
pub fn selftest(
    options: &SelftestOptions,
    discovery: Discovery,
) -> Result<SelftestReport, SelftestError> {
    let cpus = PinnedCpus::take(options.cpu)?;
    let rounds = options.rounds;
    let tested = match (&options.device, options.test) {
        (Some(name), _) => device::test(name, options)?,
        (None, Selftest::Tpause) => tpause::test(rounds)?,
        (None, Selftest::Umwait) => umwait::test(rounds, cpus.other(options.store_cpu)?)?,
        (None, Selftest::Uintr) => uintr::test(rounds, &cpus)?,
    };
    let waits = waits::measure(tested.waits, options.window, discovery)?;
    Ok(SelftestReport::new(options, cpus.own, tested.parts, waits))
}
