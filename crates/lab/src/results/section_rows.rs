//! Rows of runs: of one of several sections a row each, and one of all together.

use crate::record::RunRecord;
use std::borrow::Cow;

/// Name of the factor that parts the rows of a run of several sections.
pub const SECTION: &str = "section";

/// Names that are told, where sections are many.
const FEW: usize = 4;

/// Name of `sections` together: `a+b`, or the first and the number of the others.
pub fn section_name(sections: &[String]) -> String {
    match sections {
        [first, rest @ ..] if rest.len() >= FEW => format!("{first} and {} more", rest.len()),
        sections => sections.join("+"),
    }
}

/// Rows of `record`: itself, or the row of each of its sections and, last, the one of all together, which has the
/// energy. Where its jobs are `grouped`, the last is the only one.
pub fn rows(record: &RunRecord, grouped: bool) -> Vec<Cow<'_, RunRecord>> {
    let sections = &record.result.sections;
    if sections.is_empty() {
        return vec![Cow::Borrowed(record)];
    }
    let each = sections.iter().filter(|_| !grouped).map(|section| {
        let mut row = RunRecord {
            point: section.point.clone(),
            result: section.result.clone(),
            ..record.clone()
        };
        row.point.insert(SECTION.into(), section.section.clone());
        Cow::Owned(row)
    });
    let names: Vec<_> = sections.iter().map(|one| one.section.clone()).collect();
    let mut whole = record.clone();
    whole.point.insert(SECTION.into(), section_name(&names));
    each.chain([Cow::Owned(whole)]).collect()
}
