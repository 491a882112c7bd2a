//! The energy of a run: the figures of each meter, their sums, and the model's.

mod of_meter;
mod sum;

use joulio_energy::{Boundary, Energy, MeterResult, WindowError};
use joulio_job::{EnergyResult, Unmetered, WorkDone};
use of_meter::{Of, above_idle, total};
use sum::sum;

/// Returns all figures: those of the meters, the sums over meters of separate parts, the figures without the idle
/// energy, and last the model's.
pub(crate) fn figures(
    measured: &[MeterResult],
    model: Option<(Vec<Energy>, Option<String>)>,
    done: WorkDone,
) -> (Vec<EnergyResult>, Vec<Unmetered>) {
    let has = |of: Of| measured.iter().filter_map(move |meter| of(meter).ok());
    let mut without: Vec<_> = measured.iter().filter_map(unmetered).collect();
    let mut sums = Vec::new();
    for of in [total as Of, above_idle] {
        for sum in Boundary::ALL.map(|boundary| sum(measured, boundary, of)) {
            match sum {
                Ok(sum) => sums.extend(sum),
                Err(why) => without.push(why),
            }
        }
    }
    let all = has(total).chain(has(above_idle)).chain(sums.iter());
    let mut figures: Vec<_> = all.map(|energy| EnergyResult::new(energy, done)).collect();
    let (energies, note) = model.unwrap_or_default();
    figures.extend(energies.iter().map(|energy| EnergyResult {
        note: note.clone(),
        ..EnergyResult::new(energy, done)
    }));
    (figures, without)
}

fn unmetered(meter: &MeterResult) -> Option<Unmetered> {
    let why = meter.figure.as_ref().err()?;
    Some(Unmetered {
        meter: meter.about.name.clone(),
        why: why.to_string(),
        too_short: matches!(why, WindowError::TooShort { .. }),
    })
}

#[cfg(test)]
mod tests;
