//! Notes on the energy figures of runs.

use super::energy_column::EnergyColumn;
use crate::record::RunRecord;
use joulio_workload::EnergyResult;

/// Returns a note with the source and boundary of the figure that runs are compared by; `None` if there is no figure.
pub fn star_note(column: Option<&EnergyColumn>) -> Option<String> {
    let column = column?;
    let star = column.star();
    let how = match column.modelled {
        true => "modelled, not measured",
        false => "measured",
    };
    Some(format!(
        "W{star}, uJ/IO{star}, IO/J{star}: {how}, {}, {}.",
        column.zone, column.source
    ))
}

/// Returns the note on the model's figures, if there is one.
pub fn model_note(records: &[&RunRecord]) -> Option<String> {
    figures(records).find_map(|figure| figure.note.clone())
}

/// Returns notes on the energy figures, one a line.
pub fn energy_notes(records: &[&RunRecord]) -> Vec<String> {
    let has = |what: fn(&EnergyResult) -> bool| figures(records).any(what);
    let mut lines = Vec::new();
    if has(EnergyResult::is_model) {
        lines.push(
            "The model: time in each wait state times the profiles' watts; from and to, with all of \
             them at the ends of their bands."
                .into(),
        );
    }
    lines.extend(model_note(records));
    if has(|figure| figure.error_joules.is_some()) {
        lines.push(
            "+-: what the meter's steps, updates and sampling allow; its own accuracy is not in it."
                .into(),
        );
    }
    lines
}

fn figures<'a>(records: &[&'a RunRecord]) -> impl Iterator<Item = &'a EnergyResult> {
    let counts = records.iter().filter_map(|one| one.result.counts.as_ref());
    counts.flat_map(|counts| &counts.energy)
}
