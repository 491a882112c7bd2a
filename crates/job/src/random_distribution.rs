//! Distributions of random blocks, as in fio.

use crate::{ParseError, RandomZones, RandomZonesAbs};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// `--random_distribution`: the blocks that random I/Os prefer. In JSON a string, such as `zipf:1.2`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RandomDistribution {
    /// Uniform over all blocks: `random`.
    #[default]
    Uniform,
    /// Zipf's law: the block of rank k is chosen with a probability proportional to 1 / k^theta; theta is above 0,
    /// and not 1.
    Zipf(f64),
    /// Pareto's law: a fraction h of the blocks gets the fraction 1 - h of the I/Os; h is above 0 and below 1, such
    /// as 0.2.
    Pareto(f64),
    /// Normal distribution around the middle of the area: its standard deviation in percent of the area, above 0 up
    /// to 100.
    Normal(f64),
    /// Parts of the area, each with a share of the I/Os.
    Zoned(RandomZones),
    /// Parts of a given number of bytes, from the area's start on, each with a share of the I/Os.
    ZonedAbs(RandomZonesAbs),
}

impl FromStr for RandomDistribution {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<RandomDistribution, ParseError> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let number = |what: &str, holds: fn(f64) -> bool| {
            let number = value.and_then(|value| value.parse::<f64>().ok());
            let number = number.filter(|number| number.is_finite() && holds(*number));
            number.ok_or_else(|| ParseError::part(text, format!("{name} takes {what}")))
        };
        match name {
            "random" if value.is_none() => Ok(RandomDistribution::Uniform),
            "zipf" => {
                let theta = number("theta, above 0 and not 1: zipf:1.2", |theta| {
                    theta > 0.0 && theta != 1.0
                })?;
                Ok(RandomDistribution::Zipf(theta))
            }
            "pareto" => {
                let h = number("h, between 0 and 1: pareto:0.2", |h| h > 0.0 && h < 1.0)?;
                Ok(RandomDistribution::Pareto(h))
            }
            "normal" => {
                let deviation = number("percent, above 0 up to 100: normal:20", |percent| {
                    percent > 0.0 && percent <= 100.0
                })?;
                Ok(RandomDistribution::Normal(deviation))
            }
            "zoned" => {
                let zones = value.unwrap_or_default().parse();
                zones
                    .map(RandomDistribution::Zoned)
                    .map_err(|error: ParseError| ParseError::part(text, error))
            }
            "zoned_abs" => {
                let zones = value.unwrap_or_default().parse();
                zones
                    .map(RandomDistribution::ZonedAbs)
                    .map_err(|error: ParseError| ParseError::part(text, error))
            }
            _ => Err(ParseError::part(
                text,
                "there are random, zipf:THETA, pareto:H, normal:PERCENT, zoned:60/10:40/90 and zoned_abs:60/20G:40/80G",
            )),
        }
    }
}

impl TryFrom<String> for RandomDistribution {
    type Error = ParseError;

    fn try_from(text: String) -> Result<RandomDistribution, ParseError> {
        text.parse()
    }
}

impl From<RandomDistribution> for String {
    fn from(distribution: RandomDistribution) -> String {
        distribution.to_string()
    }
}

impl fmt::Display for RandomDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RandomDistribution::Uniform => f.write_str("random"),
            RandomDistribution::Zipf(theta) => write!(f, "zipf:{theta}"),
            RandomDistribution::Pareto(h) => write!(f, "pareto:{h}"),
            RandomDistribution::Normal(percent) => write!(f, "normal:{percent}"),
            RandomDistribution::Zoned(zones) => write!(f, "zoned:{zones}"),
            RandomDistribution::ZonedAbs(zones) => write!(f, "zoned_abs:{zones}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in [
            "random",
            "zipf:1.2",
            "pareto:0.2",
            "normal:20",
            "zoned:60/10:40/90",
            "zoned_abs:60/20M:40/1000",
        ] {
            let distribution: RandomDistribution = text.parse().unwrap();
            assert_eq!(distribution.to_string(), text);
            let json = serde_json::to_string(&distribution).unwrap();
            assert_eq!(
                serde_json::from_str::<RandomDistribution>(&json).unwrap(),
                distribution
            );
        }
    }

    #[test]
    fn what_is_none_says_what_to_write() {
        for text in [
            "",
            "zipf",
            "zipf:1",
            "zipf:0",
            "zipf:nan",
            "pareto:1",
            "normal:0",
            "zoned",
            "zoned:1/2",
            "zoned_abs",
            "zoned_abs:50/1g:60/2g",
            "random:1",
        ] {
            let error = text.parse::<RandomDistribution>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}': ")), "{error}");
        }
    }
}
