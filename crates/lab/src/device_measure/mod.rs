//! A device measured for a profile of it: latency by size at depth 1, the rate at saturation, and the
//! link with large blocks.
//!
//! [`measure_rates`] chooses the points by what comes out and has a [`RateSource`] run each several
//! times, in turn; [`DeviceMeasurement`] does so on an open target, and has the twin fit a profile to
//! the text of the file that the rates are kept in, so that who fits it again has the same profile.
//! [`Profiling`] is all of it, with the files.

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
