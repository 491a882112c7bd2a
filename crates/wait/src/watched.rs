//! The queues that a core waits on, and the end of a wait.

use joulio_cpu::CacheLine;
use joulio_units::Nanos;
use std::error::Error;

/// The queue, or all the queues of a group, that a core waits on.
pub trait Watched {
    /// Returns whether a completion is there. Called in the tightest of loops.
    fn ready(&mut self) -> bool;

    /// Unmasks interrupts, and forgets those of completions seen before. A completion after this either raises an
    /// interrupt or is seen by the next [`Watched::ready`]. An implementation that also waits by other steps masks
    /// them again after the block.
    ///
    /// # Errors
    /// The interrupt cannot be unmasked.
    fn arm(&mut self) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Returns the cache line that the device writes with a completion or after it. `None`: there is no such line,
    /// and a core that should watch it polls.
    fn cache_line(&mut self) -> Option<CacheLine<'_>> {
        None
    }

    /// Blocks until an interrupt or `until`.
    ///
    /// # Errors
    /// The interrupt cannot be waited for.
    fn block(&mut self, until: Nanos) -> Result<Blocked, Box<dyn Error + Send + Sync>>;
}

/// End of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Ended by an interrupt.
    Interrupted,
    /// Ended by its deadline.
    TimedOut,
}

/// End of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A completion is there.
    Ready,
    /// An interrupt ended a block; usually a completion is there.
    Interrupted,
    /// The step's time is over.
    TimedOut,
}
