//! Errors of sections that run at the same time.

/// Reason why sections cannot run at the same time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BesideError {
    /// The sections have different settings of the machine.
    #[error(
        "[{0}] has other settings of the machine than the sections beside it: give the same to all, or write stonewall into it"
    )]
    Settings(String),
    /// A section is run by another program.
    #[error("[{0}] is another program's work, which runs alone: write stonewall into it")]
    External(String),
    /// Virtual time does not support it.
    #[error(
        "--twin: sections that run beside each other are not simulated: choose one by --section NAME, or write stonewall into each"
    )]
    VirtualTime,
}
