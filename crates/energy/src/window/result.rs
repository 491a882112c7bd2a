//! The results of meters for a window.

use super::WindowError;
use crate::{About, Energy};

/// Result of one meter for a window.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterResult {
    /// Description of the meter.
    pub about: About,
    /// Figure of the meter, or the reason why there is none.
    pub figure: Result<MeterFigure, WindowError>,
}

/// A figure of one meter.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterFigure {
    /// Energy of the whole window.
    pub total: Energy,
    /// Energy without what the idle machine would have used; `None` if there is no baseline, or it does not have the
    /// meter.
    pub above_idle: Option<Energy>,
}
