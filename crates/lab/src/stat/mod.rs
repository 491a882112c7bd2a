//! Figures of block devices and meters, interval by interval.

mod command;
mod counter_file;
mod error;
mod io_share;
mod labels;
mod line;
mod metrics;
mod model;
mod report;
mod server;
mod text_format;

pub use command::{CommandUse, counted_with_command, run_command};
pub use error::StatError;
pub use line::StatLine;
pub use metrics::{Metrics, MetricsError, MetricsOutputs, metrics_path};
pub use model::{DriveProfile, DriveProfileError, StatModel, StatModelError};
pub use report::{DeviceModel, DeviceRow, EnergyShare, MeterRow, StatReport};
pub use server::{ListenAddress, ListenAddressError};

use crate::disk_activity::WatchedDisks;
use crate::power_log::wall_time;
use io_share::IoShare;
use joulio_energy::{Baseline, Meters, Root, Window};

/// Watched block devices and meters.
pub struct Stat<'a> {
    root: &'a Root,
    disks: WatchedDisks,
    window: Window<'a>,
    shares: Vec<IoShare>,
    baseline: Option<&'a Baseline>,
    model: Option<StatModel>,
}

impl<'a> Stat<'a> {
    /// Begins the first interval of `disks` and `meters`, which belong to the machine `root`, and of what `model`
    /// covers.
    ///
    /// # Errors
    /// The counters cannot be read, or the meters' thread cannot be started.
    pub fn begin(
        root: &'a Root,
        mut disks: WatchedDisks,
        meters: &'a mut Meters,
        baseline: Option<&'a Baseline>,
        mut model: Option<StatModel>,
    ) -> Result<Stat<'a>, StatError> {
        let about = meters.about().into_iter();
        let shares = about.map(|_| IoShare::default()).collect();
        let window = meters.open()?;
        disks.snapshot(root.clock().now())?;
        if let Some(model) = &mut model {
            model.begin();
        }
        Ok(Stat {
            root,
            disks,
            window,
            shares,
            baseline,
            model,
        })
    }

    /// Ends the current interval and begins the next.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn lap(&mut self) -> Result<StatReport, StatError> {
        let did = self.disks.snapshot(self.root.clock().now())?;
        let measured = self.window.lap(self.baseline);
        let is_of = |name: &str, controller: &str| self.disks.is_of(name, controller);
        let meters = measured.iter().zip(&mut self.shares);
        let meters = meters.map(|(measured, share)| {
            let ios = share.lap(measured, &did.devices, is_of);
            MeterRow::new(measured, ios)
        });
        let mut report = StatReport {
            time: wall_time::now().seconds(),
            seconds: did.seconds,
            meters: meters.collect(),
            devices: did.devices.iter().map(DeviceRow::new).collect(),
            notes: did.notes,
        };
        if let Some(model) = &mut self.model {
            report.notes.extend(model.meet(&self.disks));
            report.meters.push(model.cores(&did.devices, did.seconds));
            let rows = report.devices.iter_mut().zip(&did.devices);
            rows.for_each(|(row, device)| row.model = model.drive(device));
        }
        Ok(report)
    }
}
