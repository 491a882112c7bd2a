//! Columns of the factors that runs differ in, before those of their figures.

use joulio_lab::record::{Point, RunRecord};
use joulio_lab::sweep::{Axes, Factor};

/// Factors with more than one value that no other column shows.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    factors: Vec<Factor>,
}

impl Columns {
    /// Columns of what varies in `axes`.
    pub fn new(axes: &Axes) -> Columns {
        // The run's name has the method and the settings.
        let named = [
            Factor::Engine,
            Factor::Completion,
            Factor::Scheduler,
            Factor::MaxCstate,
            Factor::Frequency,
            Factor::Coalescing,
        ];
        let mut factors = axes.varied();
        factors.retain(|factor| !named.contains(factor));
        Columns { factors }
    }

    /// Names of the columns.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.factors.iter().map(|factor| factor.name().to_owned())
    }

    /// Cells of a point.
    pub fn cells(&self, point: &Point) -> Vec<String> {
        let cells = self.factors.iter().map(|factor| factor.text(point));
        cells.map(|text| text.unwrap_or("-").to_owned()).collect()
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        self.factors.len()
    }

    /// The cells of a record, each followed by a blank: how its run is named below the table.
    pub fn prefix(&self, record: &RunRecord) -> String {
        let cells = self.factors.iter().map(|factor| {
            let value = factor.text(&record.point).unwrap_or("-");
            format!("{factor} {value}, ")
        });
        cells.collect()
    }
}
