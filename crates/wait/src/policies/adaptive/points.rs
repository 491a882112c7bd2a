//! Representatives of the times of I/Os.

use std::ops::Index;

/// Representatives of a history.
pub(super) const POINTS: usize = 16;

/// Times that each stand for the same number of I/Os, ascending, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    times: [f64; POINTS],
    /// Sum of so many of the shortest.
    sums: [f64; POINTS + 1],
}

impl Points {
    /// Points from `times`, which ascend.
    pub(super) fn new(times: [f64; POINTS]) -> Points {
        let mut sums = [0.0; POINTS + 1];
        for (index, time) in times.iter().enumerate() {
            sums[index + 1] = sums[index] + time;
        }
        Points { times, sums }
    }

    /// The longest.
    pub(super) fn longest(&self) -> f64 {
        self.times[POINTS - 1]
    }

    /// The one in the middle.
    pub(super) fn median(&self) -> f64 {
        self.times[POINTS / 2]
    }

    /// Between the quarters of them.
    pub(super) fn spread(&self) -> f64 {
        self.times[3 * POINTS / 4] - self.times[POINTS / 4]
    }

    /// Returns how many times are not longer than `time`.
    pub(super) fn within(&self, time: f64) -> usize {
        match time >= self.longest() {
            true => POINTS,
            false => self.times.partition_point(|one| *one <= time),
        }
    }

    /// Returns the first point within which a `share` of the I/Os lie.
    pub(super) fn at_share(&self, share: f64) -> usize {
        let last = ((share * POINTS as f64).ceil() as usize).clamp(1, POINTS) - 1;
        let alike = self.times[..last].iter().rev();
        last - alike.take_while(|time| **time == self.times[last]).count()
    }

    /// Returns the sum of the points from `from` to `to`, without the last.
    pub(super) fn sum(&self, from: usize, to: usize) -> f64 {
        self.sums[to] - self.sums[from]
    }

    /// Times from the place `from` on.
    pub(super) fn after(&self, from: usize) -> &[f64] {
        &self.times[from..]
    }
}

impl Index<usize> for Points {
    type Output = f64;

    fn index(&self, index: usize) -> &f64 {
        &self.times[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sums_are_those_of_the_times() {
        let points = Points::new(std::array::from_fn(|index| 10.0 * index as f64));
        assert_eq!(
            (points.longest(), points.median(), points.spread()),
            (150.0, 80.0, 80.0)
        );
        assert_eq!(
            [-1.0, 0.0, 35.0, 999.0].map(|time| points.within(time)),
            [0, 1, 4, 16]
        );
        assert_eq!(
            (points.sum(0, 4), points.sum(4, 6), points.sum(16, 16)),
            (60.0, 90.0, 0.0)
        );
        assert_eq!(points.after(14), [140.0, 150.0]);
        assert_eq!(
            [0.0, 0.25, 0.26, 1.0].map(|share| points.at_share(share)),
            [0, 3, 4, 15]
        );
        let alike = Points::new([7.0; POINTS]);
        assert_eq!(alike.at_share(0.5), 0, "the first of those that are alike");
    }
}
