//! Calibration: measurement of what each step of an I/O costs on this machine, as a profile for the twin.

mod accounts;
mod check;
mod compared;
mod driver;
mod error;
mod measure;
mod pair;
mod profile;
mod reads;
mod scheduler;
mod spread;
mod watch;
pub mod watts;

pub use check::{Checked, NotChecked};
pub use compared::{BesideFigures, Compared, Figures};
pub use driver::CalibrateCpus;
pub use error::CalibrateError;

use joulio_cpu::allowed_cpus;
use joulio_energy::{Processor, Root};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_wait::{StepKind, StepSet, Waiter};
use joulio_workload::{Spoiled, Stop};
use reads::CalibratePlace;
use watch::Watch;
use watts::{MeasuredWatts, with_watts};

/// Calibration of a machine: its measured times, as a profile.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The processor's name.
    pub processor: String,
    /// CPUs that were used.
    pub cpus: CalibrateCpus,
    /// Profile of the machine with its measured times. The watts are the base profile's unless [`Calibration::watts`]
    /// has measured ones.
    pub profile: MachineProfile,
    /// Name of the base profile.
    pub base: String,
    /// Measured watts; `None` if only times were measured.
    pub watts: Option<MeasuredWatts>,
    /// Nanoseconds by which the emulated device is slower than its profile's service time.
    pub emulated_device_ns: f64,
    /// Reasons why the figures do not show the machine itself, such as other programs that ran; empty if there are
    /// none.
    pub spoiled: Vec<Spoiled>,
}

/// Returns the steps that this machine has.
fn steps() -> StepSet {
    let can = Waiter::new().can();
    match Waiter::may_receive() {
        Ok(()) => can.with(StepKind::UserInterrupt),
        Err(_) => can,
    }
}

impl Calibration {
    /// Default number of rounds: other programs leave at least one of them undisturbed.
    pub const ROUNDS: u32 = 10;

    /// Measures this machine's times in `rounds` rounds and keeps the quietest; ten rounds take about 15 seconds.
    /// Figures that cannot be measured are taken from `base`, except for those of steps that this machine does not have.
    /// With `strict` the measurement ends as soon as it is found to be spoiled.
    ///
    /// # Errors
    /// The process may not use two CPUs, the measurement was stopped or (with `strict`) spoiled, or a step of it
    /// failed.
    pub fn measure(
        base: &MachineProfile,
        rounds: u32,
        strict: bool,
        stop: &Stop,
    ) -> Result<Calibration, CalibrateError> {
        let cpus = cpus()?;
        let mut watch = Watch::begin(cpus, strict);
        let times = on_a_thread(|| measure::measure(rounds, cpus, stop, &mut watch))?;
        let spoiled = watch.end();
        if stop.stopped() {
            return Err(CalibrateError::Interrupted);
        }
        let processor = Processor::of(&Root::system()).name;
        let profile = profile::calibrated(base, &processor, &times, steps());
        profile.validate()?;
        Ok(Calibration {
            processor,
            cpus,
            profile,
            base: base.name.clone(),
            watts: None,
            emulated_device_ns: times.device,
            spoiled,
        })
    }

    /// Formats the profile as the text of a TOML file, one figure a line.
    ///
    /// # Errors
    /// The profile cannot be written as TOML.
    pub fn toml(&self) -> Result<String, CalibrateError> {
        profile::text(&self.profile, self.watts.is_some())
    }

    /// Puts this machine's `watts` into the profile; if `spoiled` is given, the profile is marked spoiled for that
    /// reason.
    ///
    /// # Errors
    /// The profile with these watts is not valid.
    pub fn take_watts(
        &mut self,
        watts: MeasuredWatts,
        spoiled: Vec<Spoiled>,
    ) -> Result<(), CalibrateError> {
        let profile = MachineProfile {
            description: format!(
                "{}: times and watts measured here by joulio calibrate; what was not is of {}",
                self.processor, self.base
            ),
            ..with_watts(&self.profile, &self.base, &watts)
        };
        profile.validate()?;
        self.profile = profile;
        self.watts = Some(watts);
        self.spoiled.extend(spoiled);
        Ok(())
    }

    /// Runs `ios` reads of the emulated `device` in each completion mode, really and in virtual time, beside
    /// `neighbours` threads that compute on the job's CPU. The real reads are repeated in `rounds` rounds, of which the
    /// quietest counts.
    ///
    /// # Errors
    /// The runs were stopped, or one failed.
    pub fn compare(
        &self,
        device: &DeviceProfile,
        ios: u64,
        rounds: u32,
        neighbours: usize,
        stop: &Stop,
    ) -> Result<Checked, CalibrateError> {
        let place = CalibratePlace {
            cpus: self.cpus,
            neighbours,
        };
        let how = (ios, rounds, place);
        on_a_thread(|| check::compare(&self.profile, device, self.emulated_device_ns, how, stop))
    }
}

/// Runs `what` on a thread of its own, so that the CPU affinity of the calling thread stays as it is.
fn on_a_thread<T: Send>(
    what: impl FnOnce() -> Result<T, CalibrateError> + Send,
) -> Result<T, CalibrateError> {
    let done = std::thread::scope(|scope| scope.spawn(what).join());
    done.unwrap_or(Err(CalibrateError::Panicked))
}

/// Returns the first two CPUs that this process may use.
fn cpus() -> Result<CalibrateCpus, CalibrateError> {
    match allowed_cpus().map_err(CalibrateError::System)?.as_slice() {
        &[job, device, ..] => Ok(CalibrateCpus { job, device }),
        _ => Err(CalibrateError::OneCpu),
    }
}
