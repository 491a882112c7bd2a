//! Number of times that each fault was committed.

/// Faults committed since the controller was made, by kind; the counts only increase. A fault that could not happen, as
/// a doubled completion without room in its queue, is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faulted {
    /// `status`: commands that failed although they were valid.
    pub status: u64,
    /// `drop`: commands whose completion was never posted.
    pub dropped: u64,
    /// `late`: completions that were withheld for a time.
    pub late: u64,
    /// `double`: completions that were posted twice.
    pub doubled: u64,
    /// `reorder`: completions that were overtaken by a later one of their queue.
    pub reordered: u64,
    /// `stale`: copies of older completions posted.
    pub stale: u64,
    /// `unknown`: completions posted that belong to no command.
    pub unknown: u64,
    /// `lost-irq`: completions posted without an interrupt.
    pub lost_irqs: u64,
    /// `spurious-irq`: interrupts without a completion, pending ones included.
    pub spurious_irqs: u64,
    /// `flip`: reads that arrived with a wrong bit.
    pub flipped: u64,
    /// `cfs`: times that the controller failed.
    pub cfs: u64,
    /// `removed`: 1 once the controller is removed.
    pub removed: u64,
    /// `admin-stuck`: admin commands that were fetched and never completed.
    pub admin_stuck: u64,
    /// `namespace-removed`: namespaces that were removed.
    pub namespaces_removed: u64,
    /// `full`: writes that were refused as if there were no room.
    pub full: u64,
    /// `stuck-reset`: resets that the controller ignored.
    pub stuck_resets: u64,
    /// `stuck-flr`: function-level resets that the controller ignored.
    pub stuck_flrs: u64,
}
