//! Features that were set, and that a reset forgets (Base 5.27): they are set again.

use super::Controller;
use super::shared::{Shared, lock};
use crate::NvmeError;
use crate::admin::Admin;
use crate::power::AdminData;
use joulio_device::Device;
use joulio_nvme_spec::feature::{FeatureId, PowerMeasurement};
use joulio_nvme_spec::{AdminOpcode, Command};
use zerocopy::little_endian::U64;

/// Features that were set, and what became of them.
#[derive(Default)]
pub(super) struct Features {
    /// In the order in which they were set last, each once.
    set: Vec<Set>,
    /// Those that a reset took, and why they could not be set again.
    lost: Vec<(Key, String)>,
}

/// Which setting of a controller it is: the feature, and of feature 09h the vector.
type Key = (FeatureId, u32);

/// A Set Features command that succeeded.
struct Set {
    name: &'static str,
    command: Command,
    data: Option<Box<[u8]>>,
    /// True for feature 09h if a reset took it, and no completion queue has its vector yet.
    pending: bool,
}

impl Set {
    fn feature(&self) -> FeatureId {
        feature_of(&self.command)
    }

    fn ends_measurement(&self) -> bool {
        let action = PowerMeasurement::from(self.command.cdw10[1].get()).act();
        self.feature() == FeatureId::POWER_MEASUREMENT && action != PowerMeasurement::START
    }

    fn key(&self) -> Key {
        let of_vector = self.feature() == FeatureId::INTERRUPT_VECTOR_CONFIGURATION;
        let dword11 = self.command.cdw10[1].get();
        (self.feature(), if of_vector { dword11 & 0xffff } else { 0 })
    }
}

fn feature_of(command: &Command) -> FeatureId {
    FeatureId(command.cdw10[0].get() as u8)
}

impl Features {
    /// Takes note of a command that succeeded, if it set a feature that is to outlive a reset.
    /// Queues and events are the driver's own to ask for again.
    pub(super) fn note(&mut self, name: &'static str, command: Command, data: Option<Box<[u8]>>) {
        let is_set = AdminOpcode(command.dword0().opc()) == AdminOpcode::SET_FEATURES;
        let own = [
            FeatureId::NUMBER_OF_QUEUES,
            FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION,
        ];
        if !is_set || own.contains(&feature_of(&command)) {
            return;
        }
        let set = Set {
            name,
            command,
            data,
            pending: false,
        };
        self.set.retain(|other| other.key() != set.key());
        self.lost.retain(|(key, _)| *key != set.key());
        if !set.ends_measurement() {
            self.set.push(set);
        }
    }

    /// The command that is pending of `key`, which is no longer pending.
    fn begin_pending(&mut self, key: Key) -> Option<(&'static str, Command)> {
        let mut pending = self.set.iter_mut().filter(|set| set.pending);
        let set = pending.find(|set| set.key() == key)?;
        set.pending = false;
        Some((set.name, set.command))
    }

    fn set_pending(&mut self, key: Key) {
        let set = self.set.iter_mut().find(|set| set.key() == key);
        if let Some(set) = set {
            set.pending = true;
        }
    }

    fn lose(&mut self, key: Key, what: String) {
        self.lost.retain(|(other, _)| *other != key);
        self.lost.push((key, what));
    }
}

impl<D: Device> Shared<D> {
    /// Sets again what was set before a reset. What the controller refuses is lost, and said to be.
    /// What is of a vector waits for a completion queue that has it (Base 5.27.1.7).
    pub(super) fn set_features_again(&self, admin: &mut Admin<D>) -> Result<(), NvmeError> {
        let mut features = lock(&self.features);
        let (mut lost, mut again) = (Vec::new(), Vec::new());
        for set in &mut features.set {
            if set.feature() == FeatureId::INTERRUPT_VECTOR_CONFIGURATION {
                set.pending = true;
                continue;
            }
            if set.feature() == FeatureId::POWER_MEASUREMENT {
                // To begin again would be to measure something else.
                lost.push((set.key(), format!("{}: ended by a reset", set.name)));
                continue;
            }
            let mut command = set.command;
            command.prp1 = U64::ZERO;
            let data = set.data.as_deref().map_or(AdminData::None, AdminData::Out);
            match admin.exchange(set.name, command, data) {
                Ok(_) => again.push(set.key()),
                Err(NvmeError::Admin { status, .. }) => {
                    lost.push((set.key(), format!("{}: {status}", set.name)));
                }
                Err(error) => return Err(error),
            }
        }
        features
            .set
            .retain(|set| set.feature() != FeatureId::POWER_MEASUREMENT);
        // What an earlier reset took may be back by this one.
        features.lost.retain(|(key, _)| !again.contains(key));
        for (key, what) in lost {
            features.lose(key, what);
        }
        Ok(())
    }

    /// Sets feature 09h of `vector` again, whose completion queue was created in `epoch`, if a reset
    /// took it.
    pub(super) fn set_vector_again(&self, epoch: u32, vector: u16) -> Result<(), NvmeError> {
        let key = (FeatureId::INTERRUPT_VECTOR_CONFIGURATION, u32::from(vector));
        let Some((name, command)) = lock(&self.features).begin_pending(key) else {
            return Ok(());
        };
        // Without the lock: who resets has the admin queue first, and these features then.
        let done = self.run_in(epoch, name, command);
        let mut features = lock(&self.features);
        match done {
            Ok(_) => features.lost.retain(|(other, _)| *other != key),
            Err(NvmeError::Admin { status, .. }) => features.lose(key, format!("{name}: {status}")),
            Err(error) => {
                features.set_pending(key);
                return Err(error);
            }
        }
        Ok(())
    }
}

impl<D: Device> Controller<D> {
    /// Features set here that a reset cleared and that could not be set again, each with the name
    /// of its command and the reason.
    pub fn lost_features(&self) -> Vec<String> {
        let features = lock(&self.shared.features);
        let lost = features.lost.iter();
        lost.map(|(_, what)| what.clone()).collect()
    }
}
