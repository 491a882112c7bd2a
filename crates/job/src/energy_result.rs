//! Energy figures of a run.

use joulio_units::{Boundary, Energy, Nanos};
use serde::{Deserialize, Serialize};

/// Figure of a run's energy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyResult {
    /// Boundary: the parts of the machine that the figure includes.
    pub boundary: Boundary,
    /// Zone of the boundary: `package-0`.
    pub zone: String,
    /// Name of the meter, or of the model's profiles.
    pub source: String,
    /// True for a computed figure, false for a measured one.
    pub modelled: bool,
    /// True if the energy that the idle machine would have used is taken off.
    pub idle_subtracted: bool,
    /// Joules in the window.
    pub joules: f64,
    /// Joules by which the figure may differ from what the meter's hardware counted; `null` for the
    /// model.
    pub error_joules: Option<f64>,
    /// The model's joules with all of its parameters at the low ends of their bands, and at the
    /// high ends; `null` for meters.
    pub band_joules: Option<(f64, f64)>,
    /// Seconds of the window: a meter's is some milliseconds longer or shorter than the run.
    pub window_seconds: f64,
    /// Mean watts.
    pub watts: f64,
    /// Mean watts x the run's seconds, or those of the fixed window, over its I/Os.
    pub joules_per_io: Option<f64>,
    /// I/Os per joule: IOPS per watt, as SNIA Emerald has it.
    pub ios_per_joule: Option<f64>,
    /// Bytes transferred per joule: (bytes/s) per watt.
    pub bytes_per_joule: Option<f64>,
    /// Remark on the figure.
    pub note: Option<String>,
}

/// A meter, or a sum of several, that has no figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmetered {
    /// Name of the meter, or zones of the sum.
    pub meter: String,
    /// Reason why there is no figure.
    pub why: String,
    /// True if the meter works and the run was shorter than its readings are apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_short: bool,
}

/// Work on which a run's joules were spent.
#[derive(Clone, Copy, Debug)]
pub struct WorkDone {
    /// I/Os that succeeded.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
    /// Nanoseconds in which they were done.
    pub window: Nanos,
}

impl EnergyResult {
    /// Returns the figure of `energy` in the units of a result, with its ratios to the `work`.
    pub fn new(energy: &Energy, work: WorkDone) -> EnergyResult {
        let watts = energy.watts().0;
        let joules = watts * work.window.seconds();
        let per_joule = |amount: u64| (joules > 0.0).then(|| amount as f64 / joules);
        let band = energy.band;
        EnergyResult {
            boundary: energy.boundary,
            zone: energy.zone().to_string(),
            source: energy.source.clone(),
            modelled: energy.modelled,
            idle_subtracted: energy.idle_subtracted,
            joules: energy.joules.0,
            error_joules: energy.error.map(|error| error.0),
            band_joules: band.map(|band| (band.low.0, band.high.0)),
            window_seconds: energy.window.seconds(),
            watts,
            joules_per_io: (work.ios > 0).then(|| joules / work.ios as f64),
            ios_per_joule: per_joule(work.ios),
            bytes_per_joule: per_joule(work.bytes),
            note: None,
        }
    }

    /// True for the model's figure, false for a meter's.
    pub fn is_model(&self) -> bool {
        self.band_joules.is_some()
    }
}
