//! Campaigns: all runs of an experiment on this machine, on the emulator or in virtual time, kept in a results folder.
//! A campaign is run as a whole or in shards.

mod beside_model;
mod blocks;
mod compare;
mod drives;
mod error;
mod folder;
mod merge;
#[cfg(test)]
mod papers_tests;
mod plan;
mod report;
mod run;
mod shard;
#[cfg(test)]
mod tests;

pub use beside_model::{BesideModel, NoModel};
pub use compare::{CompareError, ComparedPoint, ComparedRuns, Kinds, compare};
pub use error::CampaignError;
pub use folder::{FolderError, ResultsFolder, ResultsHeader};
pub use merge::{MergeError, merge};
pub use plan::{CampaignPlan, PlannedItem, PlannedSweep, UnavailablePoints};
pub use report::{ReportError, report};
pub use run::{CampaignEnd, CampaignObserver};
pub use shard::Shard;

use crate::experiment_file::{ExperimentFile, Layers, OnPlatform};
use crate::record::Platform;
use crate::sweep::{Axes, PlannedRun, SweepMachine};
use serde_json::json;

/// Largest number of runs of a campaign.
const MAX_RUNS: u64 = 1_000_000;

/// An experiment on one platform, with all of its runs.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The experiment.
    pub file: ExperimentFile,
    /// Platform of the campaign, and the values that replace the file's keys.
    pub on: OnPlatform,
    /// Sweeps to run, in the file's order.
    pub sweeps: Vec<CampaignSweep>,
    /// Names of the sweeps that are not run here, with the reasons.
    pub refused: Vec<(String, String)>,
}

/// A sweep to run.
#[derive(Clone, Debug)]
pub struct CampaignSweep {
    /// Index of the sweep in the file.
    pub index: usize,
    /// The sweep with the platform's keys and lists.
    pub layers: Layers,
    /// Values of all factors.
    pub axes: Axes,
    /// Runs, in the order in which they are done.
    pub runs: Vec<PlannedRun>,
    /// Number of the sweep's first run among those of the campaign.
    pub first: usize,
}

impl Campaign {
    /// Plans the runs of `file` on the platform `on`.
    ///
    /// # Errors
    /// A key or a list is not valid, there are too many runs, or there is nothing to run.
    pub fn new(file: ExperimentFile, on: OnPlatform) -> Result<Campaign, CampaignError> {
        let (mut sweeps, mut refused) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (index, spec) in file.sweep.iter().enumerate() {
            if let Some(why) = on.refuses(spec) {
                refused.push((spec.name.clone(), why));
                continue;
            }
            let layers = on.layers(&file, spec)?;
            let named = |source| CampaignError::Factor {
                sweep: spec.name.clone(),
                source,
            };
            let axes = layers.options.all_axes().map_err(named)?;
            let replicates = u64::from(layers.options.base.replicates);
            let runs = axes.count().saturating_mul(replicates);
            if runs.saturating_add(first as u64) > MAX_RUNS {
                return Err(CampaignError::TooMany {
                    runs,
                    max: MAX_RUNS,
                });
            }
            let runs = layers.options.runs(&axes).map_err(named)?;
            let start = first;
            first += runs.len();
            sweeps.push(CampaignSweep {
                index,
                layers,
                axes,
                runs,
                first: start,
            });
        }
        Ok(Campaign {
            file,
            on,
            sweeps,
            refused,
        })
    }

    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        self.sweeps.iter().map(|sweep| sweep.runs.len()).sum()
    }

    /// Returns the header of the results, which distinguishes them from another campaign's.
    pub fn header(&self) -> ResultsHeader {
        let sweeps = self.sweeps.iter().map(|sweep| {
            let name = sweep.layers.name.clone();
            (name, sweep.layers.options.common())
        });
        let all = self.sweeps.iter();
        let profiles = all.flat_map(|sweep| sweep.layers.options.file_profiles());
        ResultsHeader {
            joulio: env!("CARGO_PKG_VERSION").into(),
            experiment: self.file.name.clone(),
            platform: self.on.platform,
            quick: self.on.quick,
            file: self.file.text.clone(),
            sweeps: json!(sweeps.collect::<std::collections::BTreeMap<_, _>>()),
            profiles: profiles.collect(),
            machine: (!self.in_virtual_time()).then(SweepMachine::here),
        }
    }

    /// Returns true if runs are simulated.
    pub fn in_virtual_time(&self) -> bool {
        self.on.platform == Platform::Twin
    }
}
