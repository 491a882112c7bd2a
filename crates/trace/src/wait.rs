//! A wait of a core.

use joulio_units::Nanos;

/// Kind of a wait, as a trace shows it. `StepKind` of `joulio-wait`, a room above this one, is finer: a wait for a user
/// interrupt is a pause here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// Sleep with a kernel timer.
    Sleep,
    /// Block for an interrupt.
    Block,
    /// Spin on the completion queues.
    Spin,
    /// User-level wait for a time or a user interrupt, with polls between the pauses.
    Pause,
    /// User-level wait for a write to a cache line, with polls between the waits.
    Monitor,
}

/// A wait of a core. If its beginning or its end was overwritten, its length is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Kind of wait.
    pub kind: WaitKind,
    /// Begin, if it was recorded.
    pub begin: Option<Nanos>,
    /// End, if it was recorded.
    pub end: Option<Nanos>,
    /// Polls of the completion queues, in a spin or in a user-level wait.
    pub polls: u32,
    /// True if an interrupt ended the wait.
    pub interrupted: bool,
}

impl Wait {
    /// Returns the begin and the end, if both were recorded.
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        self.begin.zip(self.end)
    }
}
