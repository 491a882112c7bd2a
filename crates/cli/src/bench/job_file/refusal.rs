//! Refusals of a job file.

/// Line of a job file, and the problem with it.
pub(super) type Refusal = (usize, String);
