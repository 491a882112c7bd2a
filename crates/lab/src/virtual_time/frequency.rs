//! Frequency of the jobs' cores, which can only be set in virtual time.

use joulio_model::{FrequencyRatio, MachineProfile};
use std::fmt;
use std::str::FromStr;

/// A frequency in cpupower's notation: `2.1GHz`, `800MHz`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreFrequency {
    hertz: f64,
}

/// Reason why a machine cannot have a frequency.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FrequencyError {
    /// The profile has no reference frequency.
    #[error(
        "--frequency {frequency}: the profile of {machine} has no [frequency]: leave the flag out"
    )]
    NoReference {
        /// Frequency that was requested.
        frequency: CoreFrequency,
        /// Name of the machine.
        machine: String,
    },
    /// The frequency is too far from the reference.
    #[error(
        "--frequency {frequency}: too far from the {reference_gigahertz} GHz that {machine} was measured at"
    )]
    TooFar {
        /// Frequency that was requested.
        frequency: CoreFrequency,
        /// Name of the machine.
        machine: String,
        /// Reference frequency of the machine in GHz.
        reference_gigahertz: f64,
    },
}

impl CoreFrequency {
    /// Returns the frequency in hertz, above zero.
    pub fn hertz(self) -> f64 {
        self.hertz
    }

    /// Returns the ratio to the reference frequency of `machine`.
    pub(super) fn ratio(self, machine: &MachineProfile) -> Result<FrequencyRatio, FrequencyError> {
        machine.frequency_ratio(self.hertz).ok_or_else(|| {
            let (frequency, name) = (self, machine.name.clone());
            match &machine.frequency {
                None => FrequencyError::NoReference {
                    frequency,
                    machine: name,
                },
                Some(law) => FrequencyError::TooFar {
                    frequency,
                    machine: name,
                    reference_gigahertz: law.reference_hertz.value / 1e9,
                },
            }
        })
    }
}

impl FromStr for CoreFrequency {
    type Err = String;

    fn from_str(text: &str) -> Result<CoreFrequency, String> {
        let lower = text.to_ascii_lowercase();
        let scaled = [("ghz", 1e9), ("mhz", 1e6)]
            .into_iter()
            .find_map(|(suffix, unit)| {
                Some(lower.strip_suffix(suffix)?.parse::<f64>().ok()? * unit)
            });
        match scaled {
            Some(hertz) if hertz.is_finite() && hertz > 0.0 => Ok(CoreFrequency { hertz }),
            _ => Err(format!(
                "'{text}' is not a frequency: write 2.1GHz or 800MHz"
            )),
        }
    }
}

impl fmt::Display for CoreFrequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hertz {
            hertz if hertz >= 1e9 => write!(f, "{}GHz", hertz / 1e9),
            hertz => write!(f, "{}MHz", hertz / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_read_as_they_are_written() {
        for (text, shown) in [
            ("2.1GHz", "2.1GHz"),
            ("800mhz", "800MHz"),
            ("1200MHz", "1.2GHz"),
        ] {
            assert_eq!(text.parse::<CoreFrequency>().unwrap().to_string(), shown);
        }
        for wrong in ["", "2100", "0GHz", "-1GHz", "GHz", "infGHz", "NaNMHz"] {
            assert!(
                wrong
                    .parse::<CoreFrequency>()
                    .unwrap_err()
                    .contains("2.1GHz"),
                "{wrong}"
            );
        }
    }
}
