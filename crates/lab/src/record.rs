//! Record of a run in a sweep: one line of JSON.

#[cfg(test)]
pub(crate) mod sample;
mod store;

pub use store::RecordStore;

use joulio_workload::RunResult;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Values of a sweep's factors at one of its points, by the factors' names, written as for their flags: `bs` is `4k`,
/// `numjobs` is `8`.
pub type Point = BTreeMap<String, String>;

/// Record of a run of a sweep. An unavailable run has a record too, without counts and with the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Name of the sweep, unique in its experiment.
    pub sweep: String,
    /// Factors of the run.
    pub point: Point,
    /// Repetition of the point, from 1.
    pub replicate: u32,
    /// Position of the run in the planned order, from 1.
    pub order: u64,
    /// Platform of the run.
    pub platform: Platform,
    /// Name of the CPU or, in virtual time, of the machine's profile; in merged results of several machines with this
    /// CPU with host and kernel.
    pub machine: String,
    /// Watts of the idle machine by meter, measured before the repetition's runs; empty: not measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub idle_watts: BTreeMap<String, f64>,
    /// Additional counts per I/O by name, such as loads and stores by folder of the kernel's source: `block/`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, f64>,
    /// The result.
    pub result: RunResult,
}

/// Key of a record: records with equal keys belong to the same run.
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
    /// Real devices: hardware, or devices of the kernel.
    Real,
    /// A controller that joulio emulates, driven on this machine.
    Emulated,
    /// A virtual machine with an emulated CPU: its counts are valid, its times are not.
    Guest,
    /// Virtual time.
    Twin,
}

impl RunRecord {
    /// Returns the key of the record.
    pub fn key(&self) -> RecordKey {
        RecordKey {
            sweep: self.sweep.clone(),
            point: self.point.clone(),
            replicate: self.replicate,
            platform: self.platform,
            machine: self.machine.clone(),
        }
    }

    /// Returns true if the run is unavailable here; the record has the reason.
    pub fn is_unavailable(&self) -> bool {
        self.result.failure.is_none() && self.result.counts.is_none()
    }

    /// Returns the reason why the run is kept apart and counts in no mean: it was not done, is incomplete, was spoiled,
    /// or its completion mode is not the requested one. `None`: it counts.
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
        // Another completion mode than the requested one was effective.
        result.completion.reason.clone()
    }
}

impl Platform {
    /// Returns the name that records use.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Real => "real",
            Platform::Emulated => "emulated",
            Platform::Guest => "guest",
            Platform::Twin => "twin",
        }
    }
}
