//! Numbers with their source.

use joulio_units::{Joules, Watts};
use serde::{Deserialize, Serialize};

/// Reliability of a [`Figure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Published, by the maker or by someone who measured it, for this very device or machine.
    Published,
    /// Computed from published numbers; the source shows the arithmetic.
    Derived,
    /// Measured on this very device or machine; the source describes how.
    Measured,
    /// Chosen so that the model reproduces a measurement, which the source names.
    Fitted,
    /// Not published; the source gives the basis of the guess.
    Guess,
}

/// A number of a profile, with its source. Its unit is part of the field's name (`idle_watts`).
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
    /// Number that the models use.
    pub value: f64,
    /// Origin of the figure.
    pub kind: FigureKind,
    /// Source of the figure, which is never empty.
    pub source: String,
    /// Plausible range of the number, which contains the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<[f64; 2]>,
}

impl Figure {
    /// Returns the value as a power, for fields named `..._watts`.
    pub fn watts(&self) -> Watts {
        Watts(self.value)
    }

    /// Returns the value as an energy, for fields named `..._joules`.
    pub fn joules(&self) -> Joules {
        Joules(self.value)
    }

    /// Returns the value as a count, for fields whose rules allow only whole numbers.
    pub fn count(&self) -> u64 {
        self.value as u64
    }
}
