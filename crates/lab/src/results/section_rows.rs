//! Rows of a run with several sections or reporting groups: one for each, and one for all together.

use crate::record::RunRecord;
use joulio_workload::section_name;
use std::borrow::Cow;

/// Name of the factor that distinguishes the rows of a run with several sections.
pub const SECTION: &str = "section";

/// Returns the rows of `record`: the record itself, or a row for each of its sections or reporting groups and a last
/// one for all together, which has the energy. If its jobs are `grouped`, only the last row is returned.
pub fn rows(record: &RunRecord, grouped: bool) -> Vec<Cow<'_, RunRecord>> {
    let sections = &record.result.sections;
    if sections.is_empty() {
        return vec![Cow::Borrowed(record)];
    }
    let parts = match record.result.reporting_groups.as_slice() {
        [] => sections,
        groups => groups,
    };
    let each = parts.iter().filter(|_| !grouped).map(|section| {
        let mut row = RunRecord {
            point: section.point.clone(),
            result: section.result.clone(),
            ..record.clone()
        };
        row.point.insert(SECTION.into(), section.section.clone());
        // What runs beside a section is a factor too, so that equal sections of different runs have different rows.
        let others = record.point.iter();
        let others = others.filter(|(name, value)| section.point.get(*name) != Some(value));
        let others: Vec<_> = others
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !others.is_empty() {
            row.point.insert("beside".into(), others.join(" "));
        }
        Cow::Owned(row)
    });
    let names: Vec<_> = sections.iter().map(|one| one.section.clone()).collect();
    let mut whole = record.clone();
    whole.point.insert(SECTION.into(), section_name(&names));
    each.chain([Cow::Owned(whole)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Point;
    use crate::record::sample::run;
    use joulio_workload::{CompletionMode, RunResult, SectionResult};

    /// Returns a run of two sections in `mode`; only the first section uses that mode.
    fn two(mode: CompletionMode) -> RunRecord {
        let record = run(mode, 1, 1, 100_000.0, 50.0);
        let section = |name: &str, completion: &str| {
            let factors = [("completion", completion), ("bs", "4k")];
            SectionResult {
                section: name.into(),
                point: factors
                    .map(|(name, value)| (name.into(), value.into()))
                    .into(),
                result: record.result.clone(),
            }
        };
        let sections = vec![section("a", &mode.to_string()), section("b", "interrupt")];
        let counts = record.result.counts.clone();
        RunRecord {
            point: Point::from([("completion".into(), mode.to_string())]),
            result: RunResult::of_sections(sections, Vec::new(), counts),
            ..record
        }
    }

    #[test]
    fn each_section_is_a_row_and_all_together_the_last() {
        let (poll, interrupt) = (two(CompletionMode::Poll), two(CompletionMode::Interrupt));
        let named = |record: &RunRecord, grouped: bool| -> Vec<String> {
            let rows = rows(record, grouped).into_iter();
            rows.map(|row| row.point[SECTION].clone()).collect()
        };
        assert_eq!(named(&poll, false), ["a", "b", "a+b"]);
        assert_eq!(named(&poll, true), ["a+b"]);
        // The second section is the same in both runs, but the section beside it differs.
        let second = |record: &RunRecord| rows(record, false)[1].point.clone();
        assert_ne!(second(&poll), second(&interrupt));
        assert_eq!(second(&poll)["beside"], "completion=poll");
        assert!(!rows(&poll, false)[0].point.contains_key("beside"));
        // With reporting groups, there is a row for each.
        let mut parted = poll.clone();
        parted.result.reporting_groups = poll.result.sections[1..].to_vec();
        assert_eq!(named(&parted, false), ["b", "a+b"]);
        let alone = run(CompletionMode::Poll, 1, 1, 100_000.0, 50.0);
        assert_eq!(*rows(&alone, true)[0], alone);
    }
}
