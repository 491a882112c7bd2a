//! Scales of axes, and round values to mark along them.

/// Mapping from values to coordinates.
#[derive(Clone, Debug)]
pub struct Scale {
    from: f64,
    to: f64,
    /// Coordinates of both ends.
    places: (f64, f64),
    logarithmic: bool,
    /// Values that are marked.
    pub ticks: Vec<f64>,
}

/// Smallest ratio of the largest to the smallest value for a logarithmic y axis.
const WIDE: f64 = 60.0;

/// Largest ratio of the largest to the smallest value for marks at 2 and 5 between powers of ten.
const MANY: f64 = 1_000.0;

/// Fraction of a step by which a value may exceed the last mark.
const OVER: f64 = 0.06;

impl Scale {
    /// Creates a scale from zero, or from below if there are negative values, to beyond the largest of `values`;
    /// logarithmic if they are far apart and `may_be_logarithmic`.
    pub fn of(values: &[f64], places: (f64, f64), may_be_logarithmic: bool) -> Scale {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let least = finite().fold(f64::MAX, f64::min);
        let most = finite().fold(f64::MIN, f64::max);
        if least > most {
            return Scale::linear(0.0, 1.0, places);
        }
        if may_be_logarithmic && least > 0.0 && most / least > WIDE {
            return Scale::logarithmic(least, most, places);
        }
        match (least < 0.0, most > 0.0) {
            (true, true) => Scale::linear(least, most, places),
            (true, false) => Scale::linear(least, 0.0, places),
            (false, true) => Scale::linear(0.0, most, places),
            (false, false) => Scale::linear(0.0, 1.0, places),
        }
    }

    /// Creates a linear scale from `from` to `to`, widened to round values.
    fn linear(from: f64, to: f64, places: (f64, f64)) -> Scale {
        let step = round_step((to - from) / 4.0);
        let (low, high) = ((from / step - 1e-9).ceil(), (to / step - OVER).ceil());
        let low = if from < 0.0 {
            (from / step).floor()
        } else {
            low
        };
        let ticks = (low as i64..=high as i64).map(|index| index as f64 * step);
        let ticks: Vec<f64> = ticks.collect();
        Scale {
            from: ticks.first().copied().unwrap_or(from),
            to: ticks.last().copied().unwrap_or(to),
            places,
            logarithmic: false,
            ticks,
        }
    }

    /// Creates a scale of powers of ten around `from` and `to`.
    fn logarithmic(from: f64, to: f64, places: (f64, f64)) -> Scale {
        let (low, high) = (from.log10().floor(), (to.log10() - OVER / 4.0).ceil());
        let ticks = (low as i32..=high as i32).map(|power| 10f64.powi(power));
        Scale {
            from: 10f64.powf(low),
            to: 10f64.powf(high),
            places,
            logarithmic: true,
            ticks: ticks.collect(),
        }
    }

    /// Creates a logarithmic scale that starts and ends at round values around the positive `values`.
    pub fn around(values: &[f64], places: (f64, f64)) -> Scale {
        let above = || values.iter().copied().filter(|v| v.is_finite() && *v > 0.0);
        let least = above().fold(f64::MAX, f64::min);
        let most = above().fold(f64::MIN, f64::max);
        if least > most {
            return Scale::fixed(1.0, 10.0, places, true, vec![1.0, 10.0]);
        }
        let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        let all = (low..=high).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power)));
        let all: Vec<f64> = all.collect();
        let from = all.iter().rfind(|tick| **tick <= least * (1.0 + 1e-9));
        let to = all.iter().find(|tick| **tick >= most * (1.0 - 1e-9));
        let (from, to) = (*from.unwrap_or(&all[0]), *to.unwrap_or(&most));
        let to = if to > from { to } else { from * 2.0 };
        let within = all
            .iter()
            .copied()
            .filter(|tick| (from..=to).contains(tick));
        let fine = to / from <= MANY;
        let power = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        let ticks = within.filter(|tick| fine || power(*tick));
        Scale::fixed(from, to, places, true, ticks.collect())
    }

    /// Creates a scale from 0 to 100 percent.
    pub fn percent(places: (f64, f64)) -> Scale {
        let ticks = vec![0.0, 25.0, 50.0, 75.0, 100.0];
        Scale::fixed(0.0, 100.0, places, false, ticks)
    }

    /// Creates a scale from exactly `from` to `to` with marks at `ticks`.
    pub fn fixed(
        from: f64,
        to: f64,
        places: (f64, f64),
        logarithmic: bool,
        ticks: Vec<f64>,
    ) -> Scale {
        let apart = to > from;
        Scale {
            from: if apart { from } else { from - 0.5 },
            to: if apart { to } else { to + 0.5 },
            places,
            logarithmic: logarithmic && apart,
            ticks,
        }
    }

    /// Returns the coordinate of `value`.
    pub fn place(&self, value: f64) -> f64 {
        let along = |value: f64| match self.logarithmic {
            true => value.max(f64::MIN_POSITIVE).log10(),
            false => value,
        };
        let share = (along(value) - along(self.from)) / (along(self.to) - along(self.from));
        let (start, end) = self.places;
        // A logarithmic scale has no limit at its lower end, so smaller values are drawn there.
        let least = if self.logarithmic { 0.0 } else { -0.05 };
        start + share.clamp(least, 1.05) * (end - start)
    }
}

/// Returns the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let step = step.max(f64::MIN_POSITIVE);
    let power = 10f64.powf(step.log10().floor());
    let rounds = [1.0, 2.0, 2.5, 5.0, 10.0].map(|round| round * power);
    let found = rounds
        .into_iter()
        .find(|round| *round >= step * (1.0 - 1e-9));
    found.unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        let scale = Scale::of(&[96_722.0, 120_470.0], (200.0, 0.0), true);
        assert_eq!(scale.ticks, [0.0, 50_000.0, 100_000.0, 150_000.0]);
        assert_eq!(scale.place(0.0), 200.0);
        assert_eq!(scale.place(150_000.0), 0.0);
        let scale = Scale::of(&[-3.0, 8.0], (100.0, 0.0), true);
        assert_eq!(scale.ticks, [-5.0, 0.0, 5.0, 10.0]);
        assert!((scale.place(0.0) - 100.0 * 2.0 / 3.0).abs() < 1e-9);
        let scale = Scale::of(&[], (100.0, 0.0), true);
        assert_eq!(scale.ticks.first(), Some(&0.0));
    }

    #[test]
    fn a_scale_around_values_ends_at_round_ones() {
        let scale = Scale::around(&[11.0, 42.0, 0.0], (0.0, 100.0));
        assert_eq!(scale.ticks, [10.0, 20.0, 50.0]);
        assert_eq!((scale.place(10.0), scale.place(50.0)), (0.0, 100.0));
        let wide = Scale::around(&[3.0, 90_000.0], (0.0, 100.0));
        assert_eq!(wide.ticks, [10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]);
        let one = Scale::around(&[10.0], (0.0, 100.0));
        assert_eq!(one.ticks, [10.0, 20.0]);
    }

    #[test]
    fn values_far_apart_stand_on_powers_of_ten() {
        let scale = Scale::of(&[10.1, 12_000.0], (400.0, 0.0), true);
        assert_eq!(scale.ticks, [10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]);
        assert!((scale.place(100.0) - 300.0).abs() < 1e-9);
        let bars = Scale::of(&[10.1, 12_000.0], (400.0, 0.0), false);
        assert_eq!(bars.ticks[0], 0.0);
    }
}
