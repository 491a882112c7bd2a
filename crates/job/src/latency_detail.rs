//! Percentiles that the user chooses, and whole histograms.

use crate::ParseError;
use serde::{Deserialize, Serialize};

/// Largest number of percentiles in a list, as in fio.
const MAX_PERCENTILES: usize = 20;

/// Latency figures of a result in addition to the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyDetail {
    /// Percentiles, above 0 and up to 100.
    pub percentiles: Vec<f64>,
    /// True if the result has the histogram's classes.
    pub bins: bool,
}

/// Parses percentiles in the form of fio's `percentile_list`: `50:90:99.9`.
///
/// # Errors
/// [`ParseError::Form`], for what is not a list of percentiles; [`ParseError::List`], if there are too many.
pub fn parse_percentiles(text: &str) -> Result<Vec<f64>, ParseError> {
    let one = |text: &str| {
        let number: f64 = text.parse().ok()?;
        (number > 0.0 && number <= 100.0).then_some(number)
    };
    let all: Option<Vec<_>> = text.split(':').map(one).collect();
    match all {
        Some(all) if all.len() <= MAX_PERCENTILES => Ok(all),
        Some(all) => {
            let count = all.len();
            let problem = format!("{count} percentiles: at most {MAX_PERCENTILES}");
            Err(ParseError::list(problem))
        }
        None => Err(ParseError::form(
            text,
            "is not a list of percentiles",
            "50:90:99.9, each above 0 and up to 100",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numbers_up_to_100() {
        assert_eq!(
            parse_percentiles("50:99.9:100"),
            Ok(vec![50.0, 99.9, 100.0])
        );
        let many = vec!["1"; 21].join(":");
        for wrong in ["", "0", "101", "50,90", "p50", "nan", &many] {
            assert!(parse_percentiles(wrong).is_err(), "{wrong}");
        }
    }
}
