//! Rows of a grid as CSV.

use super::summary::joules_half;
use joulio_twin::grid::{GridCell, OracleJoules};
use std::io;

/// Formats `rows` as a CSV file, with a line for each policy in each cell.
///
/// # Errors
/// The rows cannot be written.
pub fn csv(rows: &[GridCell]) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "device",
        "load",
        "iodepth",
        "numjobs",
        "bs",
        "rwmixread",
        "mechanism",
        "boundary",
        "slo",
        "slo_of",
        "p99_noise",
        "p999_noise",
        "best",
        "ties",
        "margin",
        "oracle_completions_joules_per_io",
        "oracle_spending_joules_per_io",
        "oracle_everything_joules_per_io",
        "policy",
        "joules_per_io",
        "joules_ci95_half",
        "iops",
        "mean_ns",
        "p99_ns",
        "p999_ns",
        "cpu_ns_per_io",
        "neighbour_percent",
        "keeps",
        "modelled",
        "past_tdp_watts",
        "regret",
        "regret_oracle",
    ];
    writer.write_record(header)?;
    for row in rows {
        let (scenario, view) = (&row.scenario, &row.view);
        let number = |figure: Option<f64>| figure.map_or_else(String::new, |n| n.to_string());
        let oracle =
            |of: fn(&OracleJoules) -> f64| number(row.oracle_joules_per_io.as_ref().map(of));
        for one in &row.policies {
            let record = [
                scenario.device.clone(),
                scenario.load.to_string(),
                scenario.iodepth.to_string(),
                scenario.numjobs.to_string(),
                scenario.bs.to_string(),
                scenario.read_percent.to_string(),
                view.mechanism.to_string(),
                view.boundary.to_string(),
                row.slo_ns.to_string(),
                row.slo_of.clone().unwrap_or_default(),
                row.p99_noise.to_string(),
                row.p999_noise.to_string(),
                row.best.clone().unwrap_or_default(),
                row.ties.join(" "),
                number(row.margin),
                oracle(|one| one.completions),
                oracle(|one| one.spending),
                oracle(|one| one.everything),
                one.policy.clone(),
                one.joules_per_io.to_string(),
                number(joules_half(one)),
                one.iops.to_string(),
                one.mean_ns.to_string(),
                one.p99_ns.to_string(),
                one.p999_ns.to_string(),
                one.cpu_ns_per_io.to_string(),
                number(one.neighbour_percent),
                one.keeps.to_string(),
                "true".into(),
                number(one.past_tdp.map(|past| past.package_watts)),
                number(one.regret),
                number(one.regret_oracle),
            ];
            writer.write_record(record)?;
        }
    }
    let bytes = writer.into_inner().map_err(io::Error::other)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
