//! Correction of probabilities for many comparisons.

use super::SIGNIFICANCE;
use serde::{Deserialize, Serialize};

/// Correction of probabilities where many comparisons are made: of 56, each at 5 %, about three
/// differ by chance alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Holm's: that any comparison is a false alarm is as improbable as is said of one.
    #[default]
    Holm,
    /// Benjamini and Hochberg's: limits the share of false alarms among the differences that are found.
    BenjaminiHochberg,
    /// No correction: each comparison by itself.
    None,
}

impl Correction {
    /// `p` corrected, in the order in which they came.
    pub fn apply(self, p: &[f64]) -> Vec<f64> {
        let mut ranks: Vec<usize> = (0..p.len()).collect();
        ranks.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
        let m = p.len();
        let mut corrected = vec![1.0; m];
        match self {
            Correction::None => corrected.copy_from_slice(p),
            Correction::Holm => {
                let mut largest: f64 = 0.0;
                for (rank, &index) in ranks.iter().enumerate() {
                    largest = largest.max(p[index] * (m - rank) as f64);
                    corrected[index] = largest.min(1.0);
                }
            }
            Correction::BenjaminiHochberg => {
                let mut smallest: f64 = 1.0;
                for (rank, &index) in ranks.iter().enumerate().rev() {
                    smallest = smallest.min(p[index] * m as f64 / (rank + 1) as f64);
                    corrected[index] = smallest;
                }
            }
        }
        corrected
    }

    /// Returns the significance level for each of `p` by itself: `p` is at most this level if its corrected value is
    /// at most [`SIGNIFICANCE`]. An interval at this level does not contain zero if the test finds a difference.
    pub fn levels(self, p: &[f64]) -> Vec<f64> {
        let m = p.len();
        let found = self.apply(p).iter().filter(|p| **p <= SIGNIFICANCE).count();
        let mut ranks: Vec<usize> = (0..m).collect();
        ranks.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
        let mut levels = vec![SIGNIFICANCE; m];
        for (rank, index) in ranks.into_iter().enumerate() {
            levels[index] *= match self {
                Correction::None => 1.0,
                // All that are not found share the level of the first of them.
                Correction::Holm => 1.0 / (m - rank.min(found)) as f64,
                Correction::BenjaminiHochberg => found.max(1) as f64 / m as f64,
            };
        }
        levels
    }
}
