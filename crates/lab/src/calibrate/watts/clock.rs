//! Watts of a spinning core as a function of its clock.

use crate::statistics::Interval;
use serde::Serialize;

/// Exponents that the law of a profile's `[frequency]` may have: 1 if the voltage is constant, 3 if it is proportional
/// to the clock.
const EXPONENTS: [f64; 2] = [1.0, 3.0];
/// Number of exponents that the search tries between them.
const STEPS: u32 = 200;

/// Watts of a spinning core at one clock.
#[derive(Clone, Debug, Serialize)]
pub struct ClockWatts {
    /// Highest clock that the kernel may choose, in hertz.
    pub hertz: f64,
    /// Watts above an idle core; `None` for the reason in `why`.
    pub above_idle: Option<Interval>,
    /// Reason why there is no figure.
    pub why: Option<String>,
}

/// Law for watts as a function of the clock: `P(r) = P(1) x (s + (1 - s) x r^e)`, r being the clock relative to the
/// reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockLaw {
    /// Reference clock (r = 1), in hertz.
    pub reference_hertz: f64,
    /// Share s of the watts that does not depend on the clock, with the interval of the meter's error.
    pub static_share: Interval,
    /// Exponent e of the rest.
    pub exponent: f64,
    /// True if the exponent was fitted; false if it comes from the base profile.
    pub exponent_found: bool,
}

impl ClockWatts {
    pub(super) fn of(khz: u64, above: Result<Interval, String>) -> ClockWatts {
        let known = above.as_ref().ok().filter(|above| above.is_above_zero());
        let why = match &above {
            Err(why) => Some(why.clone()),
            Ok(above) if known.is_none() => Some(format!(
                "not distinguishable from idle ({:.3} W at most)",
                above.high
            )),
            Ok(_) => None,
        };
        ClockWatts {
            hertz: khz as f64 * 1e3,
            above_idle: known.copied(),
            why,
        }
    }
}

impl ClockLaw {
    /// Fits the law to `clocks`, the highest first, of cores that draw `floor` watts when idle. The exponent is fitted
    /// from three clocks on; with two it is `exponent`. Returns `None` if fewer than two clocks have figures.
    pub fn of(clocks: &[ClockWatts], floor: f64, exponent: f64) -> Option<ClockLaw> {
        let known: Vec<_> = clocks
            .iter()
            .filter_map(|clock| Some((clock.hertz, clock.above_idle?.plus(&exactly(floor)))))
            .collect();
        let ((reference, top), rest) = known.split_first()?;
        let points: Vec<_> = rest
            .iter()
            .map(|(hz, watts)| (hz / reference, watts))
            .collect();
        if points.is_empty() {
            return None;
        }
        let ratios: Vec<_> = points
            .iter()
            .map(|(r, watts)| (*r, watts.value / top.value))
            .collect();
        let exponent_found = points.len() > 1;
        let exponent = match exponent_found {
            true => best_exponent(&ratios),
            false => exponent,
        };
        let value = share(&ratios, exponent);
        // A ratio's error is the sum of its two figures' errors, and the share's is the mean over the ratios.
        let off = |(r, watts): &(f64, &Interval)| {
            let relative = watts.half() / watts.value + top.half() / top.value;
            let ratio = watts.value / top.value;
            (relative * ratio / (1.0 - r.powf(exponent))).abs()
        };
        let half = points.iter().map(off).sum::<f64>() / points.len() as f64;
        Some(ClockLaw {
            reference_hertz: *reference,
            static_share: Interval {
                value,
                low: (value - half).max(0.0),
                high: (value + half).min(1.0),
            },
            exponent,
            exponent_found,
        })
    }
}

fn exactly(value: f64) -> Interval {
    Interval::around(value, 0.0)
}

/// Returns the share from 0 to 1 that fits the ratios of clocks and watts best, by least squares.
fn share(ratios: &[(f64, f64)], exponent: f64) -> f64 {
    // p - r^e = s (1 - r^e).
    let (mut over, mut under) = (0.0, 0.0);
    for (r, p) in ratios {
        let dynamic = r.powf(exponent);
        over += (p - dynamic) * (1.0 - dynamic);
        under += (1.0 - dynamic) * (1.0 - dynamic);
    }
    match under > 0.0 {
        true => (over / under).clamp(0.0, 1.0),
        false => 0.0,
    }
}

fn best_exponent(ratios: &[(f64, f64)]) -> f64 {
    let [low, high] = EXPONENTS;
    let miss = |exponent: f64| -> f64 {
        let s = share(ratios, exponent);
        let off = |(r, p): &(f64, f64)| p - (s + (1.0 - s) * r.powf(exponent));
        ratios.iter().map(|one| off(one).powi(2)).sum()
    };
    let tried = (0..=STEPS).map(|step| low + (high - low) * f64::from(step) / f64::from(STEPS));
    tried
        .min_by(|one, other| miss(*one).total_cmp(&miss(*other)))
        .unwrap_or(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(share: f64, exponent: f64, ghz: &[f64]) -> Vec<ClockWatts> {
        let watts = |r: f64| 4.0 * (share + (1.0 - share) * r.powf(exponent)) - 0.1;
        ghz.iter()
            .map(|one| {
                let above = Interval::around(watts(one / ghz[0]), 0.02);
                ClockWatts::of((one * 1e6) as u64, Ok(above))
            })
            .collect()
    }

    #[test]
    fn the_law_that_made_the_watts_is_found() {
        let law = ClockLaw::of(&clocks(0.3, 2.2, &[3.0, 2.4, 1.8, 1.2]), 0.1, 2.0).unwrap();
        assert!((law.static_share.value - 0.3).abs() < 0.01, "{law:?}");
        assert!((law.exponent - 2.2).abs() < 0.05 && law.exponent_found);
        assert!(law.static_share.low < 0.3 && law.static_share.high > 0.3);
        assert_eq!(law.reference_hertz, 3e9);
        // Two clocks determine one figure; the exponent is the given one.
        let law = ClockLaw::of(&clocks(0.3, 2.0, &[3.0, 1.5]), 0.1, 2.0).unwrap();
        assert!((law.static_share.value - 0.3).abs() < 1e-6 && !law.exponent_found);
    }

    #[test]
    fn one_clock_says_nothing() {
        assert_eq!(ClockLaw::of(&clocks(0.3, 2.0, &[3.0]), 0.1, 2.0), None);
        assert_eq!(ClockLaw::of(&[], 0.1, 2.0), None);
        let lost = ClockWatts::of(1_000_000, Err("not done".into()));
        let mut two = clocks(0.3, 2.0, &[3.0]);
        two.push(lost);
        assert_eq!(ClockLaw::of(&two, 0.1, 2.0), None);
    }
}
