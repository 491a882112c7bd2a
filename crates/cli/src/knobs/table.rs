//! What `joulio knobs` prints.

use joulio_host::knobs::{Knob, KnobError, Knobs, cpu_latency};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// A setting.
pub struct Row {
    name: String,
    disk: Option<String>,
    /// Its value and what it can be; or why there is none.
    found: Result<(String, String), String>,
}

/// Every setting of the system whose file tree begins at `root`, and of `disk`.
pub fn rows(root: &Path, disk: Option<&str>) -> Vec<Row> {
    let knobs = Knobs::at(root);
    let all = Knob::all(disk).into_iter();
    let settings = all.map(|knob| Row {
        name: knob.name().into(),
        disk: knob.disk().map(Into::into),
        found: match knobs.read(&knob) {
            Ok(reading) => Ok((reading.value, reading.allowed.to_string())),
            Err(KnobError::Absent { why, .. }) => Err(why.to_string()),
            Err(error) => Err(error.to_string()),
        },
    });
    let latency = cpu_latency(root).map_err(|error| error.to_string());
    let latency = Row {
        name: "cpu_dma_latency".into(),
        disk: None,
        found: latency.map(|us| {
            (
                us.to_string(),
                "microseconds; 2000000000 is that nobody holds it".into(),
            )
        }),
    };
    settings.chain([latency]).collect()
}

/// For people.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        let text = match &row.found {
            Ok((value, allowed)) => format!("{value} ({allowed})"),
            Err(why) => format!("not here: {why}"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(out, "{:<18}: {text}", row.name);
    }
    out
}

/// For programs.
pub fn json(rows: &[Row]) -> Value {
    rows.iter()
        .map(|row| match &row.found {
            Ok((value, allowed)) => json!({
                "name": row.name, "disk": row.disk, "value": value, "allowed": allowed,
            }),
            Err(why) => json!({
                "name": row.name, "disk": row.disk, "value": null, "reason": why,
            }),
        })
        .collect()
}
