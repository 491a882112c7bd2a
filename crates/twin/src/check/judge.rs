//! Judging: compares published numbers and claims with the values of their runs, from any source of values.
//!
//! [`Simulator`] takes the values from the twin, the lab takes them from records of runs. Only this module has the
//! rules of judging.

use super::INCREMENT;
use super::promise::{promise, promise_of_gain};
use crate::published::{PublishedClaim, PublishedNumber, SimulationError, Simulator};
use joulio_job::Metric;
use serde::Serialize;

/// Error up to which a number without an allowed error counts as reproduced, as a fraction.
pub const USUAL: f64 = 0.10;

/// Values of published runs, by the names of the runs.
pub trait Estimates {
    /// Why a run has no value.
    type Error;

    /// Returns the value of `metric` in the run called `run`.
    ///
    /// # Errors
    /// The run has no value, for the reason that the error gives.
    fn estimate(&mut self, run: &str, metric: Metric) -> Result<JudgedValue, Self::Error>;

    /// Judges whether `metric` of the run `to` is larger than `step` times that of the run `from`.
    ///
    /// # Errors
    /// One of the runs has no value, for the reason that the error gives.
    fn rise(
        &mut self,
        from: &str,
        to: &str,
        metric: Metric,
        step: f64,
    ) -> Result<Verdict, Self::Error> {
        let (from, to) = (self.estimate(from, metric)?, self.estimate(to, metric)?);
        let least = from.times(step);
        let apart = to.value - least.value;
        let half = to.half.hypot(least.half);
        Ok(match () {
            () if apart > half => Verdict::Holds,
            () if apart <= -half => Verdict::Fails,
            () => Verdict::Undecided,
        })
    }

    /// Returns the error for data that contradict themselves.
    fn refused(problem: String) -> Self::Error;
}

/// A value and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JudgedValue {
    /// The value; the mean if there were several runs.
    pub value: f64,
    /// Half of the 95 % interval: zero for a value without noise, infinite for a single measurement.
    pub half: f64,
}

/// Verdict on a number or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The number or claim is reproduced.
    Holds,
    /// The number or claim is not reproduced.
    Fails,
    /// The values are too uncertain to decide.
    Undecided,
}

/// A published number, compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JudgedNumber {
    /// The value.
    pub estimate: JudgedValue,
    /// Error as a fraction of the printed number, and 0 inside a printed range; for a gain, a fraction of the gain.
    pub error: f64,
    /// Half of the estimate's 95 % interval, as a fraction of the same number.
    pub noise: f64,
    /// Largest allowed error; `None`: the number has none.
    pub allowed: Option<f64>,
    /// Verdict on the error: whether it is within the allowed error, or within [`USUAL`] if there is none.
    pub verdict: Verdict,
}

/// A claim without a number, compared with values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// Smallest relative change between neighbouring runs of a chain, if the claim does not hold.
    pub miss: Option<f64>,
    /// The runs and their values, chain by chain.
    pub chains: Vec<Vec<(String, JudgedValue)>>,
}

impl JudgedValue {
    /// Returns a value without noise.
    pub fn exact(value: f64) -> JudgedValue {
        JudgedValue { value, half: 0.0 }
    }

    fn times(self, factor: f64) -> JudgedValue {
        JudgedValue {
            value: self.value * factor,
            half: self.half * factor.abs(),
        }
    }

    fn minus(self, other: JudgedValue) -> JudgedValue {
        JudgedValue {
            value: self.value - other.value,
            half: self.half.hypot(other.half),
        }
    }

    /// Returns the percentage by which this value exceeds `other`.
    fn percent_over(self, other: JudgedValue) -> JudgedValue {
        let ratio = self.value / other.value;
        let relative = (self.half / self.value).hypot(other.half / other.value);
        JudgedValue {
            value: (ratio - 1.0) * 100.0,
            half: 100.0 * (ratio * relative).abs(),
        }
    }

    fn mean(all: &[JudgedValue]) -> JudgedValue {
        let n = all.len() as f64;
        let halves = all.iter().map(|one| one.half.powi(2)).sum::<f64>();
        JudgedValue {
            value: all.iter().map(|one| one.value).sum::<f64>() / n,
            half: halves.sqrt() / n,
        }
    }
}

impl Verdict {
    /// Returns the verdict if all `verdicts` must hold: `Fails` if one fails, else `Undecided` if one is undecided.
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let worst = |one: Verdict, other: Verdict| match (one, other) {
            (Verdict::Fails, _) | (_, Verdict::Fails) => Verdict::Fails,
            (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
            _ => Verdict::Holds,
        };
        verdicts.into_iter().fold(Verdict::Holds, worst)
    }

    /// Returns the verdict if one of `verdicts` must hold.
    pub fn any(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let best = |one: Verdict, other: Verdict| match (one, other) {
            (Verdict::Holds, _) | (_, Verdict::Holds) => Verdict::Holds,
            (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
            _ => Verdict::Fails,
        };
        verdicts.into_iter().fold(Verdict::Fails, best)
    }
}

/// Returns the estimate for `number` from the values of its runs: their mean, their mean difference from other
/// runs, or the mean percentage by which they exceed other runs.
///
/// # Errors
/// A run has no value, or the number names an unsuitable set of runs.
pub fn estimate<E: Estimates>(
    number: &PublishedNumber,
    estimates: &mut E,
) -> Result<JudgedValue, E::Error> {
    let refused = |problem: &str| E::refused(format!("number '{}' {problem}", number.what));
    let mut values = |runs: &[String]| -> Result<Vec<JudgedValue>, E::Error> {
        let value = |run: &String| estimates.estimate(run, number.metric);
        runs.iter().map(value).collect()
    };
    let runs = values(&number.run)?;
    if runs.is_empty() {
        return Err(refused("names no run"));
    }
    let (others, of): (_, fn(JudgedValue, JudgedValue) -> JudgedValue) =
        match (number.minus.is_empty(), number.over.is_empty()) {
            (false, _) => (&number.minus, JudgedValue::minus),
            (_, false) => (&number.over, JudgedValue::percent_over),
            _ => return Ok(JudgedValue::mean(&runs)),
        };
    if others.len() != runs.len() {
        return Err(refused("needs as many runs to compare with as it has"));
    }
    let pairs = runs.iter().zip(values(others)?);
    let each: Vec<_> = pairs.map(|(run, other)| of(*run, other)).collect();
    Ok(JudgedValue::mean(&each))
}

/// Judges `number` by the values of `estimates`.
///
/// # Errors
/// As [`estimate`].
pub fn number<E: Estimates>(
    number: &PublishedNumber,
    estimates: &mut E,
) -> Result<JudgedNumber, E::Error> {
    let estimate = estimate(number, estimates)?;
    let promised = match number.over.is_empty() {
        false => promise_of_gain(number.metric, number.fitted),
        true => promise(number.metric, number.fitted),
    };
    // The allowed error of a difference is one for all metrics that have one.
    let allowed = promised.map(|max| {
        if number.minus.is_empty() {
            max
        } else {
            INCREMENT
        }
    });
    let noise = estimate.half / whole(nearest(number, estimate.value));
    let judged = JudgedNumber {
        estimate,
        error: error(number, estimate.value),
        noise,
        allowed,
        verdict: Verdict::Undecided,
    };
    Ok(JudgedNumber {
        verdict: judged.within(allowed.unwrap_or(USUAL)),
        ..judged
    })
}

impl JudgedNumber {
    /// Returns the verdict on whether the error is at most `most`, a fraction.
    pub fn within(&self, most: f64) -> Verdict {
        match () {
            () if self.error.abs() + self.noise <= most => Verdict::Holds,
            () if self.error.abs() - self.noise > most => Verdict::Fails,
            () => Verdict::Undecided,
        }
    }
}

/// Judges `claim` by the values of `estimates`.
///
/// # Errors
/// A run has no value.
pub fn claim<E: Estimates>(
    claim: &PublishedClaim,
    estimates: &mut E,
) -> Result<JudgedClaim, E::Error> {
    let step = 1.0 + claim.min_percent / 100.0;
    let (mut chains, mut verdicts) = (Vec::new(), Vec::new());
    for chain in &claim.rising {
        let value = |run: &String| Ok((run.clone(), estimates.estimate(run, claim.metric)?));
        chains.push(chain.iter().map(value).collect::<Result<Vec<_>, _>>()?);
        let pairs = chain.windows(2);
        let rises = pairs.map(|pair| estimates.rise(&pair[0], &pair[1], claim.metric, step));
        verdicts.push(Verdict::all(rises.collect::<Result<Vec<_>, _>>()?));
    }
    let verdict = match claim.any {
        true => Verdict::any(verdicts),
        false => Verdict::all(verdicts),
    };
    let pairs = chains.iter().flat_map(|chain| chain.windows(2));
    let changes = pairs.map(|pair| pair[1].1.value / pair[0].1.value - 1.0);
    let least = changes.min_by(f64::total_cmp);
    Ok(JudgedClaim {
        verdict,
        miss: least.filter(|_| verdict != Verdict::Holds),
        chains,
    })
}

/// Returns the error of `value` as a fraction of the printed number; 0 inside a printed range. For a gain this is
/// the error of the gain: 5.9 % instead of 14.6 % is an error of 60 %, although the two ratios are within 8 %.
pub fn error(number: &PublishedNumber, value: f64) -> f64 {
    let nearest = nearest(number, value);
    (value - nearest) / whole(nearest)
}

/// Returns the number of which an error is a fraction: `printed`, or 1 if that is zero.
fn whole(printed: f64) -> f64 {
    match printed == 0.0 {
        true => 1.0,
        false => printed.abs(),
    }
}

/// Returns the number of the printed range that is nearest to `value`.
fn nearest(number: &PublishedNumber, value: f64) -> f64 {
    value.clamp(number.value, number.to.unwrap_or(number.value))
}

impl Estimates for Simulator {
    type Error = SimulationError;

    fn estimate(&mut self, run: &str, metric: Metric) -> Result<JudgedValue, SimulationError> {
        Ok(JudgedValue::exact(self.metric(run, metric)?))
    }

    fn refused(problem: String) -> SimulationError {
        SimulationError::Data(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs by name, each with its value and half of its interval.
    struct Known(Vec<(&'static str, f64, f64)>);

    impl Estimates for Known {
        type Error = String;

        fn estimate(&mut self, run: &str, _: Metric) -> Result<JudgedValue, String> {
            let found = self.0.iter().find(|known| known.0 == run);
            let found = found.map(|&(_, value, half)| JudgedValue { value, half });
            found.ok_or_else(|| format!("no {run}"))
        }

        fn refused(problem: String) -> String {
            problem
        }
    }

    fn published(keys: &str) -> PublishedNumber {
        let text = format!("what = \"it\"\nrun = [\"a\"]\nmetric = \"iops\"\n{keys}");
        toml::from_str(&text).unwrap()
    }

    fn claimed(keys: &str) -> PublishedClaim {
        toml::from_str(&format!("what = \"so\"\nmetric = \"iops\"\n{keys}")).unwrap()
    }

    #[test]
    fn a_number_holds_fails_or_is_not_told_by_its_interval() {
        // The allowed error of IOPS that no figure was fitted to is a tenth.
        let judged = |value: f64, half: f64| {
            let mut known = Known(vec![("a", value, half)]);
            number(&published("value = 100"), &mut known)
                .unwrap()
                .verdict
        };
        assert_eq!(judged(105.0, 4.0), Verdict::Holds);
        assert_eq!(judged(105.0, 6.0), Verdict::Undecided);
        assert_eq!(judged(120.0, 4.0), Verdict::Fails);
        assert_eq!(judged(105.0, f64::INFINITY), Verdict::Undecided);
        assert_eq!(judged(110.0, 0.0), Verdict::Holds);
    }

    #[test]
    fn differences_and_percentages_carry_their_intervals() {
        let mut known = Known(vec![("a", 110.0, 3.0), ("b", 100.0, 4.0)]);
        let less = published("value = 10\nminus = [\"b\"]");
        assert_eq!(
            estimate(&less, &mut known),
            Ok(JudgedValue {
                value: 10.0,
                half: 5.0
            })
        );
        let over = published("value = 10\nover = [\"b\"]");
        let found = estimate(&over, &mut known).unwrap();
        // 1.1 times the square root of (3/110)^2 + (4/100)^2.
        assert!((found.value - 10.0).abs() < 1e-9 && (found.half - 5.325).abs() < 1e-3);
        let unlike = published("value = 10\nover = [\"b\", \"a\"]");
        let refused = estimate(&unlike, &mut known).unwrap_err();
        assert!(refused.contains("needs as many runs"), "{refused}");
    }

    #[test]
    fn a_claim_holds_only_where_every_rise_is_told() {
        let mut known = Known(vec![
            ("a", 100.0, 1.0),
            ("b", 110.0, 1.0),
            ("c", 111.0, 1.0),
        ]);
        let mut verdict = |keys: &str| claim(&claimed(keys), &mut known).unwrap().verdict;
        assert_eq!(verdict("rising = [[\"a\", \"b\"]]"), Verdict::Holds);
        assert_eq!(verdict("rising = [[\"b\", \"a\"]]"), Verdict::Fails);
        assert_eq!(
            verdict("rising = [[\"a\", \"b\", \"c\"]]"),
            Verdict::Undecided
        );
        let any = "any = true\nrising = [[\"b\", \"c\"], [\"a\", \"c\"]]";
        assert_eq!(verdict(any), Verdict::Holds);
        assert_eq!(
            verdict("min_percent = 20\nrising = [[\"a\", \"b\"]]"),
            Verdict::Fails
        );
        assert_eq!(
            verdict("min_percent = -5\nrising = [[\"c\", \"b\"]]"),
            Verdict::Holds
        );
        let missing = claim(&claimed("rising = [[\"a\", \"x\"]]"), &mut known);
        assert_eq!(missing.unwrap_err(), "no x");
    }

    #[test]
    fn of_a_printed_nothing_the_error_is_in_units() {
        let none = published("value = 0");
        assert_eq!((error(&none, 0.0), error(&none, 0.25)), (0.0, 0.25));
    }
}
