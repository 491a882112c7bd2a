//! Sections that cannot run beside each other.

/// Sections that cannot run beside each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BesideError {
    /// Settings of the machine that differ.
    #[error(
        "[{0}] has other settings of the machine than the sections beside it: give the same to all, or write stonewall into it"
    )]
    Settings(String),
    /// A section that is another program's work.
    #[error("[{0}] is another program's work, which runs alone: write stonewall into it")]
    External(String),
    /// Virtual time.
    #[error(
        "--twin: sections that run beside each other are not simulated: choose one by --section NAME, or write stonewall into each"
    )]
    VirtualTime,
}
