//! Measurement of a device for a profile: latency by size at depth 1, the rate at saturation, and the bandwidth of the
//! link with large blocks.
//!
//! [`measure_rates`] chooses the points from the results so far; a [`RateSource`] runs each of them several times, in
//! turn. [`DeviceMeasurement`] does this on an open target, and lets the twin fit a profile to the text of the file of
//! rates, so that a later fit to that file gives the same profile. [`Profiling`] does all of this and writes the files.
//! the files.

mod error;
mod measurement;
mod plan;
mod point;
mod profiling;
mod real;
mod text;

pub use error::DeviceMeasureError;
pub use measurement::{DeviceMeasurement, MeasureOptions};
pub use plan::{RatePlan, measure_rates};
pub use point::{PointRuns, RatePoint, RateRun, RateSource};
pub use profiling::{ProfiledDevice, ProfiledRate, Profiling, ProfilingOptions};
