//! Results of a sweep as CSV, with a line for each run and a column for each factor or metric.

use crate::record::RunRecord;
use joulio_workload::Metric;
use std::collections::BTreeSet;

/// Formats the results of `records`. The columns are the factors, then the effective completion mode, then each metric
/// that some run has, named as in `joulio lab`; a value that a run does not have is empty.
pub fn sweep_csv(records: &[&RunRecord]) -> String {
    let factors: BTreeSet<&str> = records
        .iter()
        .flat_map(|record| record.point.keys().map(String::as_str))
        .collect();
    let metrics = Metric::all().into_iter().filter(|(metric, _)| {
        // An energy metric without a boundary repeats the one at the widest boundary.
        let of_a_boundary = !matches!(metric, Metric::Energy(_, None));
        of_a_boundary && records.iter().any(|one| metric.of(&one.result).is_some())
    });
    let metrics: Vec<_> = metrics.collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fixed = [
        "replicate",
        "effective",
        "modelled",
        "spoiled",
        "ios",
        "errors",
    ];
    let header = factors.iter().copied().chain(fixed);
    let header = header
        .map(str::to_owned)
        .chain(metrics.iter().flat_map(|(metric, name)| {
            let modelled = matches!(metric, Metric::Energy(..)).then(|| format!("{name}_modelled"));
            std::iter::once(name.clone()).chain(modelled)
        }));
    let mut rows = vec![header.collect::<Vec<_>>()];
    for record in records {
        let result = &record.result;
        let all = result.counts.as_ref().map(|counts| &counts.all);
        let mut row: Vec<String> = factors
            .iter()
            .map(|factor| record.point.get(*factor).cloned().unwrap_or_default())
            .collect();
        row.extend([
            record.replicate.to_string(),
            result.completion.effective.clone().unwrap_or_default(),
            result.modelled.to_string(),
            (!result.spoiled.is_empty()).to_string(),
            all.map(|all| all.ios.to_string()).unwrap_or_default(),
            all.map(|all| all.errors.to_string()).unwrap_or_default(),
        ]);
        for (metric, _) in &metrics {
            let value = metric.of(result);
            row.push(
                value
                    .as_ref()
                    .map(|it| it.value.to_string())
                    .unwrap_or_default(),
            );
            if matches!(metric, Metric::Energy(..)) {
                row.push(value.map(|it| it.modelled.to_string()).unwrap_or_default());
            }
        }
        rows.push(row);
    }
    // Writing to memory cannot fail.
    for row in rows {
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::run;
    use joulio_workload::CompletionMode;

    #[test]
    fn a_run_is_a_line_and_a_figure_that_it_lacks_is_empty() {
        let one = run(CompletionMode::Poll, 1, 1, 100_000.0, 50.0);
        let mut none = run(CompletionMode::Poll, 2, 1, 100_000.0, 50.0);
        none.result.counts = None;
        let text = sweep_csv(&[&one, &none]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().expect("a header").clone();
        let at = |name: &str| header.iter().position(|it| it == name).expect(name);
        let rows: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), 2);
        let jobs = at("numjobs");
        assert_eq!((&rows[0][jobs], &rows[1][jobs]), ("1", "2"));
        assert_eq!(&rows[0][at("ios")], "1000");
        assert!(
            rows[0][at("iops")]
                .parse::<f64>()
                .is_ok_and(|iops| iops > 0.0)
        );
        assert_eq!(&rows[0][at("wall_watts_modelled")], "true");
        assert_eq!(&rows[1][at("iops")], "");
    }
}
