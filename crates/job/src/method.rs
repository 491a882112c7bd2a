//! Engine and completion mode.

use crate::{CompletionMode, EngineName};
use serde::{Deserialize, Serialize};

/// An engine with a completion mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// The engine that does the I/O.
    pub engine: EngineName,
    /// The completion mode in which it waits.
    pub mode: CompletionMode,
}
