//! Measurement of a device together with the files of its profile and its rates.

use super::error::DeviceMeasureError;
use super::measurement::{DeviceMeasurement, MeasureOptions};
use super::point::{PointRuns, RatePoint};
use crate::machine_profile;
use crate::output_file::{Existing, OutputFile};
use crate::printable;
use crate::profile_file::{ProfileFileError, profile_file};
use crate::profile_text;
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_twin::device_fit::FittedRate;
use joulio_workload::{EngineName, Method, Spoiled, Stop};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Request for a profile of a device.
#[derive(Clone, Debug)]
pub struct ProfilingOptions {
    /// Options of the measurement.
    pub measure: MeasureOptions,
    /// Name or path of the profile of the machine whose software's time is subtracted; `None`: the one that fits the
    /// processor, or otherwise a generic server.
    pub machine: Option<String>,
    /// Name or path of the profile that gives the figures which are not measured.
    pub base: String,
    /// File of the profile; the rates are written beside it, as a `.csv`.
    pub out: PathBuf,
    /// Treatment of files that exist.
    pub existing: Existing,
}

/// A request whose files can be written; nothing is measured yet.
#[derive(Debug)]
pub struct Profiling {
    options: ProfilingOptions,
    machine: MachineProfile,
    base: DeviceProfile,
    toml: OutputFile,
    csv: OutputFile,
}

/// A device's profile with the rates that it was fitted to, as `--output json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct ProfiledDevice {
    /// Name of the machine whose software's time was subtracted.
    pub machine: String,
    /// Engine of every run.
    pub engine: EngineName,
    /// Completion mode of every run.
    pub completion: String,
    /// Reason why the runs do not poll, if they do not.
    pub not_polled: Option<String>,
    /// The profile.
    pub profile: DeviceProfile,
    /// Measured rates beside the twin's with the profile.
    pub rates: Vec<ProfiledRate>,
}

/// A rate that was measured, with its runs.
#[derive(Clone, Debug, Serialize)]
pub struct ProfiledRate {
    /// The rate beside the twin's.
    #[serde(flatten)]
    pub rate: FittedRate,
    /// Number of runs.
    pub runs: usize,
    /// Lowest and highest I/Os per second of a run that counts.
    pub range: [f64; 2],
    /// Reason why the rate does not show the device itself, if there is one.
    pub spoiled: Option<Spoiled>,
}

impl Profiling {
    /// Checks the files and reads the profiles.
    ///
    /// # Errors
    /// A file cannot be written, or a profile does not exist.
    pub fn new(options: ProfilingOptions) -> Result<Profiling, DeviceMeasureError> {
        let (out, existing) = (&options.out, options.existing);
        let csv = OutputFile::open(&csv_path(out), existing);
        Ok(Profiling {
            toml: profile_file(out, existing)?,
            csv: csv.map_err(ProfileFileError::File)?,
            machine: machine_profile(options.machine.as_deref())
                .map_err(DeviceMeasureError::NoProfile)?,
            base: DeviceProfile::load(&options.base).map_err(DeviceMeasureError::NoProfile)?,
            options,
        })
    }

    /// Measures the device, fits a profile to its rates, and writes both files; `begun` is called before each run.
    ///
    /// # Errors
    /// The measurement fails or is spoiled, no profile fits the rates, or a file cannot be written.
    pub fn run(
        &self,
        stop: &Stop,
        begun: &mut dyn FnMut(RatePoint),
    ) -> Result<ProfiledDevice, DeviceMeasureError> {
        let ProfilingOptions { measure, out, .. } = &self.options;
        let measured = DeviceMeasurement::measure(measure, &self.machine, &self.base, stop, begun);
        let measured = measured.map_err(|error| match error {
            DeviceMeasureError::Spoiled(spoiled) => DeviceMeasureError::NotWritten {
                path: out.clone(),
                spoiled,
            },
            error => error,
        })?;
        let csv_path = csv_path(out);
        let rates = measured.csv(&[self.again(measured.method, &csv_path)]);
        // The profile is named like its file, because that is how it is requested.
        let name = out.file_stem().unwrap_or_default().to_string_lossy();
        let csv_name = csv_path.file_name().unwrap_or_default().to_string_lossy();
        let file = (rates.as_str(), &*printable(&csv_name));
        let fitted = measured.profile(&name, file, &self.machine, &self.base, stop);
        let (profile, beside) = match fitted {
            Ok(fitted) => fitted,
            Err(error @ DeviceMeasureError::Interrupted) => return Err(error),
            Err(error) => {
                // The rates are saved even though no profile fits: they took a while, and may fit with another
                // machine's profile.
                self.csv.write(&rates).map_err(DeviceMeasureError::Write)?;
                return Err(DeviceMeasureError::RatesOnly {
                    error: Box::new(error),
                    path: csv_path,
                });
            }
        };
        let comment = format!(
            "By joulio profiles measure: what is called a guess is of {}, not of this device.",
            self.base.name
        );
        let text = profile_text(&profile, &comment)?;
        if stop.stopped() {
            return Err(DeviceMeasureError::Interrupted);
        }
        self.csv.write(&rates).map_err(DeviceMeasureError::Write)?;
        self.toml.write(&text).map_err(DeviceMeasureError::Write)?;
        let rates = beside.into_iter().zip(&measured.points);
        Ok(ProfiledDevice {
            machine: self.machine.name.clone(),
            engine: measured.method.engine,
            completion: measured.method.mode.to_string(),
            rates: rates
                .map(|(rate, runs)| ProfiledRate::new(rate, runs))
                .collect(),
            not_polled: measured.not_polled,
            profile,
        })
    }

    /// Returns the command that makes the same profile from the rates in the file `csv`.
    fn again(&self, method: Method, csv: &Path) -> String {
        let ProfilingOptions { machine, base, .. } = &self.options;
        format!(
            "Fitted by: joulio profiles fit {} --machine {} --base {base} --ioengine {} --completion {} --write-profile {}",
            csv.display(),
            machine.as_ref().unwrap_or(&self.machine.name),
            method.engine,
            method.mode,
            self.options.out.display()
        )
    }
}

impl ProfiledRate {
    fn new(rate: FittedRate, runs: &PointRuns) -> ProfiledRate {
        ProfiledRate {
            rate,
            runs: runs.runs.len(),
            range: runs.range(),
            spoiled: runs.spoiled().cloned(),
        }
    }
}

/// Returns the path of the rates' file, beside the profile's.
fn csv_path(out: &Path) -> PathBuf {
    out.with_extension("csv")
}
