//! Output of `joulio knobs`.

use joulio_host::knobs::KnobListing;
use serde_json::{Value, json};
use std::fmt::Write;

/// For people.
pub fn text(rows: &[KnobListing]) -> String {
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
pub fn json(rows: &[KnobListing]) -> Value {
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
