//! Flags that are equivalent to options of a section.

/// A flag of a section, and the option that it comes from.
pub(super) struct Flag {
    pub(super) line: usize,
    pub(super) option: String,
    pub(super) argument: String,
}
