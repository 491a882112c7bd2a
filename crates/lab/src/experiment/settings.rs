//! Settings of the machine for an experiment: each combination is applied in turn and restored afterwards.

use joulio_host::controller::AdminController;
use joulio_host::knobs::{
    CpuLatency, Knob, KnobError, KnobRequestError, Knobs, Setting, check_distinct,
};
use joulio_host::power_states::{FeatureRequest, coalescing};
use joulio_host::{ChangeError, Changes};
use joulio_nvme_spec::feature::InterruptCoalescing;
use joulio_nvme_spec::identify::IdentifyController;
use joulio_workload::{Member, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Root of the settings' file tree; captured trees can only be read.
const ROOT: &str = "/";

/// Name of the autonomous power state transitions among the settings.
const APST: &str = "apst";

/// Reason why a setting is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No setting has this name, or a setting was given two values.
    #[error(transparent)]
    Request(#[from] KnobRequestError),
    /// A setting of a disk on a device that joulio drives.
    #[error(
        "{0}: the kernel does not drive these devices: name a block device or a file, as --device /dev/nvme0n1"
    )]
    NoDisk(String),
    /// Interrupt coalescing on a device that the kernel drives.
    #[error(
        "--coalescing: {0}: the kernel drives it: set its controller's by joulio power-states /dev/nvme0 --coalescing, which stays until joulio restore"
    )]
    NotDriven(String),
    /// A power state on a device that the kernel drives.
    #[error(
        "--power-state: {0}: the kernel drives it: set its controller's by joulio power-states /dev/nvme0 --set, which stays until joulio restore"
    )]
    NoPowerControl(String),
    /// A power state that a device does not have, or in which it does no I/O.
    #[error("--power-state {state}: {device} does no I/O in it: it has {operational}")]
    PowerState {
        /// Number of the state.
        state: u8,
        /// Name of the device.
        device: String,
        /// Numbers of its operational states.
        operational: String,
    },
    /// Autonomous power state transitions of a device that the kernel drives.
    #[error(
        "--apst: {0}: the kernel drives it and has transitions of its own: set its controller's by joulio power-states /dev/nvme0 --apst, which stays until joulio restore"
    )]
    NoApstControl(String),
    /// Autonomous power state transitions of a device that does not have them.
    #[error("--apst: {0} does not change its power state by itself: leave it out")]
    NoApst(String),
    /// A feature of the device for a run of another program.
    #[error("{0}: another program sets the device up by itself: leave it out")]
    OfAnotherProgram(&'static str),
    /// A value that the kernel does not allow, or a setting that it does not have.
    #[error(transparent)]
    Knob(#[from] KnobError),
}

/// Settings of an experiment: every run is done with each combination of the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExperimentSettings {
    /// I/O schedulers of the disks.
    pub schedulers: Vec<String>,
    /// Deepest idle states that CPUs may enter.
    pub max_cstates: Vec<String>,
    /// Other settings for all runs, as name and value.
    pub set: Vec<(String, String)>,
    /// Longest time that CPUs may take to wake, in microseconds.
    pub cpu_dma_latency: Option<u32>,
    /// Interrupt coalescing (feature 08h) of devices that joulio drives; `None`: left as it is.
    pub coalescing: Option<InterruptCoalescing>,
    /// Power state (feature 02h) of devices that joulio drives; `None`: left as it is.
    pub power_state: Option<u8>,
    /// Autonomous power state transitions (feature 0Ch) of devices that joulio drives, on or off; `None`: left as they
    /// are.
    pub apst: Option<bool>,
}

/// A combination of settings.
#[derive(Clone, Debug, Default)]
pub struct SettingCombination {
    /// Values by the names of the settings, as results show them.
    pub values: BTreeMap<String, String>,
    knobs: Vec<(Knob, String)>,
    features: Vec<FeatureRequest>,
}

impl ExperimentSettings {
    /// Returns every combination after checking all of them: if one is not possible, nothing is changed.
    ///
    /// # Errors
    /// This machine or a device does not have a setting or a value.
    pub fn combinations(
        &self,
        targets: &[Box<dyn Target>],
    ) -> Result<Vec<SettingCombination>, SettingError> {
        let all = self.crossed_with(self.of_devices(targets)?, &disks(targets))?;
        for (knob, value) in all.iter().flat_map(|combination| &combination.knobs) {
            Knobs::at(ROOT).plan(knob, value)?;
        }
        Ok(all)
    }

    /// Returns `first` with each combination of the settings of `disks` and of the CPUs.
    fn crossed_with(
        &self,
        first: SettingCombination,
        disks: &[String],
    ) -> Result<Vec<SettingCombination>, SettingError> {
        check_distinct(&self.set)?;
        let mut all = crossed(vec![first], "scheduler", &self.schedulers, disks)?;
        // The kernel resets other settings of a disk when it changes the disk's scheduler.
        let (schedulers, others): (Vec<_>, Vec<_>) =
            self.set.iter().partition(|(name, _)| name == "scheduler");
        for (name, value) in schedulers.into_iter().chain(others) {
            for combination in &mut all {
                combination.add(name, value, disks)?;
            }
        }
        crossed(all, "max-cstate", &self.max_cstates, disks)
    }

    /// Returns a combination of the devices' features alone: interrupt coalescing, autonomous transitions and power
    /// state, which is set last: earlier transitions might make the device leave it.
    fn of_devices(&self, targets: &[Box<dyn Target>]) -> Result<SettingCombination, SettingError> {
        let mut combination = SettingCombination::default();
        if let Some(value) = self.coalescing {
            if let Some(other) = targets.iter().find(|target| target.power().is_none()) {
                return Err(SettingError::NotDriven(other.info().name.clone()));
            }
            let words = coalescing::describe(value);
            combination.values.insert("coalescing".into(), words);
            combination.features.push(FeatureRequest::Coalescing(value));
        }
        if let Some(on) = self.apst {
            for target in targets {
                let device = target.info().name.clone();
                let Some(power) = target.power() else {
                    return Err(SettingError::NoApstControl(device));
                };
                check_apst(&device, power.identify_controller())?;
            }
            let word = apst_word(on).to_owned();
            combination.values.insert(APST.into(), word);
            combination.features.push(FeatureRequest::Apst(on));
        }
        if let Some(state) = self.power_state {
            for target in targets {
                let device = target.info().name.clone();
                let Some(power) = target.power() else {
                    return Err(SettingError::NoPowerControl(device));
                };
                let states = operational_states(power.identify_controller());
                if !states.contains(&state) {
                    let states: Vec<_> = states.iter().map(u8::to_string).collect();
                    return Err(SettingError::PowerState {
                        state,
                        device,
                        operational: states.join(", "),
                    });
                }
            }
            let name = "power-state".to_owned();
            combination.values.insert(name, state.to_string());
            let request = FeatureRequest::PowerState(state);
            combination.features.push(request);
        }
        Ok(combination)
    }

    /// Holds the CPUs' wake-up latency at the requested value until the result is dropped.
    pub(crate) fn hold_latency(&self) -> Result<Option<CpuLatency>, KnobError> {
        let held = self.cpu_dma_latency.map(|us| CpuLatency::hold(ROOT, us));
        held.transpose()
    }

    /// Returns the values that are set for all runs in addition to a combination, by name.
    pub(crate) fn held(&self) -> impl Iterator<Item = (String, String)> {
        let latency = self.cpu_dma_latency;
        latency
            .map(|us| ("cpu_dma_latency".into(), us.to_string()))
            .into_iter()
    }
}

/// Returns the word of `--apst` for `on`.
fn apst_word(on: bool) -> &'static str {
    match on {
        true => "on",
        false => "off",
    }
}

/// Checks that the controller of `identity`, called `device`, has autonomous power state transitions.
fn check_apst(device: &str, identity: &IdentifyController) -> Result<(), SettingError> {
    match identity.has_apst() {
        true => Ok(()),
        false => Err(SettingError::NoApst(device.into())),
    }
}

/// Returns the numbers of the power states in which the controller of `identity` does I/Os.
pub(crate) fn operational_states(identity: &IdentifyController) -> Vec<u8> {
    let states = identity.power_states().iter().zip(0..);
    let operational = states.filter(|(state, _)| !state.power_state_flags().nops());
    operational.map(|(_, number)| number).collect()
}

/// Returns the disks that the kernel drives, without duplicates.
fn disks(targets: &[Box<dyn Target>]) -> Vec<String> {
    let mut disks: Vec<String> = Vec::new();
    for disk in targets
        .iter()
        .filter_map(|target| target.info().disk.as_ref())
    {
        if !disks.contains(&disk.name) {
            disks.push(disk.name.clone());
        }
    }
    disks
}

/// Returns each combination of `all` with each of `values` added.
fn crossed(
    all: Vec<SettingCombination>,
    name: &str,
    values: &[String],
    disks: &[String],
) -> Result<Vec<SettingCombination>, SettingError> {
    if values.is_empty() {
        return Ok(all);
    }
    let mut crossed = Vec::new();
    for value in values {
        for combination in &all {
            let mut combination = combination.clone();
            combination.add(name, value, disks)?;
            crossed.push(combination);
        }
    }
    Ok(crossed)
}

impl SettingCombination {
    fn add(&mut self, name: &str, value: &str, disks: &[String]) -> Result<(), SettingError> {
        let unknown = || KnobRequestError::Unknown(name.into());
        let knob = Knob::by_name(name, None).ok_or_else(unknown)?;
        if knob.disk().is_none() {
            self.knobs.push((knob, value.into()));
        } else if disks.is_empty() {
            return Err(SettingError::NoDisk(name.into()));
        } else {
            let of = |disk: &String| Knob::by_name(name, Some(disk));
            let knobs = disks.iter().filter_map(of);
            self.knobs.extend(knobs.map(|knob| (knob, value.into())));
        }
        self.values.insert(name.into(), value.into());
        Ok(())
    }

    /// Applies the combination, and the settings of the block layer that the methods of `members` need. All are
    /// restored when the result is dropped or finished. `report` receives a line for each setting that joulio cannot
    /// make itself.
    pub(crate) fn apply<'a>(
        &self,
        members: &[Member],
        targets: &[Box<dyn Target>],
        controllers: &'a [AdminController],
        report: impl Fn(&str) + 'a,
    ) -> Result<Changes<'a>, Box<ChangeError>> {
        let mut wanted: Vec<(Knob, &str)> = self
            .knobs
            .iter()
            .map(|(knob, value)| (knob.clone(), value.as_str()))
            .collect();
        let of_members = members.iter().flat_map(|member| {
            let own = member.devices.iter();
            own.map(|&device| (member.method, &targets[device]))
        });
        let delays = of_members.filter_map(|(method, target)| {
            let delay = target.poll_delay(method)?;
            let disk = &target.info().disk.as_ref()?.name;
            Some((Knob::queue(disk, Setting::IoPollDelay), delay.to_string()))
        });
        let delays: Vec<_> = delays.collect();
        wanted.extend(
            delays
                .iter()
                .map(|(knob, delay)| (knob.clone(), delay.as_str())),
        );
        let mut changes = Changes::new(report);
        changes.knobs(Path::new(ROOT), &wanted)?;
        for controller in controllers.iter().filter(|_| !self.features.is_empty()) {
            changes.features(controller, &self.features)?;
        }
        Ok(changes)
    }

    /// Returns the values that a run's result shows, once they are applied: autonomous transitions as `controllers`
    /// report them.
    pub(crate) fn effective(&self, controllers: &[AdminController]) -> BTreeMap<String, String> {
        let mut values = self.values.clone();
        if let Some(apst) = values.get_mut(APST) {
            let reported = controllers.iter().map(|controller| {
                let answer = controller.control().apst();
                answer.map_or("unknown", |(on, _)| apst_word(on))
            });
            let words: BTreeSet<&str> = reported.collect();
            *apst = Vec::from_iter(words).join(" and ");
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn a_device_without_autonomous_transitions_is_refused() {
        let mut identity = IdentifyController::new_zeroed();
        let said = check_apst("pcie:0000:01:00.0", &identity).unwrap_err();
        let words =
            "--apst: pcie:0000:01:00.0 does not change its power state by itself: leave it out";
        assert_eq!(said.to_string(), words);
        identity.apsta = 1;
        assert!(check_apst("pcie:0000:01:00.0", &identity).is_ok());
    }

    /// The kernel resets nr_requests and wbt_lat_usec when it changes the scheduler.
    #[test]
    fn a_scheduler_is_set_before_what_it_resets() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = |schedulers: &[&str], set: &[(String, String)]| ExperimentSettings {
            schedulers: schedulers.iter().map(|&name| name.into()).collect(),
            set: set.to_vec(),
            ..ExperimentSettings::default()
        };
        let (requests, latency) = (pair("nr_requests", "48"), pair("wbt_lat_usec", "0"));
        let listed = settings(&["kyber", "none"], &[requests.clone(), latency]);
        let named = settings(&[], &[requests, pair("scheduler", "kyber")]);
        let disks = ["c".to_owned(), "d".to_owned()];
        for (given, count, knobs) in [(listed, 2, 6), (named, 1, 4)] {
            let all = given.crossed_with(SettingCombination::default(), &disks);
            let all = all.unwrap();
            assert_eq!(all.len(), count);
            for combination in all {
                let names = combination.knobs.iter().map(|(knob, _)| knob.name());
                let names: Vec<_> = names.collect();
                assert_eq!(names.len(), knobs);
                assert_eq!(names[..2], ["scheduler"; 2]);
                assert!(!names[2..].contains(&"scheduler"), "{names:?}");
                assert_eq!(combination.values["nr_requests"], "48");
            }
        }
    }
}
