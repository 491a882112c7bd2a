//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the two-sided quantile: a value t with `freedom` degrees of freedom lies between minus and plus this with
/// probability `confidence`. Infinite without a degree of freedom.
pub(super) fn quantile(freedom: f64, confidence: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) => student.inverse_cdf(0.5 + confidence / 2.0),
        Err(_) => f64::INFINITY,
    }
}

/// Returns the probability that a t with `freedom` degrees of freedom is at least as far from zero as `t`; 1 without a
/// degree of freedom.
pub(super) fn two_sided(t: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(_) if t.is_nan() => 1.0,
        Ok(student) => (2.0 * student.cdf(-t.abs())).min(1.0),
        Err(_) => 1.0,
    }
}
