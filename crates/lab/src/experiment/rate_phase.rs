//! Phases of a load, as `--phases` takes them: `20k:5s,2k:10s`.

use joulio_units::Nanos;
use joulio_workload::{ParseError, parse_count, parse_time};
use std::str::FromStr;

/// A phase with a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatePhase {
    /// I/Os per second that arrive at each job; `None`: a closed loop.
    pub rate: Option<u64>,
    /// Length of the phase in nanoseconds.
    pub length: Nanos,
}

impl FromStr for RatePhase {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<RatePhase, ParseError> {
        let value = || text.to_owned();
        let Some((rate, length)) = text.split_once(':') else {
            return Err(ParseError::Form {
                value: value(),
                problem: "is not a phase",
                expected: "write RATE:TIME, as 20k:5s, or max:5s for a closed loop",
            });
        };
        let rate = match rate {
            "max" => None,
            rate => match parse_count(rate)? {
                0 => {
                    return Err(ParseError::Part {
                        value: value(),
                        problem: "the rate must be above zero".into(),
                    });
                }
                rate => Some(rate),
            },
        };
        match parse_time(length, 1_000_000_000).map(Nanos)? {
            Nanos::ZERO => Err(ParseError::List {
                problem: "no time at all: must be above zero".into(),
            }),
            length => Ok(RatePhase { rate, length }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_a_rate_and_a_time() {
        let phase = |rate, ms| RatePhase {
            rate,
            length: Nanos::from_millis(ms),
        };
        for (text, expected) in [
            ("20k:5s", phase(Some(20_000), 5_000)),
            ("1:2", phase(Some(1), 2_000)),
            ("max:500ms", phase(None, 500)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "20k",
            ":5s",
            "20k:",
            "0:5s",
            "20k:0",
            "fast:5s",
            "20k:5s:6s",
        ] {
            assert!(text.parse::<RatePhase>().is_err(), "{text}");
        }
    }
}
