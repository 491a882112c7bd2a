//! Refusals of a job file.

/// A line of a job file, and what is wrong with it.
pub(super) type Refusal = (usize, String);
