//! Factors that differ between runs, as columns of the table and as names in notes below it.

use super::section_rows::SECTION;
use crate::record::{Point, RunRecord};
use crate::sweep::{Axes, Factor};

/// Factors that are part of a run's name.
const NAMED: [Factor; 6] = [
    Factor::Engine,
    Factor::Completion,
    Factor::Scheduler,
    Factor::MaxCstate,
    Factor::Frequency,
    Factor::Coalescing,
];

/// Factors with more than one value that are not part of the runs' names.
#[derive(Clone, Debug, Default)]
pub struct Varied {
    /// True if runs have several sections.
    sections: bool,
    factors: Vec<Factor>,
}

impl Varied {
    /// Returns the factors that vary in `axes`.
    pub fn new(axes: &Axes) -> Varied {
        let mut factors = axes.varied();
        factors.retain(|factor| !NAMED.contains(factor));
        Varied {
            sections: false,
            factors,
        }
    }

    /// Returns the same factors with the section as an additional one.
    pub fn with_sections(self) -> Varied {
        Varied {
            sections: true,
            ..self
        }
    }

    /// Returns true if `factor` varies.
    pub(super) fn has(&self, factor: Factor) -> bool {
        self.factors.contains(&factor)
    }

    /// Returns the factors without `factor`.
    pub(super) fn without(&self, factor: Factor) -> Varied {
        let mut factors = self.factors.clone();
        factors.retain(|other| *other != factor);
        Varied {
            sections: self.sections,
            factors,
        }
    }

    /// Returns the names of the factors.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let section = self.sections.then_some(SECTION);
        let factors = self.factors.iter().map(|factor| factor.name());
        section.into_iter().chain(factors).map(str::to_owned)
    }

    /// Returns the values at `point`, one for each factor.
    pub fn values(&self, point: &Point) -> Vec<String> {
        let section = point.get(SECTION).map(String::as_str);
        let section = self.sections.then_some(section);
        let factors = self.factors.iter().map(|factor| factor.text(point));
        let values = section.into_iter().chain(factors);
        values.map(|text| text.unwrap_or("-").to_owned()).collect()
    }

    /// Returns the number of factors.
    pub fn count(&self) -> usize {
        self.factors.len() + usize::from(self.sections)
    }

    /// Returns a prefix that names the run of `record` in a sentence: `bs 4k, `.
    pub fn prefix(&self, record: &RunRecord) -> String {
        self.place(&record.point)
            .map_or_else(String::new, |place| place + ", ")
    }

    /// Describes the values at `point`: `bs 4k, iodepth 8`; `None` if nothing varies.
    pub fn place(&self, point: &Point) -> Option<String> {
        let words = self.names().zip(self.values(point));
        let words: Vec<_> = words
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
