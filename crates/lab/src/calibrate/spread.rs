//! Statistics of repeated time measurements.

use joulio_nvme::wait::now;

/// Median of many times in nanoseconds, with the 10th and the 90th percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// Computes the spread of `times`, of which there is at least one.
    pub fn of(mut times: Vec<f64>) -> Spread {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let last = times.len().saturating_sub(1);
            let index = (last as f64 * part).round() as usize;
            times.get(index).copied().unwrap_or(0.0)
        };
        Spread {
            median: at(0.5),
            low: at(0.1),
            high: at(0.9),
        }
    }

    /// Computes the spread of times in whole nanoseconds.
    pub fn of_nanos(times: Vec<u64>) -> Spread {
        Spread::of(times.into_iter().map(|time| time as f64).collect())
    }

    /// Measures the time of a call of `what`: the spread of the means of many batches.
    pub fn of_calls(mut what: impl FnMut()) -> Spread {
        const BATCHES: u32 = 41;
        const CALLS: u32 = 2_000;
        let batch = |_| {
            let start = now();
            (0..CALLS).for_each(|_| what());
            (now() - start).0 as f64 / f64::from(CALLS)
        };
        Spread::of((0..BATCHES).map(batch).collect())
    }

    /// Applies `f` to both ends and the median; results below zero become zero.
    pub fn map(self, f: impl Fn(f64) -> f64) -> Spread {
        let f = |time| f64::max(f(time), 0.0);
        Spread {
            median: f(self.median),
            low: f(self.low),
            high: f(self.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_move_no_median() {
        let spread = Spread::of_nanos(vec![9, 1, 2, 3, 1_000_000, 4, 5, 6, 7, 8, 0]);
        assert_eq!((spread.low, spread.median, spread.high), (1.0, 5.0, 9.0));
        let less = spread.map(|time| time - 4.0);
        assert_eq!((less.low, less.median, less.high), (0.0, 1.0, 5.0));
    }
}
