//! Power states and related features of an NVMe controller: read, set and restored.

pub mod apst;
mod change;
pub mod coalescing;
pub mod feature;
mod status;

pub use change::FeatureRequest;
pub use status::PowerStatus;
