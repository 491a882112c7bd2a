//! A package that draws more than it is sold to draw.

use core::fmt;

/// Power of a package above its thermal design power. A real package would slow down, so that
/// neither the speed nor the watts of the run could be had.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PastTdp {
    /// Mean watts of the package.
    pub package_watts: f64,
    /// Watts that the package is sold to draw for long.
    pub tdp_watts: f64,
}

impl fmt::Display for PastTdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PastTdp {
            package_watts,
            tdp_watts,
        } = self;
        write!(
            f,
            "the package would draw {package_watts:.0} W, past its TDP of {tdp_watts:.0} W: a real one slows down"
        )
    }
}
