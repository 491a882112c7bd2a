//! Flags that options of a section stand for.

/// A flag of a section, and the option that it comes from.
pub(super) struct Flag {
    pub(super) line: usize,
    pub(super) option: String,
    pub(super) argument: String,
}
