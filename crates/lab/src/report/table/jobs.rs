//! IOPS and p99 latency of each job of a point, to compare the tenants of a drive.

use super::{Parts, Row, TableMaker, Value, counts::plain};
use crate::report::data::Cell;
use crate::report::figure::{name, names};
use crate::report::words;
use joulio_workload::{BlockSizes, JobCounts};

impl TableMaker<'_> {
    pub(super) fn jobs(&self) -> Result<Parts, String> {
        let spec = self.spec;
        let cells = self.cells();
        let columns = names(&cells, spec.columns.values());
        let mut rows = Vec::new();
        for row in names(&cells, spec.rows.values()) {
            let of_row = cells.iter().copied();
            let of_row =
                of_row.filter(|cell| name(cell, spec.rows.values()).as_ref() == Some(&row));
            let of_row: Vec<&Cell> = of_row.collect();
            let mut under = Vec::new();
            for column in &columns {
                let here = of_row.iter().copied();
                let mut here =
                    here.filter(|c| name(c, spec.columns.values()).as_ref() == Some(column));
                under.push(here.next());
                if here.next().is_some() {
                    return Err(format!("several points fall into the row {row}"));
                }
            }
            let all = under.iter().flatten().flat_map(|cell| &cell.runs);
            let counts = all.filter_map(|run| run.result.counts.as_ref());
            let jobs = counts.map(|counts| counts.per_job.as_slice());
            let Some(jobs) = jobs.max_by_key(|jobs| jobs.len()) else {
                continue;
            };
            for (index, job) in jobs.iter().enumerate() {
                let of = |cell: &Option<&Cell>, value: fn(&JobCounts) -> f64| {
                    let estimate = cell.and_then(|cell| cell.of_job(index, value));
                    estimate.map_or(Value::None, |found| Value::Mean(plain(&found)))
                };
                let figures: [fn(&JobCounts) -> f64; 2] =
                    [|job| job.iops, |job| job.p99_ns as f64 / 1e3];
                let values = under
                    .iter()
                    .flat_map(|cell| figures.map(|figure| of(cell, figure)));
                let first = of_row.first().into_iter();
                let heads = first.flat_map(|cell| {
                    let rows = spec.rows.values().iter();
                    rows.filter_map(|factor| cell.factor(factor))
                });
                let job = format!("{} ({})", index + 1, BlockSizes::from(job.bs));
                rows.push(Row {
                    heads: heads.chain([job]).collect(),
                    cells: values.collect(),
                });
            }
        }
        let titles = columns.iter().flat_map(|column| {
            ["IOPS", "p99 latency, µs"].map(|what| match column.is_empty() {
                true => what.to_owned(),
                false => format!("{column}: {what}"),
            })
        });
        let heads = spec.rows.values().iter();
        let heads = heads.map(|factor| words::factor(factor).to_owned());
        Ok((
            heads.chain(["job".to_owned()]).collect(),
            titles.collect(),
            rows,
        ))
    }
}
