//! Counters of a target beside its I/O.

use joulio_model::TransferTotals;
use joulio_nvme::PowerControl;
use joulio_units::Joules;
use std::sync::Arc;

/// The controller that reports a target's power.
pub type PowerHandle = Arc<dyn PowerControl + Send + Sync>;

/// Activity of a device, with the counts that it reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct TargetActivity {
    /// Reads since it was opened.
    pub read: TransferTotals,
    /// Writes since it was opened.
    pub write: TransferTotals,
    /// Energy that it would have drawn without any I/O since it was opened, if it reports that.
    pub idle: Option<Joules>,
}

/// Observations of a target beside its I/O. A target that reports none uses the defaults.
pub trait ObservedTarget {
    /// Activity so far.
    fn activity(&self) -> TargetActivity {
        TargetActivity::default()
    }

    /// Threads of this process that are the device, by their ids.
    fn threads(&self) -> Vec<i32> {
        Vec::new()
    }

    /// Controller that reports its power, if one does.
    fn power(&self) -> Option<PowerHandle> {
        None
    }

    /// Features of the controller that were set, that a reset took, and that could not be set
    /// again.
    fn lost_features(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the name of another writer, if one is known: the cause of data that no job here wrote.
    fn other_writer(&self) -> Option<String> {
        None
    }
}
