//! Setup of a run: everything it needs in addition to its members.

use crate::Stop;
use crate::progress::RunProgress;
use crate::target::Target;
use joulio_energy::Baseline;
use joulio_model::MachineProfile;
use std::path::Path;

/// Devices, machine and settings of a run: everything except its members.
pub struct Setup<'a> {
    /// The devices of all members.
    pub targets: &'a [Box<dyn Target>],
    /// Machine whose watts the model uses; `None`: no model.
    pub machine: Option<&'a MachineProfile>,
    /// True if the run is on that machine, so that the model takes the frequency of its cores into account.
    pub at_home: bool,
    /// Power of the idle machine by each meter, if it is known.
    pub baseline: Option<&'a Baseline>,
    /// Flag that ends the run early.
    pub stop: &'a Stop,
    /// Root of the files with the machine's counters that show what spoiled a run: `/`, or a captured tree.
    pub root: &'a Path,
    /// Function that is called a few times per second.
    pub progress: &'a (dyn Fn(RunProgress) + Sync),
    /// Number of events of the measured part that each queue keeps; `None`: no trace.
    pub trace: Option<usize>,
}
