//! Fit of a parabola to points.

use super::mean;
use serde::Serialize;

/// Least-squares parabola y = `constant` + `linear` x + `square` x².
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quadratic {
    /// Value of y at x = 0.
    pub constant: f64,
    /// Slope at x = 0.
    pub linear: f64,
    /// Half of the curvature.
    pub square: f64,
    /// Fraction of y's variance that the parabola explains; 1 if y does not vary.
    pub r2: f64,
}

impl Quadratic {
    /// Fits a parabola to `points`, each x and y; `None` if there are fewer than three different x.
    pub fn fit(points: &[(f64, f64)]) -> Option<Quadratic> {
        let mut xs: Vec<f64> = points.iter().map(|point| point.0).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        if xs.len() < 3 {
            return None;
        }
        // The powers of x are made orthogonal over the points, so that each coefficient can be computed by itself.
        let column = |f: &dyn Fn(f64) -> f64| -> Vec<f64> {
            points.iter().map(|point| f(point.0)).collect()
        };
        let y: Vec<f64> = points.iter().map(|point| point.1).collect();
        let along = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let one = mean(&column(&|x| x));
        let first = column(&|x| x - one);
        let scale = along(&first, &first);
        let (two, turn) = (
            mean(&column(&|x| (x - one).powi(2))),
            along(&column(&|x| (x - one).powi(2)), &first) / scale,
        );
        let second = column(&|x| (x - one).powi(2) - two - turn * (x - one));
        let square = along(&second, &y) / along(&second, &second);
        let slope = along(&first, &y) / scale;
        let middle = mean(&y);
        let of = |x: f64| {
            let at = x - one;
            middle + slope * at + square * (at * at - two - turn * at)
        };
        let apart = |value: f64, from: f64| (value - from).powi(2);
        let left: f64 = points.iter().map(|point| apart(point.1, of(point.0))).sum();
        let all: f64 = y.iter().map(|value| apart(*value, middle)).sum();
        Some(Quadratic {
            constant: of(0.0),
            linear: slope - square * (2.0 * one + turn),
            square,
            r2: if all == 0.0 { 1.0 } else { 1.0 - left / all },
        })
    }

    /// Returns y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.constant + self.linear * x + self.square * x * x
    }
}
