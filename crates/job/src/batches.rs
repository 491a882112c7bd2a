//! I/Os that are submitted or completed together.

use serde::{Deserialize, Serialize};

/// Sizes of batches, as with fio's `iodepth_batch` options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// Largest number of I/Os that are submitted together; 0: all that are due.
    pub submit: usize,
    /// Number of completions to wait for before any is taken, at least 1, or the number in flight if that is lower.
    pub complete_min: usize,
}

impl Default for Batches {
    /// Submits all I/Os that are due together, and takes each completion as soon as there is one.
    fn default() -> Batches {
        Batches {
            submit: 0,
            complete_min: 1,
        }
    }
}
