//! A number that carries where it came from.

use joulio_units::{Joules, Watts};
use serde::{Deserialize, Serialize};

/// The trust that a [`Figure`] deserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Printed by the maker, or measured and printed by someone else, for this very thing.
    Published,
    /// Arithmetic on published numbers; the source shows the arithmetic.
    Derived,
    /// Measured on this very machine; the source describes how.
    Measured,
    /// Chosen so that the model meets a measurement; the source names the measurement.
    Fitted,
    /// Not published; the source names the basis of the guess.
    Guess,
}

/// A number of a profile, with its source. The unit stands in the field's name (`idle_watts`).
///
/// ```toml
/// idle_watts = { value = 5.0, kind = "derived", source = "34 W - 29 W", band = [4.0, 6.0] }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a figure, as { value = 5.0, kind = \"guess\", source = \"why\" }"
)]
pub struct Figure {
    /// The number the models use.
    pub value: f64,
    /// Origin of the figure.
    pub kind: FigureKind,
    /// Source of the figure; never empty.
    pub source: String,
    /// The least and the most it may plausibly be; the value lies inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<[f64; 2]>,
}

impl Figure {
    /// The value as a power; for fields named `..._watts`.
    pub fn watts(&self) -> Watts {
        Watts(self.value)
    }

    /// The value as an energy; for fields named `..._joules`.
    pub fn joules(&self) -> Joules {
        Joules(self.value)
    }

    /// The value as a count; for fields that a profile's rules hold to whole numbers.
    pub fn count(&self) -> u64 {
        self.value as u64
    }
}
