//! Correction of probabilities for many comparisons.

use super::SIGNIFICANCE;
use serde::{Deserialize, Serialize};

/// Correction of probabilities for multiple comparisons: of 56 comparisons at 5 % each, about three are significant by
/// chance alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// Holm's: the probability of any false alarm among all comparisons is at most that of a single one.
    #[default]
    Holm,
    /// Benjamini and Hochberg's: limits the share of false alarms among the significant differences.
    BenjaminiHochberg,
    /// No correction: each comparison counts by itself.
    None,
}

impl Correction {
    /// Returns the corrected values of `p`, in the same order.
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

    /// Returns a significance level for each of `p`: an uncorrected `p` is at most this level if its corrected value is
    /// at most [`SIGNIFICANCE`]. An interval at this level excludes zero if the test finds a difference.
    pub fn levels(self, p: &[f64]) -> Vec<f64> {
        let m = p.len();
        let found = self.apply(p).iter().filter(|p| **p <= SIGNIFICANCE).count();
        let mut ranks: Vec<usize> = (0..m).collect();
        ranks.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
        let mut levels = vec![SIGNIFICANCE; m];
        for (rank, index) in ranks.into_iter().enumerate() {
            levels[index] *= match self {
                Correction::None => 1.0,
                // All comparisons that are not significant have the level of the first of them.
                Correction::Holm => 1.0 / (m - rank.min(found)) as f64,
                Correction::BenjaminiHochberg => found.max(1) as f64 / m as f64,
            };
        }
        levels
    }
}
