//! Needs of a run beside its members.

use crate::Stop;
use crate::progress::RunProgress;
use crate::target::Target;
use joulio_energy::Baseline;
use joulio_model::MachineProfile;
use std::path::Path;

/// Surroundings of a run: all that it needs beside its members.
pub struct Setup<'a> {
    /// The devices of all members.
    pub targets: &'a [Box<dyn Target>],
    /// Machine whose watts the model uses; `None`: no model.
    pub machine: Option<&'a MachineProfile>,
    /// The run is on that machine, so that its cores' frequency counts in the model.
    pub at_home: bool,
    /// Power of the idle machine by each meter, if that is known.
    pub baseline: Option<&'a Baseline>,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// Root of the machine's own counters that show what spoiled a run: `/`, or a captured
    /// tree.
    pub root: &'a Path,
    /// Called some times a second.
    pub progress: &'a (dyn Fn(RunProgress) + Sync),
    /// Events of the measured part that each queue is to keep, if it is to be traced.
    pub trace: Option<usize>,
}
