//! Comparison of measured results with the same runs in virtual time: it shows where the profiles are wrong.

use super::compare::{CompareError, ComparedRuns, Kinds, compare};
use super::error::CampaignError;
use super::shard::Shard;
use super::{Campaign, CampaignObserver};
use crate::device_name::{DeviceKind, DeviceName};
use crate::experiment::{ExperimentOptions, Silent};
use crate::experiment_file::OnPlatform;
use crate::open::open_kernel;
use crate::record::Platform;
use crate::sweep::{DeviceSet, Factor};
use crate::target_name::TargetName;
use joulio_model::{AnyProfile, DeviceProfile};
use joulio_workload::{Stop, Target};
use std::fs;
use std::path::Path;

/// Reason why there is nothing to compare with.
#[derive(Debug, thiserror::Error)]
pub enum NoModel {
    /// A device without a profile.
    #[error(
        "there is no profile of {device}: joulio profiles measure makes one; for one that is near: joulio lab run {experiment} --twin --device emulated:PROFILE --results model, and joulio lab compare {results} model --model"
    )]
    Device {
        /// Name of the device, or its model.
        device: String,
        /// The experiment.
        experiment: String,
        /// The results.
        results: String,
    },
    /// Results that have no run in common with virtual time.
    #[error("{results} and virtual time on {device} have no run with figures in common")]
    Nothing {
        /// The results.
        results: String,
        /// Device in virtual time.
        device: String,
    },
    /// The runs cannot be simulated.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The results cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A temporary folder for the simulated results cannot be created.
    #[error("no temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// Measured results compared with the model's.
#[derive(Debug)]
pub struct BesideModel {
    /// Profile of the devices in virtual time.
    pub device: String,
    /// Results of both.
    pub compared: ComparedRuns,
}

impl CampaignObserver for Silent {}

impl Campaign {
    /// Simulates the campaign with the profiles of its device and of this machine, and compares the results in the
    /// folder `path` with the simulated ones.
    ///
    /// # Errors
    /// The device has no profile, or the results have no run in common.
    pub fn beside_model(
        &self,
        path: &Path,
        threads: usize,
        stop: &Stop,
    ) -> Result<BesideModel, NoModel> {
        let no_profile = |device: String| NoModel::Device {
            device,
            experiment: self.file.name.clone(),
            results: path.display().to_string(),
        };
        let devices = self.targets();
        let first = devices
            .first()
            .ok_or_else(|| no_profile("no device".into()))?;
        let profile = profile(first).map_err(no_profile)?;
        let mut file = self.file.clone();
        // The machine that was named for the runs; by default the one whose profile fits this processor.
        file.twin.machine.clone_from(&file.run.machine);
        let device = format!("emulated:{}", profile.name);
        let on = OnPlatform {
            platform: Platform::Twin,
            quick: self.on.quick,
            devices: vec![device.clone()],
            replicates: None,
            base: ExperimentOptions::default(),
        };
        let folder = tempfile::tempdir()?;
        let model = Campaign::new(file, on)?;
        model.run(folder.path(), Shard::ALL, threads, stop, &Silent)?;
        match compare(path, folder.path(), Kinds::WithModel) {
            Ok(compared) => Ok(BesideModel { device, compared }),
            // The message must not name the temporary folder of the simulated results, which is deleted by then.
            Err(CompareError::Nothing { .. }) => Err(NoModel::Nothing {
                results: path.display().to_string(),
                device,
            }),
            Err(why) => Err(why.into()),
        }
    }

    /// Returns the devices of all sweeps.
    pub(super) fn targets(&self) -> Vec<TargetName> {
        let lists = self.sweeps.iter().map(|sweep| &sweep.axes);
        let names = lists.flat_map(|axes| axes.values(Factor::Device));
        let sets = names.filter_map(|name| name.parse::<DeviceSet>().ok());
        sets.flat_map(|set| set.targets()).collect()
    }
}

/// Returns the profile of `device`: an emulated device's own, otherwise the one whose name consists of words of the
/// device's model.
fn profile(device: &TargetName) -> Result<DeviceProfile, String> {
    let model = match device {
        TargetName::Own(DeviceName {
            kind: DeviceKind::Emulated(emulated),
            ..
        }) => return emulated.profile().map_err(|why| why.to_string()),
        TargetName::Own(name) => {
            let cancel = joulio_nvme::Cancel::default();
            let controller = crate::ControllerName::Own(name.clone()).open(cancel);
            controller.map_err(|why| why.to_string())?.admin.model()
        }
        TargetName::Kernel(path) => disk_model(path).unwrap_or_else(|| device.text()),
    };
    let words: Vec<String> = model
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    let all = AnyProfile::builtin().map_err(|why| why.to_string())?;
    let devices = all.into_iter().filter_map(|(profile, _)| match profile {
        AnyProfile::Device(device) => Some(*device),
        AnyProfile::Machine(_) => None,
    });
    let mut fitting = devices.filter(|device| {
        let mut parts = device.name.split('-');
        parts.all(|part| words.iter().any(|word| word == part))
    });
    fitting.next().ok_or_else(|| crate::printable(&model))
}

fn disk_model(path: &Path) -> Option<String> {
    let target = open_kernel(path, false).ok()?;
    let disk = target.info().disk.as_ref()?;
    let model = fs::read_to_string(format!("/sys/block/{}/device/model", disk.name)).ok()?;
    Some(model.trim().to_owned())
}
