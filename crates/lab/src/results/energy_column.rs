//! Energy figure with which runs are compared.

use joulio_workload::{Counts, EnergyResult, RunResult};
use serde::Serialize;

/// Energy figure in the table of runs, which has the same source and boundary for all runs so that they can be
/// compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyColumn {
    /// Zone of the boundary.
    pub zone: String,
    /// Meter, or the model's profiles.
    pub source: String,
    /// True if it is computed, false if it is measured.
    pub modelled: bool,
}

impl EnergyColumn {
    /// Chooses the widest measured boundary if it includes the processor's packages; otherwise the model's figure;
    /// without a model, the boundary that all or most runs have. On a machine with several packages a single package is
    /// never chosen, even if the sum over all is missing.
    pub fn of(runs: &[&RunResult]) -> Option<EnergyColumn> {
        let all: Vec<_> = runs.iter().filter_map(|run| run.counts.as_ref()).collect();
        let figures = all.iter().flat_map(|counts| &counts.energy);
        let whole = figures.filter(|figure| !figure.idle_subtracted && !figure.is_part_in(&all));
        let columns = whole.map(|figure| {
            let column = EnergyColumn::from(figure);
            let lacking = all.iter().filter(|counts| column.figure(counts).is_none());
            (lacking.count(), figure.rank(), column)
        });
        let best = columns.min_by_key(|(lacking, rank, _)| (*lacking, *rank));
        best.map(|(.., column)| column)
    }

    /// Returns the mark of a modelled figure.
    pub fn star(&self) -> &'static str {
        if self.modelled { "*" } else { "" }
    }

    /// Returns the figure of one run.
    pub fn figure<'a>(&self, counts: &'a Counts) -> Option<&'a EnergyResult> {
        counts.energy.iter().find(|figure| self.has(figure))
    }

    /// Returns true if `figure` is one of the column.
    pub(crate) fn has(&self, figure: &EnergyResult) -> bool {
        figure.source == self.source && figure.zone == self.zone && !figure.idle_subtracted
    }
}

impl From<&EnergyResult> for EnergyColumn {
    fn from(figure: &EnergyResult) -> EnergyColumn {
        EnergyColumn {
            zone: figure.zone.clone(),
            source: figure.source.clone(),
            modelled: figure.modelled,
        }
    }
}

/// Returns the figures of a run to show: those of meters, and the model's at the widest boundary.
pub fn shown(counts: &Counts) -> impl Iterator<Item = &EnergyResult> {
    let model = counts.energy.iter().position(EnergyResult::is_model);
    let all = counts.energy.iter().enumerate();
    all.filter(move |(at, figure)| !figure.is_model() || Some(*at) == model)
        .map(|(_, figure)| figure)
}
