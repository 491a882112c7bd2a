//! Experiments in files: sweeps, and the tables, figures and observations to make from their runs.
//!
//! A file describes the runs ([`SweepSpec`]), their length ([`RunKeys`]) on real devices, on the emulator and in
//! virtual time, and the results to show. Nothing in it is executed; an unknown key is an error that names its line.

mod catalogue;
mod layers;
mod run_keys;
mod sweep_spec;
#[cfg(test)]
mod tests;

pub use catalogue::{CATALOGUE, ExperimentFileError};
pub use layers::{Layers, OnPlatform};
pub use run_keys::{Number, RunKeys};
pub use sweep_spec::{FactorLists, SweepSpec};

use crate::report::{FigureSpec, ObservationSpec, SweepSource, TableSpec};
use serde::Deserialize;

/// An experiment's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// Short name: `hotstorage22`.
    pub name: String,
    /// Title.
    pub title: String,
    /// Short name of the source whose published numbers the points correspond to: `HS22`.
    pub published: Option<String>,
    /// True to add a survey of machine and devices to the runs, and a comparison of the results with the model's.
    #[serde(default)]
    pub survey: bool,
    /// Settings that all runs have in common.
    #[serde(default)]
    pub run: RunKeys,
    /// Replacements for `run` with `--quick`.
    #[serde(default)]
    pub quick: RunKeys,
    /// Replacements for `run` in virtual time.
    #[serde(default)]
    pub twin: RunKeys,
    /// Replacements for `run` on emulated devices.
    #[serde(default)]
    pub emulated: RunKeys,
    /// Sweeps.
    #[serde(default)]
    pub sweep: Vec<SweepSpec>,
    /// Tables.
    #[serde(default)]
    pub table: Vec<TableSpec>,
    /// Figures.
    #[serde(default)]
    pub figure: Vec<FigureSpec>,
    /// Observations.
    #[serde(default)]
    pub observation: Vec<ObservationSpec>,
    /// Text of the file.
    #[serde(skip)]
    pub text: String,
}

impl ExperimentFile {
    /// Returns the source of each sweep's records.
    pub fn sources(&self) -> Vec<SweepSource> {
        self.sweep.iter().map(SweepSpec::source).collect()
    }
}
