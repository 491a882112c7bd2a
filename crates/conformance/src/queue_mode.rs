//! The completion mode of a queue in a claim.

use joulio_nvme::wait::{AnyPolicy, Dpas, Ehp, Hybrid, Pas, SkiRental, UringHybrid};
use joulio_units::Nanos;

/// The completion mode of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// Classic polling.
    Poll,
    /// Interrupts.
    Interrupt,
    /// Polling and interrupts in turn, with commands in flight.
    Switching,
    /// A fixed sleep, then polling.
    Hybrid,
    /// io_uring's hybrid polling.
    UringHybrid,
    /// Efficient hybrid polling.
    Ehp,
    /// Adaptive sleeps.
    Pas,
    /// Adaptive sleeps, polling, or interrupts, depending on the load.
    Dpas,
    /// Polling for a while, then interrupts.
    SkiRental,
}

impl QueueMode {
    /// Modes in which a queue goes through every step and back.
    pub const ALL: [QueueMode; 4] = [
        QueueMode::Poll,
        QueueMode::Interrupt,
        QueueMode::Switching,
        QueueMode::Hybrid,
    ];
    /// Published policies, which decide by the completions so far.
    pub const PUBLISHED: [QueueMode; 5] = [
        QueueMode::UringHybrid,
        QueueMode::Ehp,
        QueueMode::Pas,
        QueueMode::Dpas,
        QueueMode::SkiRental,
    ];

    pub(crate) fn first(self) -> AnyPolicy {
        match self {
            QueueMode::Poll | QueueMode::Switching => AnyPolicy::POLL,
            QueueMode::Interrupt => AnyPolicy::INTERRUPT,
            QueueMode::Hybrid => AnyPolicy::Hybrid(Hybrid::fixed(Nanos::from_micros(4))),
            QueueMode::UringHybrid => AnyPolicy::UringHybrid(UringHybrid::new()),
            QueueMode::Ehp => AnyPolicy::Ehp(Ehp::new()),
            QueueMode::Pas => AnyPolicy::Pas(Pas::new()),
            QueueMode::Dpas => AnyPolicy::Dpas(Dpas::new(Dpas::THETA)),
            QueueMode::SkiRental => AnyPolicy::SkiRental(SkiRental::new(Nanos::from_micros(2))),
        }
    }
}
