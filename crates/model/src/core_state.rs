//! The states of a core.

use serde::{Deserialize, Serialize};

/// State of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreState {
    /// Polling, or running user code.
    Spin,
    /// Running in the kernel.
    Kernel,
    /// `tpause` C0.1.
    PauseC01,
    /// `tpause` C0.2, or `mwaitx` for a time.
    PauseC02,
    /// `umwait` or `mwaitx` on a cache line.
    Monitor,
    /// Halted in C1.
    C1,
    /// Halted in C1E.
    C1e,
    /// Powered off in C6.
    C6,
}
