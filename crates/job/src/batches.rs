//! I/Os that are submitted or completed together.

use serde::{Deserialize, Serialize};

/// Sizes of batches, as with fio's `iodepth_batch` options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// Largest number of I/Os that are submitted together; 0: all that are due.
    pub submit: usize,
    /// Number of completions to wait for before any is taken, at least 1, or the number in flight if that is lower.
    pub complete_min: usize,
    /// Largest number of completions that are taken together; at least `complete_min` are taken, also if that is more.
    /// `None`: all that there are.
    #[serde(default)]
    pub complete_max: Option<usize>,
}

impl Batches {
    /// Returns the largest number of completions that are taken together; as in fio, `complete_min` raises it.
    pub fn max_taken(&self) -> usize {
        let max = self.complete_max.unwrap_or(usize::MAX);
        max.max(self.complete_min).max(1)
    }

    /// Returns true if I/Os of a job with `iodepth` in flight are submitted and completed as by default: a limit that
    /// the depth never reaches is none.
    pub fn is_usual(&self, iodepth: usize) -> bool {
        let complete_max = self.complete_max.filter(|max| *max < iodepth);
        let limits = Batches {
            complete_max,
            ..*self
        };
        limits == Batches::default()
    }
}

impl Default for Batches {
    /// Submits all I/Os that are due together, and takes each completion as soon as there is one.
    fn default() -> Batches {
        Batches {
            submit: 0,
            complete_min: 1,
            complete_max: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_to_wait_for_raises_the_largest_to_take() {
        let of = |complete_min, complete_max| {
            let batches = Batches {
                complete_min,
                complete_max,
                ..Batches::default()
            };
            batches.max_taken()
        };
        assert_eq!(of(1, None), usize::MAX);
        assert_eq!((of(1, Some(4)), of(4, Some(4))), (4, 4));
        assert_eq!((of(8, Some(4)), of(1, Some(0))), (8, 1));
    }

    #[test]
    fn a_limit_that_the_depth_never_reaches_is_none() {
        let of = |complete_max| Batches {
            complete_max,
            ..Batches::default()
        };
        assert!(of(None).is_usual(4) && of(Some(4)).is_usual(4));
        assert!(!of(Some(3)).is_usual(4));
        let submit = Batches {
            submit: 2,
            ..of(Some(4))
        };
        assert!(!submit.is_usual(4));
    }
}
