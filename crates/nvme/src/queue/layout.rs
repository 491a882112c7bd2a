//! One piece of memory for a queue pair.

use super::prp::ListLayout;
use joulio_nvme_spec::{Command, CompletionEntry, PAGE_SIZE};

/// Offsets of the parts of a queue pair in its memory, in bytes.
pub(crate) struct Layout {
    completion: usize,
    pub(super) lists: usize,
    pub(crate) bytes: usize,
}

impl Layout {
    /// Layout for queues of `entries`, with a list for each of `depth` commands.
    pub(crate) fn new(entries: usize, depth: usize, each: ListLayout) -> Layout {
        let completion = (entries * size_of::<Command>()).next_multiple_of(PAGE_SIZE);
        let lists =
            completion + (entries * size_of::<CompletionEntry>()).next_multiple_of(PAGE_SIZE);
        Layout {
            completion,
            lists,
            bytes: lists + each.bytes(depth),
        }
    }

    /// Offset of the completion queue; the submission queue is first.
    pub(crate) fn completion(&self) -> usize {
        self.completion
    }
}
