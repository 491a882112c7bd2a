//! Record of the features that were set, which a reset clears (Base 5.27).

use joulio_nvme_spec::feature::{FeatureId, PowerMeasurement};
use joulio_nvme_spec::{AdminOpcode, Command};

/// Features that were set, and those that were lost.
#[derive(Default)]
pub(super) struct Features {
    /// Commands in the order in which the features were set last, one for each feature.
    pub(super) set: Vec<FeatureCommand>,
    /// Features that a reset cleared, and why they could not be set again.
    pub(super) lost: Vec<(Key, String)>,
}

/// Key of a setting: the feature, what dword 11 selects of it (a vector, a temperature threshold), and the NSID.
pub(super) type Key = (FeatureId, u32, u32);

/// A Set Features command that succeeded.
pub(super) struct FeatureCommand {
    pub(super) name: &'static str,
    pub(super) command: Command,
    pub(super) data: Option<Box<[u8]>>,
    /// True for feature 09h if a reset cleared it, and no completion queue uses its vector yet.
    pub(super) pending: bool,
}

impl FeatureCommand {
    pub(super) fn feature(&self) -> FeatureId {
        feature_of(&self.command)
    }

    fn ends_measurement(&self) -> bool {
        let action = PowerMeasurement::from(self.command.cdw10[1].get()).act();
        self.feature() == FeatureId::POWER_MEASUREMENT && action != PowerMeasurement::START
    }

    pub(super) fn key(&self) -> Key {
        /// Feature 04h, whose TMPSEL and THSEL are bits 21:16.
        const TEMPERATURE_THRESHOLD: FeatureId = FeatureId(0x04);
        let selects = match self.feature() {
            FeatureId::INTERRUPT_VECTOR_CONFIGURATION => 0xffff,
            TEMPERATURE_THRESHOLD => 0x3f << 16,
            _ => 0,
        };
        let dword11 = self.command.cdw10[1].get();
        (self.feature(), dword11 & selects, self.command.nsid.get())
    }
}

fn feature_of(command: &Command) -> FeatureId {
    FeatureId(command.cdw10[0].get() as u8)
}

impl Features {
    /// Records a command that succeeded, if it set a feature that is to outlive a reset. Queues and events are not
    /// recorded: the driver requests them itself.
    pub(super) fn note(&mut self, name: &'static str, command: Command, data: Option<Box<[u8]>>) {
        let is_set = AdminOpcode(command.dword0().opc()) == AdminOpcode::SET_FEATURES;
        let own = [
            FeatureId::NUMBER_OF_QUEUES,
            FeatureId::ASYNCHRONOUS_EVENT_CONFIGURATION,
        ];
        if !is_set || own.contains(&feature_of(&command)) {
            return;
        }
        let set = FeatureCommand {
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

    /// Returns the pending command of `key`, which is no longer pending then.
    pub(super) fn begin_pending(&mut self, key: Key) -> Option<(&'static str, Command)> {
        let mut pending = self.set.iter_mut().filter(|set| set.pending);
        let set = pending.find(|set| set.key() == key)?;
        set.pending = false;
        Some((set.name, set.command))
    }

    pub(super) fn set_pending(&mut self, key: Key) {
        let set = self.set.iter_mut().find(|set| set.key() == key);
        if let Some(set) = set {
            set.pending = true;
        }
    }

    pub(super) fn lose(&mut self, key: Key, what: String) {
        self.lost.retain(|(other, _)| *other != key);
        self.lost.push((key, what));
    }
}
