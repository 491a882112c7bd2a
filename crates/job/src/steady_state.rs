//! Runs that end when their rate is steady, as with fio's `steadystate`.

use crate::{ParseError, Steadiness, parse_size};
use joulio_units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Rate that should be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SteadyRate {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bw,
}

/// Criterion of a steady rate: `iops:2%`, `bw_slope:0.5%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyCriterion {
    /// Rate that is judged.
    pub rate: SteadyRate,
    /// True if the criterion is the slope of the line through the window's rates, per rate; false if it is the
    /// largest difference between a rate and their mean.
    pub slope: bool,
    /// Limit below which the value must be.
    pub limit: f64,
    /// True if the limit is in percent of the mean.
    pub percent: bool,
}

/// Steady state at which a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Criterion.
    pub criterion: SteadyCriterion,
    /// Length of the rolling window that is judged.
    pub duration: Nanos,
    /// Time of the measured part before the first window begins.
    pub ramp_time: Nanos,
    /// Time over which each rate is measured.
    pub check_interval: Nanos,
}

/// Result of a run that was to end at a steady state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyStateResult {
    /// Criterion, as fio writes it: `iops:2%`.
    pub ss: String,
    /// Seconds of the window.
    pub duration_seconds: f64,
    /// True if the steady state was attained, which ended the run.
    pub attained: bool,
    /// Value that is to be below the limit, of the last whole window; `null`: there was none.
    pub criterion: Option<f64>,
    /// Seconds of the measured part before it was attained; `null`: it was not.
    pub seconds: Option<f64>,
}

impl SteadyCriterion {
    /// Returns the value of `rates`, one per interval, which is compared with the limit; `None` if no I/O was done.
    pub fn value(&self, rates: &[f64]) -> Option<f64> {
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        if mean <= 0.0 {
            return None;
        }
        let value = match self.slope {
            true => Steadiness::slope(rates).abs(),
            false => rates
                .iter()
                .fold(0.0, |most: f64, rate| most.max((rate - mean).abs())),
        };
        Some(match self.percent {
            true => 100.0 * value / mean,
            false => value,
        })
    }
}

impl SteadyState {
    /// Returns the number of rates in a window.
    pub fn rates(&self) -> usize {
        (self.duration.0 / self.check_interval.0.max(1)) as usize
    }

    /// Returns what is invalid in these times for a run of `runtime`, if anything is.
    pub(crate) fn problem(&self, runtime: Option<Nanos>) -> Option<&'static str> {
        if self.check_interval < SteadyState::MIN_INTERVAL {
            return Some("rates are taken over at least 100ms: raise --steadystate_check_interval");
        }
        if self.rates() < 2 {
            return Some(
                "a window has at least two rates, of --steadystate_check_interval (1 s) each: raise --steadystate_duration",
            );
        }
        let whole = self.ramp_time + self.duration;
        (runtime.is_some_and(|runtime| runtime < whole)).then_some(
            "the run ends before its first window does: raise --runtime, or lower --steadystate_duration",
        )
    }

    /// Shortest time over which a rate is measured.
    pub const MIN_INTERVAL: Nanos = Nanos::from_millis(100);
}

impl fmt::Display for SteadyCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = match self.rate {
            SteadyRate::Iops => "iops",
            SteadyRate::Bw => "bw",
        };
        let slope = if self.slope { "_slope" } else { "" };
        let percent = if self.percent { "%" } else { "" };
        write!(f, "{rate}{slope}:{}{percent}", self.limit)
    }
}

impl FromStr for SteadyCriterion {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || {
            ParseError::form(
                text,
                "is no steady state",
                "write iops:2%, bw:2%, iops_slope:0.5% or bw_slope:0.5%, or a rate in place of the percentage",
            )
        };
        let (name, limit) = text.split_once(':').ok_or_else(wrong)?;
        let (rate, slope) = match name {
            "iops" => (SteadyRate::Iops, false),
            "iops_slope" => (SteadyRate::Iops, true),
            "bw" => (SteadyRate::Bw, false),
            "bw_slope" => (SteadyRate::Bw, true),
            _ => return Err(wrong()),
        };
        let (limit, percent) = match limit.strip_suffix('%') {
            Some(number) => (number.parse().map_err(|_| wrong())?, true),
            None => (parse_size(limit).map_err(|_| wrong())? as f64, false),
        };
        if !f64::is_finite(limit) || limit <= 0.0 {
            return Err(wrong());
        }
        Ok(SteadyCriterion {
            rate,
            slope,
            limit,
            percent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(criterion: &str, rates: &[f64]) -> Option<f64> {
        let criterion: SteadyCriterion = criterion.parse().expect(criterion);
        criterion.value(rates)
    }

    #[test]
    fn values_are_those_of_fio() {
        let rates = [90.0, 100.0, 110.0];
        assert_eq!(value("iops:2%", &rates), Some(10.0));
        assert_eq!(value("iops:5", &[180.0, 200.0, 220.0]), Some(20.0));
        assert_eq!(value("bw_slope:1%", &rates), Some(10.0));
        assert_eq!(value("iops_slope:1", &[110.0, 100.0, 90.0]), Some(10.0));
        assert_eq!(value("iops:1%", &[7.0; 4]), Some(0.0));
        assert_eq!(
            (value("iops:1%", &[]), value("iops:1%", &[0.0; 3])),
            (None, None)
        );
    }

    #[test]
    fn a_criterion_is_written_as_it_is_read() {
        for text in ["iops:2%", "iops_slope:0.3%", "bw:1048576", "bw_slope:0.5%"] {
            let criterion: SteadyCriterion = text.parse().expect(text);
            assert_eq!(criterion.to_string(), text);
        }
        assert_eq!(
            "bw:1m".parse::<SteadyCriterion>().unwrap().limit,
            1_048_576.0
        );
        for text in [
            "iops",
            "lat:2%",
            "iops:",
            "iops:-1%",
            "iops:nan%",
            "iops:0",
            "iops:x%",
        ] {
            let refused = text.parse::<SteadyCriterion>().unwrap_err();
            assert!(refused.to_string().contains("iops_slope:0.5%"), "{text}");
        }
    }
}
