//! A run with its place in a sweep: one line of JSON.

#[cfg(test)]
pub(crate) mod sample;
mod store;

pub use store::RecordStore;

use joulio_workload::RunResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Values of a sweep's factors at one of its points, by the factors' names, each as its flag has it:
/// `bs` is `4k`, `numjobs` is `8`.
pub type Point = BTreeMap<String, String>;

/// Record of a run of a sweep. A run that was unavailable has one too: its result has no counts, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Name of the sweep, unique in its experiment.
    pub sweep: String,
    /// Factors of the run.
    pub point: Point,
    /// Repetition of the point, from 1.
    pub replicate: u32,
    /// Place in the order in which the sweep's runs were to be done, from 1.
    pub order: u64,
    /// Platform of the run.
    pub platform: Platform,
    /// Name of the CPU or, in virtual time, of the machine's profile.
    pub machine: String,
    /// Watts of the idle machine by meter, from the interval before the repetition's runs; empty: none were
    /// measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle_watts: BTreeMap<String, f64>,
    /// Named counts beside the result, each per I/O: loads and stores by the kernel's source folder,
    /// as `block/`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, f64>,
    /// The result.
    pub result: RunResult,
}

/// Key of a record: two records with the same key are of the same run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    sweep: String,
    point: Point,
    replicate: u32,
    platform: Platform,
    machine: String,
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = self.point.iter();
        let point: Vec<_> = point
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let (sweep, replicate) = (&self.sweep, self.replicate);
        write!(
            f,
            "repetition {replicate} of {sweep} {} on {}",
            point.join(" "),
            self.machine
        )
    }
}

/// Platform of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Devices that are hardware, or the kernel's own.
    Real,
    /// A controller in software, driven on this machine.
    Emulated,
    /// A virtual machine that emulates its CPU: counts are good, times are not.
    Guest,
    /// Virtual time.
    Twin,
}

impl RunRecord {
    /// The record's key.
    pub fn key(&self) -> RecordKey {
        RecordKey {
            sweep: self.sweep.clone(),
            point: self.point.clone(),
            replicate: self.replicate,
            platform: self.platform,
            machine: self.machine.clone(),
        }
    }

    /// True if it could not be run here, for a reason that the record has.
    pub fn is_unavailable(&self) -> bool {
        self.result.failure.is_none() && self.result.counts.is_none()
    }

    /// Reason why the run is kept apart, never a part of a mean: it was not done, not whole, or not
    /// what it was to be. `None`: it counts.
    pub fn apart(&self) -> Option<String> {
        let result = &self.result;
        if let Some(failure) = &result.failure {
            return Some(failure.clone());
        }
        if result.counts.is_none() {
            let reason = result.completion.reason.as_deref();
            return Some(reason.unwrap_or("it was not done").to_owned());
        }
        if result.interrupted {
            return Some("it was ended early".into());
        }
        if let Some(spoiled) = result.spoiled.first() {
            return Some(spoiled.why.clone());
        }
        // The machine did something else than was requested.
        result.completion.reason.clone()
    }
}

impl Platform {
    /// Returns the name in records.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Real => "real",
            Platform::Emulated => "emulated",
            Platform::Guest => "guest",
            Platform::Twin => "twin",
        }
    }
}
