//! A sweep of an experiment on a platform: the keys and lists that apply there.

use super::catalogue::ExperimentFileError;
use super::run_keys::RunExtras;
use super::sweep_spec::LEFT_OUT;
use super::{ExperimentFile, RunKeys, SweepSpec};
use crate::experiment::ExperimentOptions;
use crate::record::Platform;
use crate::report::OneOrMore;
use crate::sweep::{Axes, DeviceSet, Factor, FactorError, SweepOptions};
use crate::virtual_time::TwinOptions;
use joulio_units::Nanos;
use joulio_workload::EngineName;

/// Platform of an experiment, and the values from the command line that replace the file's keys.
#[derive(Clone, Debug)]
pub struct OnPlatform {
    /// Platform of the runs.
    pub platform: Platform,
    /// True for `--quick`: the short form.
    pub quick: bool,
    /// Devices that replace the file's, each in runs of its own.
    pub devices: Vec<String>,
    /// Number of repetitions that replaces the file's.
    pub replicates: Option<u32>,
    /// Options that only the command line has: cancel, allow_write, root.
    pub base: ExperimentOptions,
}

/// A sweep of an experiment as it is run on a platform.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Name of the sweep.
    pub name: String,
    /// Options and factors of the sweep.
    pub options: SweepOptions,
    /// True if runs with an unsteady rate are kept apart.
    pub steady: bool,
    /// Length of the idle intervals around repetitions; zero: no intervals.
    pub idle: Nanos,
}

impl OnPlatform {
    /// Returns `sweep` of `file` for this platform. Later keys replace earlier ones, in the order: the file's, the
    /// file's `quick` ones, the platform's, the sweep's own, each followed by its own `quick` keys. Lists are replaced
    /// in the order: the sweep's, those of `quick`, the platform's, the command line's.
    ///
    /// # Errors
    /// A key or a list is not valid.
    pub fn layers(
        &self,
        file: &ExperimentFile,
        sweep: &SweepSpec,
    ) -> Result<Layers, ExperimentFileError> {
        let wrong = |what: String, problem: String| ExperimentFileError::Item {
            file: file.name.clone(),
            what,
            problem,
        };
        let twin = self.platform == Platform::Twin;
        let mut options = ExperimentOptions {
            twin: twin.then(TwinOptions::default),
            ..self.base.clone()
        };
        let mut extras = RunExtras::default();
        let none = RunKeys::default();
        let of_platform = match self.platform {
            Platform::Twin => &file.twin,
            Platform::Emulated => &file.emulated,
            Platform::Real | Platform::Guest => &none,
        };
        let keys = [
            ("run", &file.run),
            ("quick", if self.quick { &file.quick } else { &none }),
            ("twin or emulated", of_platform),
            ("the sweep's run", &sweep.run),
        ];
        for (what, keys) in keys {
            let quick = keys.quick.as_deref().filter(|_| self.quick);
            for keys in [Some(keys), quick].into_iter().flatten() {
                let applied = keys.apply(&mut options, &mut extras);
                applied.map_err(|(key, why)| wrong(format!("{what}: {key}"), why))?;
            }
        }
        if twin {
            // `meter` is the only key of all platforms that has no meaning in virtual time.
            let own = [Some(&file.twin), file.twin.quick.as_deref()];
            if own.into_iter().flatten().any(|keys| keys.meter.is_some()) {
                let why = "nothing is metered in virtual time: leave it out";
                return Err(wrong("twin: meter".into(), why.into()));
            }
        }
        if twin || !self.base.energy.meters.is_empty() {
            options.energy.meters.clone_from(&self.base.energy.meters);
        }
        if let Some(replicates) = self.replicates {
            options.replicates = replicates;
        }
        let factor = |why: FactorError| wrong(format!("sweep '{}'", sweep.name), why.to_string());
        let axes = self.axes(sweep, &extras).map_err(factor)?;
        Ok(Layers {
            name: sweep.name.clone(),
            steady: extras.steady && !twin,
            idle: if twin { Nanos::ZERO } else { extras.idle },
            options: SweepOptions {
                base: options,
                axes,
                order: extras.order,
                ..SweepOptions::default()
            },
        })
    }

    fn axes(&self, sweep: &SweepSpec, extras: &RunExtras) -> Result<Axes, FactorError> {
        let mut axes = Axes::default();
        if !extras.devices.is_empty() {
            axes.set(Factor::Device, &extras.devices)?;
        }
        let mut set = |factor: Factor, list: &OneOrMore| match list.values() {
            [value] if value == LEFT_OUT => {
                axes.remove(factor);
                Ok(())
            }
            values => axes.set(factor, values),
        };
        for (factor, list) in sweep.lists() {
            set(factor, list)?;
        }
        if self.quick {
            for (factor, list) in sweep.quick.lists() {
                set(factor, list)?;
            }
        }
        let lists = match self.platform {
            Platform::Twin => Some(&sweep.twin),
            Platform::Emulated => Some(&sweep.emulated),
            Platform::Real | Platform::Guest => None,
        };
        for (factor, list) in lists.into_iter().flat_map(|lists| lists.lists()) {
            set(factor, list)?;
        }
        let devices = self.devices_of(sweep, &axes)?;
        if !devices.is_empty() {
            axes.set(Factor::Device, devices)?;
        }
        Ok(axes)
    }

    /// Returns the devices of the command line that the engines of `sweep` support, or its stand-in if they support
    /// none.
    fn devices_of(&self, sweep: &SweepSpec, axes: &Axes) -> Result<Vec<String>, FactorError> {
        let Some(stand_in) = sweep.stand_in.as_ref().filter(|_| !self.devices.is_empty()) else {
            return Ok(self.devices.clone());
        };
        let engines = axes.values(Factor::Engine).iter();
        let engines = engines.map(|engine| Factor::Engine.parse::<EngineName>(engine));
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        let mut driven = Vec::new();
        for device in &self.devices {
            let targets = Factor::Device.parse::<DeviceSet>(device)?.targets();
            let drives = |engine: &EngineName| targets.iter().all(|one| one.check(*engine).is_ok());
            if engines.iter().all(drives) {
                driven.push(device.clone());
            }
        }
        if driven.is_empty() {
            driven.push(stand_in.clone());
        }
        Ok(driven)
    }

    /// Returns the reason why `sweep` is not run on this platform; `None` if it is.
    pub fn refuses(&self, sweep: &SweepSpec) -> Option<String> {
        if sweep.is_run_on(self.platform) {
            return None;
        }
        let on = sweep.on.values();
        let needs = sweep.needs.clone();
        Some(needs.unwrap_or_else(|| format!("it is run on {}", on.join(", "))))
    }
}
