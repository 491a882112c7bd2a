//! SNIA's criterion for a steady state: during the measurement the rate neither rises nor varies too much (Solid State
//! Storage Performance Test Specification, steady state).

use joulio_workload::{Counts, Spoiled, SpoiledBy};

/// Largest rise or fall of the fitted line, in percent of the mean rate.
const MAX_SLOPE: f64 = 10.0;
/// Largest difference between the lowest and the highest rate, in percent of the mean.
const MAX_SPREAD: f64 = 20.0;

/// Returns the reason why a run was not steady; `None` if it was, or was too short to tell.
pub fn judge(counts: &Counts) -> Option<Spoiled> {
    let steadiness = counts.steadiness?;
    let slope = steadiness.slope_percent;
    let spread = steadiness.spread_percent;
    let why = match () {
        () if slope.abs() > MAX_SLOPE => format!(
            "its rate went {} by {:.0} % from its beginning to its end, at most {MAX_SLOPE} % is steady: give it a longer ramp",
            if slope > 0.0 { "up" } else { "down" },
            slope.abs()
        ),
        () if spread > MAX_SPREAD => format!(
            "its rate moved within {spread:.0} % of its mean, at most {MAX_SPREAD} % is steady: something else used the machine or the device, or the device has its own work"
        ),
        () => return None,
    };
    Some(Spoiled {
        by: SpoiledBy::Unsteady,
        share: None,
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use joulio_workload::Steadiness;

    #[test]
    fn what_climbs_or_jumps_is_not_steady() {
        let why = |slope_percent, spread_percent| {
            let steadiness = Some(Steadiness {
                intervals: 5,
                slope_percent,
                spread_percent,
            });
            let counts = Counts {
                steadiness,
                ..Counts::default()
            };
            judge(&counts).map(|spoiled| spoiled.why)
        };
        assert_eq!(why(9.0, 19.0), None);
        assert!(why(-30.0, 31.0).unwrap().contains("went down by 30 %"));
        assert!(why(0.0, 21.0).unwrap().contains("within 21 %"));
        assert_eq!(judge(&Counts::default()), None);
    }
}
