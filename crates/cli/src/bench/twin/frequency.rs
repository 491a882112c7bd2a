//! `--frequency`: the clock of the jobs' cores, which only virtual time can set.

use crate::failure::Failure;
use joulio_model::{FrequencyRatio, MachineProfile};
use std::fmt;
use std::str::FromStr;

/// A frequency, as cpupower writes it: `2.1GHz`, `800MHz`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequency {
    hertz: f64,
}

impl Frequency {
    /// Over the reference of `machine`.
    pub fn ratio(self, machine: &MachineProfile) -> Result<FrequencyRatio, Failure> {
        machine.frequency_ratio(self.hertz).ok_or_else(|| {
            let name = &machine.name;
            Failure::input(match &machine.frequency {
                None => {
                    format!("--frequency {self}: {name} has no [frequency] to go by: leave it out")
                }
                Some(law) => format!(
                    "--frequency {self}: no clock of {name} is so far from its {} GHz",
                    law.reference_hertz.value / 1e9
                ),
            })
        })
    }
}

impl FromStr for Frequency {
    type Err = String;

    fn from_str(text: &str) -> Result<Frequency, String> {
        let lower = text.to_ascii_lowercase();
        let scaled = [("ghz", 1e9), ("mhz", 1e6)]
            .into_iter()
            .find_map(|(suffix, unit)| {
                Some(lower.strip_suffix(suffix)?.parse::<f64>().ok()? * unit)
            });
        match scaled {
            Some(hertz) if hertz.is_finite() && hertz > 0.0 => Ok(Frequency { hertz }),
            _ => Err(format!(
                "'{text}' is not a frequency: write 2.1GHz or 800MHz"
            )),
        }
    }
}

impl fmt::Display for Frequency {
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
        for (text, told) in [
            ("2.1GHz", "2.1GHz"),
            ("800mhz", "800MHz"),
            ("1200MHz", "1.2GHz"),
        ] {
            assert_eq!(text.parse::<Frequency>().unwrap().to_string(), told);
        }
        for wrong in ["", "2100", "0GHz", "-1GHz", "GHz", "infGHz", "NaNMHz"] {
            assert!(
                wrong.parse::<Frequency>().unwrap_err().contains("2.1GHz"),
                "{wrong}"
            );
        }
    }
}
