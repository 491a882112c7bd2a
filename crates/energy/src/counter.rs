//! Counters that wrap.

/// Sum of a counter of whole units that wraps to zero after `max`.
///
/// The kernel's powercap counters are 32 bits of the hardware's steps, converted to microjoules and rounded down; `max`
/// is the value of 2^32 - 1 steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wrapping {
    max: u64,
    step: u64,
    last: Option<u64>,
    total: u64,
}

impl Wrapping {
    /// Makes the sum of a counter that counts from 0 to `max` in steps of `step`.
    pub(crate) fn new(max: u64, step: u64) -> Wrapping {
        Wrapping {
            max,
            step,
            last: None,
            total: 0,
        }
    }

    /// Adds a reading, and returns the units counted since the first. Right if the counter has wrapped at most once
    /// since the reading before.
    ///
    /// # Errors
    /// Returns the reading before if the counter would have had to count more than `most` from it to wrap to this one:
    /// it was reset. Counting goes on from here.
    pub(crate) fn advance(&mut self, raw: u64, most: u64) -> Result<u64, u64> {
        let from = self.last.replace(raw).unwrap_or(raw);
        let more = elapsed(from, raw, self.max, self.step);
        if raw < from && more > most {
            return Err(from);
        }
        self.total = self.total.saturating_add(more);
        Ok(self.total)
    }
}

/// Returns the units counted from `from` to `to`; the step from `max` to zero counts too.
fn elapsed(from: u64, to: u64, max: u64, step: u64) -> u64 {
    match to.checked_sub(from) {
        Some(forward) => forward,
        None => max
            .saturating_sub(from)
            .saturating_add(to)
            .saturating_add(step),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_step_before_zero_counts() {
        let mut counter = Wrapping::new(99, 1);
        let readings = [98, 99, 0, 1].map(|raw| counter.advance(raw, 1));
        assert_eq!(readings, [0, 1, 2, 3].map(Ok));
    }

    #[test]
    fn what_would_have_to_go_round_too_fast_was_reset() {
        let mut counter = Wrapping::new(99, 1);
        let readings = [50, 60, 0, 7, 6].map(|raw| counter.advance(raw, 20));
        assert_eq!(readings, [Ok(0), Ok(10), Err(60), Ok(17), Err(7)]);
    }

    #[test]
    fn a_reading_beyond_the_range_does_not_panic() {
        let mut counter = Wrapping::new(10, 1);
        let readings = [u64::MAX, 0, u64::MAX, 5].map(|raw| counter.advance(raw, u64::MAX));
        assert_eq!(readings, [0, 1, u64::MAX, u64::MAX].map(Ok));
    }

    /// Returns the hardware's count of steps as the kernel shows it in microjoules; a step has `unit_nj` nanojoules.
    fn shown(count: u64, unit_nj: u64) -> u64 {
        (count % (1 << 32)) * unit_nj / 1000
    }

    proptest! {
        #[test]
        fn any_walk_with_less_than_a_round_between_readings_is_followed(
            start in any::<u32>(),
            walk in prop::collection::vec(0u64..(1 << 32), 1..50),
            // 2^-14 J, 2^-16 J, and the 1 J of a Sapphire Rapids platform.
            unit_nj in prop::sample::select(vec![61_035u64, 15_258, 1_000_000_000]),
        ) {
            let max = shown((1 << 32) - 1, unit_nj);
            let mut counter = Wrapping::new(max, unit_nj / 1000);
            let mut count = u64::from(start);
            let mut total = counter.advance(shown(count, unit_nj), 0).unwrap();
            for step in &walk {
                count += step;
                total = counter.advance(shown(count, unit_nj), u64::MAX).unwrap();
            }
            let truth = u128::from(count - u64::from(start)) * u128::from(unit_nj) / 1000;
            // A microjoule of rounding at each end and, with the step, at each wrap.
            let bound = 3 * (walk.len() as u128 + 1);
            prop_assert!(u128::from(total).abs_diff(truth) <= bound, "{total} {truth}");
        }

        #[test]
        fn the_total_never_shrinks(max in any::<u64>(), step in any::<u64>(), most in any::<u64>(), raws: Vec<u64>) {
            let mut counter = Wrapping::new(max, step);
            let totals: Vec<_> = raws.iter().filter_map(|&raw| counter.advance(raw, most).ok()).collect();
            prop_assert!(totals.is_sorted());
        }
    }
}
