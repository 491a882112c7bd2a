//! The part of a device that a job works on.

use joulio_job::Assignment;
use std::fmt::Display;
use std::ops::Range;

/// A job's share of one of its devices.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) assignment: Assignment,
    /// Blocks that the job works on, if a block is the distance between places where its I/Os may begin.
    pub(crate) blocks: Range<u64>,
    /// True if blocks without content may be written before they are read.
    pub(crate) may_write: bool,
    /// Name of the device, if the run has several.
    pub(crate) name: Option<String>,
}

impl Share {
    /// Returns the text of a failure, with the device's name if there are several.
    pub(crate) fn describe(&self, what: impl Display) -> String {
        match &self.name {
            Some(name) => format!("{name}: {what}"),
            None => what.to_string(),
        }
    }
}
