//! The quantile of a stream of times, in one number.

/// A quantile that follows its stream: a step up for each time above it, a smaller one down for each
/// below, so that they balance where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantile {
    value: f64,
    up: f64,
    down: f64,
}

/// Share of the value that the sum of both steps is.
const PACE: f64 = 1.0 / 32.0;

impl Quantile {
    /// The quantile above which is the fraction `above` of the times.
    pub(super) fn new(above: f64) -> Quantile {
        Quantile {
            value: 0.0,
            up: PACE * (1.0 - above),
            down: PACE * above,
        }
    }

    /// Adds a time.
    #[inline]
    pub(super) fn add(&mut self, time: f64) {
        if time <= self.value {
            self.value -= self.value * self.down;
        } else if self.value == 0.0 {
            self.value = time;
        } else {
            // No further than the time itself.
            self.value = f64::min(self.value + self.value * self.up, time);
        }
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
