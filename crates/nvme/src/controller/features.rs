//! Setting features again after a reset, which clears them (Base 5.27).

use super::Controller;
use super::shared::{Shared, lock};
use crate::NvmeError;
use crate::admin::Admin;
use joulio_device::{AdminData, Device};
use joulio_nvme_spec::feature::FeatureId;
use zerocopy::little_endian::U64;

impl<D: Device> Shared<D> {
    /// Sets the features again that were set before a reset. A feature that the controller refuses is recorded as
    /// lost. Settings of a vector wait until a completion queue uses the vector (Base 5.27.1.7).
    pub(super) fn set_features_again(&self, admin: &mut Admin<D>) -> Result<(), NvmeError> {
        let mut features = lock(&self.features);
        let (mut lost, mut again) = (Vec::new(), Vec::new());
        for set in &mut features.set {
            if set.feature() == FeatureId::INTERRUPT_VECTOR_CONFIGURATION {
                set.pending = true;
                continue;
            }
            if set.feature() == FeatureId::POWER_MEASUREMENT {
                // A measurement that began again would measure something else.
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
        // A feature that an earlier reset cleared may have been set again after this one.
        features.lost.retain(|(key, _)| !again.contains(key));
        for (key, what) in lost {
            features.lose(key, what);
        }
        Ok(())
    }

    /// Sets feature 09h of `vector` again if a reset cleared it. The vector's completion queue was created in
    /// `generation`.
    pub(super) fn set_vector_again(&self, generation: u32, vector: u16) -> Result<(), NvmeError> {
        let key = (
            FeatureId::INTERRUPT_VECTOR_CONFIGURATION,
            u32::from(vector),
            0,
        );
        let Some((name, command)) = lock(&self.features).begin_pending(key) else {
            return Ok(());
        };
        // Without the lock: a thread that resets takes the admin queue first, and then these features.
        let done = self.run_in(generation, name, command);
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
    /// Returns the features that were set here, cleared by a reset, and could not be set again, each with the name of
    /// its command and the reason.
    pub fn lost_features(&self) -> Vec<String> {
        let features = lock(&self.shared.features);
        let lost = features.lost.iter();
        lost.map(|(_, what)| what.clone()).collect()
    }
}
