//! Counters of a target during its I/O.

use joulio_model::TransferTotals;
use joulio_nvme::PowerControl;
use joulio_units::Joules;
use std::sync::Arc;

/// A controller that reports a target's power.
pub type PowerHandle = Arc<dyn PowerControl + Send + Sync>;

/// Activity of a device, by its own counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct TargetActivity {
    /// Reads since the device was opened.
    pub read: TransferTotals,
    /// Writes since the device was opened.
    pub write: TransferTotals,
    /// Energy that the device would have used without any I/O since it was opened, if it reports that.
    pub idle: Option<Joules>,
}

/// Observations of a target during its I/O. A target that has none uses the defaults.
pub trait ObservedTarget {
    /// Returns the activity so far.
    fn activity(&self) -> TargetActivity {
        TargetActivity::default()
    }

    /// Returns the identifiers of threads of this process that emulate the device.
    fn threads(&self) -> Vec<i32> {
        Vec::new()
    }

    /// Returns the controller that reports the target's power, if one does.
    fn power(&self) -> Option<PowerHandle> {
        None
    }

    /// Returns the features of the controller that were set, were lost in a reset, and could not be set again.
    fn lost_features(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the name of another writer, if one is known, as the cause of data that no job of the run wrote.
    fn other_writer(&self) -> Option<String> {
        None
    }
}
