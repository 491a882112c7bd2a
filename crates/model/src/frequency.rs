//! The power of a running core at a frequency other than that of the profile's watts.

use serde::{Deserialize, Serialize};

use crate::{Figure, Pick};

/// Law by which the watts of a running core depend on its frequency:
///
/// `P(r) = P(1) x (s + (1 - s) x r^e)`, where r is the frequency divided by the reference.
///
/// The static share s is leakage, which does not depend on the clock. The rest is switching power: it is
/// proportional to f V^2 and, as V partly follows f, to a power e of f between 1 (constant voltage) and 3 (voltage
/// proportional to f).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frequency {
    /// The frequency in hertz at which `core_watts` holds.
    pub reference_hertz: Figure,
    /// Fraction of a running core's watts that does not depend on the frequency, from 0 to 1.
    pub static_share: Figure,
    /// Exponent of the frequency in the rest of the watts.
    pub exponent: Figure,
}

impl Frequency {
    /// Returns the factor on the watts at `ratio` of the reference frequency; 1 at the reference.
    pub fn factor(&self, ratio: FrequencyRatio, pick: Pick) -> f64 {
        // Below the reference, a larger share means more watts and a larger exponent fewer; above it, the opposite.
        let faster = ratio.0 > 1.0;
        let share = self.static_share.at(pick.toward(!faster));
        let exponent = self.exponent.at(pick.toward(faster));
        1.0 + (1.0 - share) * (ratio.0.powf(exponent) - 1.0)
    }
}

/// Mean frequency of a core while it runs, divided by the reference of its machine's profile.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct FrequencyRatio(f64);

impl FrequencyRatio {
    /// Largest ratio of a clock to its reference, or of the reference to the clock.
    const MAX_RATIO: f64 = 100.0;

    /// Returns `ratio` if a clock can run at it: within a factor of 100 of the reference.
    pub fn new(ratio: f64) -> Option<FrequencyRatio> {
        let possible = 1.0 / Self::MAX_RATIO..=Self::MAX_RATIO;
        possible.contains(&ratio).then_some(FrequencyRatio(ratio))
    }

    /// Returns the ratio.
    pub fn get(self) -> f64 {
        self.0
    }
}
