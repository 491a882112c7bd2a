//! The quantile of a stream of times, in one number.

/// A quantile that follows its stream: a step up for each time above it, a smaller one down for each
/// below, so that they balance where it is. Steps are long as long as it is far off, and short later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantile {
    value: f64,
    above: f64,
    /// Share of the value that the sum of both steps is.
    pace: f64,
    /// Times since the last one above the value.
    since: f64,
}

/// The pace far from the quantile, and near it.
const FAST: f64 = 1.0 / 32.0;
const SLOW: f64 = 1.0 / 512.0;
/// Factor on the pace with each time above the value that comes when it may be expected.
const SLOWER: f64 = 0.9;
/// It is far off where times above the value come at so small a part of the interval that is expected,
/// or at so many times of it.
const EARLY: f64 = 1.0 / 32.0;
const LATE: f64 = 10.0;

impl Quantile {
    /// The quantile above which is the fraction `above` of the times.
    pub(super) fn new(above: f64) -> Quantile {
        Quantile {
            value: 0.0,
            above,
            pace: FAST,
            since: 0.0,
        }
    }

    /// Adds so many times below the value.
    pub(super) fn add_below(&mut self, times: u32) {
        let times = f64::from(times);
        self.since += times;
        if self.since * self.above > LATE {
            self.pace = FAST;
        }
        self.value -= self.value * self.pace * self.above * times;
    }

    /// Adds a time.
    pub(super) fn add(&mut self, time: f64) {
        if time <= self.value {
            self.add_below(1);
            return;
        }
        self.since += 1.0;
        if self.value == 0.0 {
            self.value = time;
        } else {
            // No further than the time itself.
            let next = self.value + self.value * self.pace * (1.0 - self.above);
            self.value = f64::min(next, time);
        }
        let expected = self.since * self.above;
        self.pace = match expected < EARLY {
            true => f64::min(self.pace / SLOWER, FAST),
            false => f64::max(self.pace * SLOWER, SLOW),
        };
        self.since = 0.0;
    }

    /// The quantile, 0 before the first time.
    pub(super) fn value(&self) -> f64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_quantile_of_a_stream_and_follows_it() {
        let mut quantile = Quantile::new(0.01);
        for scale in [1_000.0, 5_000.0, 500.0] {
            for n in 0..40_000_u64 {
                // 0 to 999 in an order that is none.
                let rank = (n * 617) % 1_000;
                quantile.add(scale * (1.0 + rank as f64 / 1_000.0));
            }
            let found = quantile.value() / scale;
            assert!((1.93..2.0).contains(&found), "{found} of {scale}");
        }
    }
}
