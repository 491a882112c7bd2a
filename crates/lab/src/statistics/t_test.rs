//! t-tests: whether the means of two samples differ, and by how much.

use super::{CONFIDENCE, Interval, mean, student, variance};
use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;

/// Test with which two independent samples are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TTest {
    /// Student's, which assumes equal variances.
    Student,
    /// Welch's, which does not assume equal variances.
    #[default]
    Welch,
}

/// Result of comparing two independent samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// First mean minus the second, with its 95 % interval.
    pub difference: Interval,
    /// Difference divided by its standard error.
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Probability of a difference as large in either direction if the populations do not differ.
    pub p: f64,
    /// Hedges' g: the difference in standard deviations, corrected for small samples.
    pub effect: f64,
}

impl Comparison {
    /// Returns the difference with the test's interval at `significance`.
    pub fn difference_at(&self, significance: f64) -> Interval {
        let Interval { value, .. } = self.difference;
        let wider = student::quantile(self.freedom, 1.0 - significance)
            / student::quantile(self.freedom, CONFIDENCE);
        Interval::around(value, self.difference.half() * wider)
    }
}

impl TTest {
    /// Compares `a` with `b`; `None` if either has fewer than two values.
    ///
    /// If neither sample varies at all, they differ with certainty (p is 0) or not at all (p is 1).
    pub fn compare(self, a: &[f64], b: &[f64]) -> Option<Comparison> {
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let (n_a, n_b) = (a.len() as f64, b.len() as f64);
        let (var_a, var_b) = (variance(a), variance(b));
        let pooled_freedom = n_a + n_b - 2.0;
        let pooled = ((n_a - 1.0) * var_a + (n_b - 1.0) * var_b) / pooled_freedom;
        let (error, freedom) = match self {
            TTest::Student => ((pooled * (1.0 / n_a + 1.0 / n_b)).sqrt(), pooled_freedom),
            TTest::Welch => error_and_freedom((var_a / n_a, n_a), (var_b / n_b, n_b)),
        };
        let difference = mean(a) - mean(b);
        let over = |by: f64| match (difference == 0.0, by == 0.0) {
            (true, _) => 0.0,
            (_, true) => f64::INFINITY.copysign(difference),
            _ => difference / by,
        };
        let t = over(error);
        Some(Comparison {
            difference: Interval::around(
                difference,
                student::quantile(freedom, CONFIDENCE) * error,
            ),
            t,
            freedom,
            p: student::two_sided(t, freedom),
            effect: over(pooled.sqrt()) * small_sample(pooled_freedom),
        })
    }

    /// Returns the ratio of `a`'s mean to `b`'s, with the interval of the ratios that the test does not reject at
    /// `significance` (Fieller's): `b` multiplied by a ratio outside of it differs from `a`. The lower end is zero if
    /// no ratio is too small, the upper end infinite if none is too large. `None` if a sample has fewer than two
    /// values, or a mean is not above zero.
    pub fn ratio(self, a: &[f64], b: &[f64], significance: f64) -> Option<Interval> {
        let (mean_a, mean_b) = (mean(a), mean(b));
        if a.len() < 2 || b.len() < 2 || mean_a <= 0.0 || mean_b <= 0.0 {
            return None;
        }
        let value = mean_a / mean_b;
        if variance(a) == 0.0 && variance(b) == 0.0 {
            return Some(Interval::around(value, 0.0));
        }
        let differs = |ratio: f64| {
            let times: Vec<f64> = b.iter().map(|value| value * ratio).collect();
            self.compare(a, &times)
                .is_some_and(|compared| compared.p <= significance)
        };
        // The farther the ratio is from that of the means, the larger t becomes.
        let end = |beyond: f64| {
            let (mut inside, mut outside) = (value, beyond);
            for _ in 0..HALVINGS {
                let middle = (inside + outside) / 2.0;
                match differs(middle) {
                    true => outside = middle,
                    false => inside = middle,
                }
            }
            inside
        };
        let mut doubled = (1..=DOUBLINGS).map(|power| value * f64::powi(2.0, power));
        Some(Interval {
            value,
            low: if differs(0.0) { end(0.0) } else { 0.0 },
            high: doubled
                .find(|ratio| differs(*ratio))
                .map_or(f64::INFINITY, end),
        })
    }
}

/// Number of halvings of the range of an interval's end: as many as a number has binary digits.
const HALVINGS: u32 = 53;

/// Number of doublings of a ratio up to the largest one that its interval may end at.
const DOUBLINGS: i32 = 20;

/// Returns the standard error of the difference between two means, each given as the variance of the mean and the
/// number of values, and its degrees of freedom by Welch and Satterthwaite.
fn error_and_freedom((a, n_a): (f64, f64), (b, n_b): (f64, f64)) -> (f64, f64) {
    let both = a + b;
    let freedom = match both == 0.0 {
        true => n_a + n_b - 2.0,
        false => both * both / (a * a / (n_a - 1.0) + b * b / (n_b - 1.0)),
    };
    (both.sqrt(), freedom)
}

/// Returns Hedges' correction of an effect with `freedom` degrees of freedom.
fn small_sample(freedom: f64) -> f64 {
    let half = freedom / 2.0;
    match freedom < 2.0 {
        // With one degree of freedom, the gamma function would be evaluated at (1 - 1) / 2 = 0, where it has no value.
        true => f64::NAN,
        false => (ln_gamma(half) - ln_gamma(half - 0.5)).exp() / half.sqrt(),
    }
}
