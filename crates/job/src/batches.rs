//! I/Os that go out or come back together.

use serde::{Deserialize, Serialize};

/// Sizes of batches, as fio's `iodepth_batch` options have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// I/Os that are submitted together at most; 0: all that are due.
    pub submit: usize,
    /// Completions that are waited for before any is taken, at least 1; where fewer are in flight, those.
    pub complete_min: usize,
}

impl Default for Batches {
    /// Submits all I/Os that are due together, and takes each completion as soon as it is there.
    fn default() -> Batches {
        Batches {
            submit: 0,
            complete_min: 1,
        }
    }
}
