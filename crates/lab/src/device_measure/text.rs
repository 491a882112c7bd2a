//! Text of the file of rates, which `device_rates` reads.

use super::point::PointRuns;
use joulio_units::Direction;
use joulio_workload::BlockSizes;
use std::fmt::Write;

/// Returns the text of a CSV file with the median of each of `points`, after `notes`, one comment line each. The runs
/// of a point are listed in comments above it.
pub(super) fn rates_text(notes: &[String], points: &[PointRuns]) -> String {
    let mut text = String::new();
    for note in notes {
        let _ = writeln!(text, "# {}", crate::printable(note));
    }
    text.push_str("rw,bs,iodepth,numjobs,iops\n");
    for runs in points {
        let point = runs.point;
        let rw = match point.direction {
            Direction::Write => "randwrite",
            _ => "randread",
        };
        let [least, most] = runs.range().map(digits);
        let _ = write!(text, "# {} runs: {least} to {most}", runs.runs.len());
        if let Some(spoiled) = runs.spoiled() {
            let _ = write!(text, "; spoiled: {}", crate::printable(&spoiled.why));
        }
        let bs = BlockSizes::from(u64::from(point.bytes));
        let (iodepth, numjobs) = (point.iodepth, point.numjobs);
        let iops = digits(runs.median());
        let _ = writeln!(text, "\n{rw},{bs},{iodepth},{numjobs},{iops}");
    }
    text
}

/// Formats `rate` with its significant digits.
fn digits(rate: f64) -> String {
    match rate < 1_000.0 {
        true => format!("{rate:.3}"),
        false => format!("{rate:.0}"),
    }
}
