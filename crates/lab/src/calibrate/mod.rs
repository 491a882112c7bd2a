//! Calibration: what this machine takes for the steps of an I/O, as a profile for the twin.

mod check;
mod driver;
mod error;
mod measure;
mod pair;
mod profile;
mod quiet;
mod reads;
mod spread;

pub use check::{Checked, Compared, Figures, NotChecked};
pub use driver::Cpus;
pub use error::CalibrateError;

use joulio_energy::{Processor, Root};
use joulio_model::{DeviceProfile, MachineProfile};
use joulio_workload::{Spoiled, Stop};
use quiet::Watch;

/// This machine's times, measured.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The processor's name.
    pub processor: String,
    /// The CPUs that were used.
    pub cpus: Cpus,
    /// The machine's profile: its times measured, its watts of the base profile.
    pub profile: MachineProfile,
    /// Nanoseconds that the emulated device takes beside its profile's service time.
    pub emulated_device_ns: f64,
    /// Reasons why the figures are not the machine's own, if they are not.
    pub spoiled: Vec<Spoiled>,
}

impl Calibration {
    /// Measures for about a quarter of a minute, and takes what cannot be measured from `base`.
    /// `strict`: ends as soon as it sees that the figures are spoiled.
    ///
    /// # Errors
    /// There are not two CPUs, it was stopped or (when `strict`) spoiled, or a step of it failed.
    pub fn measure(
        base: &MachineProfile,
        strict: bool,
        stop: &Stop,
    ) -> Result<Calibration, CalibrateError> {
        let cpus = cpus()?;
        let mut watch = Watch::begin(cpus, strict);
        let times = on_a_thread(|| measure::measure(cpus, stop, &mut watch))?;
        let spoiled = watch.end();
        if stop.stopped() {
            return Err(CalibrateError::Interrupted);
        }
        let processor = Processor::of(&Root::system()).name;
        let profile = profile::calibrated(base, &processor, &times);
        profile.validate()?;
        Ok(Calibration {
            processor,
            cpus,
            profile,
            emulated_device_ns: times.device,
            spoiled,
        })
    }

    /// The profile as a TOML file's text, a figure a line.
    ///
    /// # Errors
    /// The profile cannot be written as TOML.
    pub fn toml(&self) -> Result<String, CalibrateError> {
        profile::text(&self.profile)
    }

    /// Runs `ios` reads of the emulated `device` in each completion mode, really and in virtual
    /// time.
    ///
    /// # Errors
    /// It was stopped, or a run failed.
    pub fn compare(
        &self,
        device: &DeviceProfile,
        ios: u64,
        stop: &Stop,
    ) -> Result<Checked, CalibrateError> {
        let how = (ios, self.cpus);
        on_a_thread(|| check::compare(&self.profile, device, self.emulated_device_ns, how, stop))
    }
}

/// Runs `what` on a thread of its own, so that the calling one stays on its CPUs.
fn on_a_thread<T: Send>(
    what: impl FnOnce() -> Result<T, CalibrateError> + Send,
) -> Result<T, CalibrateError> {
    let done = std::thread::scope(|scope| scope.spawn(what).join());
    done.unwrap_or(Err(CalibrateError::Panicked))
}

/// The first two CPUs that this process may use.
fn cpus() -> Result<Cpus, CalibrateError> {
    let allowed = rustix::thread::sched_getaffinity(None).map_err(CalibrateError::System)?;
    let mut cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    match (cpus.next(), cpus.next()) {
        (Some(job), Some(device)) => Ok(Cpus { job, device }),
        _ => Err(CalibrateError::OneCpu),
    }
}
