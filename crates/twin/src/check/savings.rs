//! Savings of unknown size: for which value of a saving the published gains reproduce.
//!
//! A wait in a light power state draws less than a spin, by a saving for which sources give different values. The
//! saving changes no time, so that the joules of an I/O are a linear function of it: two runs give the gain for
//! every saving, and the saving for every gain.

use super::judge;
use crate::published::{Paper, ProfileField, Saving, SimulationError, Simulator};
use serde::Serialize;

/// A published gain at several savings.
#[derive(Clone, Debug, Serialize)]
pub struct SavingCheck {
    /// The source's short name.
    pub paper: String,
    /// Description of the saving.
    pub what: String,
    /// Description of the gain.
    pub number: String,
    /// Printed gain in percent, or the lower end of a printed range.
    pub published: f64,
    /// Upper end of a printed range.
    pub published_to: Option<f64>,
    /// Saving of the profile, in percent.
    pub held_percent: f64,
    /// Savings in percent, and the gain in percent that each gives.
    pub gains: Vec<(f64, f64)>,
    /// Saving in percent for which the printed gain, or the lower end of its range, is reproduced; `None`: no
    /// saving from 0 to 100 % reproduces it.
    pub true_at_percent: Option<f64>,
}

/// Returns the results for the savings of `paper`, for each with all the numbers that depend on it.
pub(super) fn savings(
    paper: &Paper,
    simulator: &mut Simulator,
) -> Result<Vec<SavingCheck>, SimulationError> {
    let mut found = Vec::new();
    for saving in &paper.saving {
        found.extend(of(paper, saving, simulator)?);
    }
    Ok(found)
}

fn of(
    paper: &Paper,
    saving: &Saving,
    simulator: &mut Simulator,
) -> Result<Vec<SavingCheck>, SimulationError> {
    let field: ProfileField = saving.field.parse()?;
    let whole = simulator.profiles().figure(&saving.of.parse()?)?.value;
    let held = simulator.profiles().figure(&field)?.value;
    let mut found = Vec::new();
    for what in &saving.numbers {
        let refused = || {
            let problem = format!("saving '{}' names number '{what}'", saving.what);
            SimulationError::Data(format!("{problem}, which is not there"))
        };
        let number = paper.number(what).ok_or_else(refused)?;
        let mut gain = |percent: f64| {
            simulator.set(&field, whole * (1.0 - percent / 100.0))?;
            Ok::<f64, SimulationError>(judge::estimate(number, simulator)?.value)
        };
        let gains = saving.percent.iter();
        let gains: Result<Vec<_>, SimulationError> = gains
            .map(|percent| Ok((*percent, gain(*percent)?)))
            .collect();
        let gains = gains?;
        found.push(SavingCheck {
            paper: paper.name.clone(),
            what: saving.what.clone(),
            number: what.clone(),
            published: number.value,
            published_to: number.to,
            held_percent: (1.0 - held / whole) * 100.0,
            true_at_percent: saving_of(&gains, number.value),
            gains,
        });
    }
    simulator.set(&field, held)?;
    Ok(found)
}

/// Returns the joules of an I/O as a fraction of the other run's, for a run with `gain_percent` percent more I/Os
/// per joule.
fn joules_left(gain_percent: f64) -> f64 {
    1.0 / (1.0 + gain_percent / 100.0)
}

/// Returns the saving in percent that gives `gain`, on the line through the first and the last of `gains`.
fn saving_of(gains: &[(f64, f64)], gain: f64) -> Option<f64> {
    let [first, .., last] = gains else {
        return None;
    };
    let [from, to, at] = [first.1, last.1, gain].map(joules_left);
    let percent = first.0 + (at - from) / (to - from) * (last.0 - first.0);
    (0.0..=100.0).contains(&percent).then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_found_where_the_line_has_it() {
        // A saving of 100 % leaves half of the joules.
        let gains = [(0.0, 0.0), (50.0, 100.0 / 3.0)];
        let near = |gain: f64, at: f64| (saving_of(&gains, gain).unwrap() - at).abs() < 1e-9;
        assert!(near(100.0 / 3.0, 50.0));
        assert!(near(100.0, 100.0));
        // A gain beyond that of the full saving, one below that of no saving, and a saving without effect.
        assert_eq!(saving_of(&gains, 150.0), None);
        assert_eq!(saving_of(&gains, -5.0), None);
        assert_eq!(saving_of(&[(0.0, 1.0), (50.0, 1.0)], 10.0), None);
        assert_eq!(saving_of(&gains[..1], 0.0), None);
    }
}
