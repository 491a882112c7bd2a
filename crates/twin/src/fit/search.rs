//! Minimum of a function of one number: golden-section search over the multiples of a step.

/// Finds the multiple of `step` from `low` to `high` at which `of` is least, for a function that falls and then
/// rises.
///
/// Only multiples of the step are tried, so that the result does not depend on the start.
pub(super) fn least<E>(
    low: f64,
    high: f64,
    step: f64,
    mut of: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    // A division would give 0.30000000000000004. Steps are decimal numbers, and so are their multiples.
    let places = (-step.log10()).ceil().clamp(0.0, 9.0);
    let round = |value: f64| (value * 10f64.powf(places)).round() / 10f64.powf(places);
    let at = |n: i64| round(n as f64 * step).clamp(low, high);
    let (mut from, mut to) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    let mut known: Vec<(i64, f64)> = Vec::new();
    let mut value = |n: i64| match known.iter().find(|(tried, _)| *tried == n) {
        Some((_, value)) => Ok(*value),
        None => {
            let value = of(at(n))?;
            known.push((n, value));
            Ok(value)
        }
    };
    while to - from > 3 {
        let third = (((to - from) as f64) * (1.0 - GOLDEN)).round().max(1.0) as i64;
        let (left, right) = (from + third, to - third);
        if left >= right {
            break;
        }
        if value(left)? <= value(right)? {
            to = right;
        } else {
            from = left;
        }
    }
    let mut best = (from, value(from)?);
    for n in from + 1..=to {
        let here = value(n)?;
        if here < best.1 {
            best = (n, here);
        }
    }
    Ok(at(best.0))
}

/// Ratio of the larger part of a golden section to the whole.
const GOLDEN: f64 = 0.618_033_988_749_895;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    proptest! {
        #[test]
        fn it_finds_the_valley(valley in -50.0..150.0_f64, step in 0.1..5.0_f64) {
            let step = (step * 10.0).round() / 10.0;
            let found = least(0.0, 100.0, step, |x| Ok::<_, Infallible>((x - valley).powi(2)));
            let Ok(found) = found;
            let nearest = valley.clamp(0.0, 100.0);
            prop_assert!((found - nearest).abs() <= step * 1.01, "{found} for {valley}");
        }
    }
}
