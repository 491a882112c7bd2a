//! Measurements of the machine and the meters while another program does the I/O.

use crate::conductor::MachineSnapshot;
use crate::energy::figures;
use crate::machine::ThreadCounters;
use crate::report::Moments;
use crate::run_error::RunError;
use joulio_energy::{Baseline, MeterResult, Meters, Window};
use joulio_job::{EnergyResult, MachineCounters, Moment, Spoiled, Unmetered, WorkDone};
use joulio_kernel_io::Disk;
use joulio_nvme::wait::now;
use joulio_units::Nanos;
use std::path::{Path, PathBuf};

/// A window around another program: the meters and the machine's counters, read before the program begins and after
/// it has ended.
pub struct ExternalWindow<'a> {
    root: PathBuf,
    meters: Window<'a>,
    before: MachineSnapshot,
    start: Nanos,
}

/// Results of the measurements around another program.
#[derive(Debug)]
pub struct ExternalMeasured {
    /// Beginning of the window.
    pub begin: Moment,
    /// End of the window.
    pub end: Moment,
    /// Counters of the machine in the window.
    pub machine: MachineCounters,
    /// Events during the program that change its figures: throttling, a suspended machine, stolen time. Other
    /// programs on its CPUs are not judged, since they cannot be distinguished from the program's own threads.
    pub spoiled: Vec<Spoiled>,
    meters: Vec<MeterResult>,
}

impl<'a> ExternalWindow<'a> {
    /// Opens the window of `meters` and of the counters below `root`.
    ///
    /// # Errors
    /// The meters cannot start the threads that read them.
    pub fn open(meters: &'a mut Meters, root: &Path) -> Result<ExternalWindow<'a>, RunError> {
        let meters = meters.open().map_err(RunError::Meters)?;
        Ok(ExternalWindow {
            root: root.into(),
            meters,
            before: MachineSnapshot::now(root),
            start: now(),
        })
    }

    /// Closes the window. `baseline` is that of the idle machine; `disk` is the device, if the kernel drives it.
    pub fn close(self, baseline: Option<&Baseline>, disk: Option<&Disk>) -> ExternalMeasured {
        let end = now();
        let after = MachineSnapshot::now(&self.root);
        let meters = self.meters.close(baseline);
        let threads = ThreadCounters::missing("the threads are another program's");
        let (machine, happened) = after.since(&self.before, &[disk], &threads);
        let moments = Moments::now();
        ExternalMeasured {
            begin: moments.at(self.start),
            end: moments.at(end),
            machine,
            spoiled: happened.spoiled(&[]),
            meters,
        }
    }
}

impl ExternalMeasured {
    /// Returns the energy figures, which are also given per unit of the work `done`, and the meters
    /// without one.
    pub fn energy(&self, done: WorkDone) -> (Vec<EnergyResult>, Vec<Unmetered>) {
        figures(&self.meters, None, done)
    }
}
