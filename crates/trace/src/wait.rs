//! A wait of a core.

use joulio_units::Nanos;

/// Kind of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// Sleep by a kernel timer.
    Sleep,
    /// Block for an interrupt.
    Block,
    /// Spin on the completion queues.
    Spin,
    /// User-level wait, with polls between the pauses.
    Pause,
}

/// A wait of a core. A wait whose beginning or end was overwritten is left out: its length is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Kind of wait.
    pub kind: WaitKind,
    /// Begin, if it was recorded.
    pub begin: Option<Nanos>,
    /// End, if it was recorded.
    pub end: Option<Nanos>,
    /// Polls of the completion queues, in a spin or between pauses.
    pub polls: u32,
    /// True if an interrupt ended the wait.
    pub interrupted: bool,
}

impl Wait {
    /// Returns begin and end, if both were recorded.
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        self.begin.zip(self.end)
    }
}
