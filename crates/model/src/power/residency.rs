//! The time of a core by state.

use joulio_units::Nanos;

use crate::{CoreState, FrequencyRatio};

/// Time of one core in a window by state, and its wake-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residency {
    /// Polling, or running the driver and the workload; counted as [`CoreState::Spin`].
    pub spin: Nanos,
    /// Running in the kernel; counted as [`CoreState::Kernel`].
    pub kernel: Nanos,
    /// Blocked until an interrupt; counted as [`CoreState::C1e`], the deepest state that pays within the
    /// microseconds of an I/O (on Sapphire Rapids Linux gives it a target residency of 4 us, and C6 one of 800 us).
    pub blocked: Nanos,
    /// Asleep until a timer; counted as [`CoreState::C1`], since such a sleep is a fraction of an I/O and its known
    /// end keeps the kernel from choosing a deeper state.
    pub slept: Nanos,
    /// Waiting in `tpause`, or in `mwaitx` for a time; counted as [`CoreState::PauseC02`], which Linux allows unless
    /// configured otherwise.
    pub paused: Nanos,
    /// Waiting in `umwait` or `mwaitx` on a cache line; counted as [`CoreState::Monitor`].
    pub monitored: Nanos,
    /// Part by which the watts of the running core were higher, because several of its hardware threads ran at once;
    /// 0 if none did.
    pub smt_share: f64,
    /// Wake-ups by an interrupt.
    pub wakes: u64,
    /// Wake-ups by a timer.
    pub timer_wakes: u64,
    /// Mean frequency of the core while it ran; `None` if unknown: then the reference is used, and
    /// [`crate::MachineProfile::frequency_note`] says so.
    pub frequency: Option<FrequencyRatio>,
}

impl Residency {
    /// Returns the sum of all times.
    pub fn total(&self) -> Nanos {
        self.by_state()
            .into_iter()
            .fold(Nanos::ZERO, |sum, (_, time)| sum + time)
    }

    /// Returns the time in which the core executed instructions.
    pub fn busy(&self) -> Nanos {
        self.spin + self.kernel
    }

    /// Returns the factor on the watts of the core in `state`.
    pub(super) fn factor(&self, state: CoreState) -> f64 {
        match state {
            CoreState::C1 | CoreState::C1e | CoreState::C6 => 1.0,
            _ => 1.0 + self.smt_share,
        }
    }

    /// Returns the time in each state, with the state as which it is counted.
    pub(super) fn by_state(&self) -> [(CoreState, Nanos); 6] {
        [
            (CoreState::Spin, self.spin),
            (CoreState::Kernel, self.kernel),
            (CoreState::C1e, self.blocked),
            (CoreState::C1, self.slept),
            (CoreState::PauseC02, self.paused),
            (CoreState::Monitor, self.monitored),
        ]
    }
}
