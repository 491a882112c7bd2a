//! Machine-readable results: one document for all groups of a job file.

use super::args::BenchFormat;
use crate::Outcome;
use crate::output::{print_data, print_json};
use joulio_lab::experiment::Manifest;
use joulio_lab::record::RunRecord;
use joulio_lab::results::{SECTION, rows};
use joulio_lab::sweep::{SweepReport, sweep_csv, sweep_terse};
use joulio_workload::section_name;
use std::borrow::Cow;

/// Results of groups, which are printed when all are done.
#[derive(Default)]
pub(super) struct Report {
    manifest: Option<Manifest>,
    records: Vec<RunRecord>,
    /// Rows of the records: one for each of several sections, and one for all together.
    rows: Vec<RunRecord>,
}

impl Report {
    /// Adds the `records` of a group whose sections have these `names`; the command line's bench has an empty name.
    pub(super) fn add(
        &mut self,
        manifest: Manifest,
        records: &[&RunRecord],
        names: &[String],
        grouped: bool,
    ) {
        match &mut self.manifest {
            None => self.manifest = Some(manifest),
            Some(all) => all.join(manifest),
        }
        let before = self.records.iter().map(|record| record.order).max();
        for record in records {
            let mut record = (*record).clone();
            record.order += before.unwrap_or(0);
            let name = section_name(names);
            if !name.is_empty() {
                record.point.insert(SECTION.into(), name);
            }
            let own = rows(&record, grouped).into_iter();
            self.rows.extend(own.map(Cow::into_owned));
            self.records.push(record);
        }
    }

    /// Prints everything in the given `format`; nothing if there are no results.
    pub(super) fn print(&self, format: BenchFormat) -> Outcome {
        let Some(manifest) = &self.manifest else {
            return Ok(());
        };
        let rows: Vec<&RunRecord> = self.rows.iter().collect();
        match format {
            BenchFormat::Normal => Ok(()),
            BenchFormat::Json | BenchFormat::JsonPlus => {
                let records: Vec<_> = self.records.iter().collect();
                print_json(&SweepReport::new(manifest, &records))
            }
            BenchFormat::Terse => print_data(&sweep_terse(&rows)),
            BenchFormat::Csv => print_data(&sweep_csv(&rows)),
        }
    }
}

/// Returns `rows` by reference.
pub(super) fn borrowed<'a>(rows: &'a [Cow<'_, RunRecord>]) -> Vec<&'a RunRecord> {
    rows.iter().map(|row| &**row).collect()
}
