//! `joulio power --idle`: measures the power of the idle machine.

use super::Run;
use super::table;
use crate::Outcome;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::progress::bar;
use joulio_energy::Discovery;
use joulio_lab::ListedMeter;
use joulio_lab::idle::{IdleMeasurement, IdleResult};
use joulio_units::Nanos;

/// Largest fraction of the CPUs' time that is used on an idle machine.
const MAX_BUSY: f64 = 0.05;

/// Measures for `time`, and saves the result.
pub(super) fn measure(run: &Run<'_>, mut discovery: Discovery, time: Nanos) -> Outcome {
    let meters = &mut discovery.meters;
    let measurement = IdleMeasurement::new(&run.root, meters, run.args.file.as_deref())?;
    let bar = bar(time.0, "idle [{bar:40}] {percent:>3} %  {elapsed}");
    let result = measurement.run(meters, time, &run.stop, |part| {
        bar.set_position((part * time.0 as f64) as u64)
    });
    bar.finish_and_clear();
    let result = result?;
    // The measurement is shown even if the file could not be written.
    match run.args.output.format() {
        Format::Normal => print(&text(&result))?,
        Format::Json => print_json(&result.baseline)?,
    }
    result.kept.map(drop).map_err(Failure::run)
}

fn text(result: &IdleResult) -> String {
    let rows: Vec<_> = result.measured.iter().map(ListedMeter::measured).collect();
    let mut text = table::lines(&rows);
    for row in rows.iter().filter(|row| row.why.is_some()) {
        text.push_str(&format!(
            "{}: not kept: {}\n",
            row.name,
            row.why.as_deref().unwrap_or("")
        ));
    }
    if let Ok(path) = &result.kept {
        text.push_str(&format!("\nkept in {}\n", path.display()));
    }
    if let Some(busy) = result.busy.filter(|&busy| busy > MAX_BUSY) {
        text.push_str(&format!(
            "but the CPUs were {:.0} % busy meanwhile: stop what runs, and measure again\n",
            100.0 * busy
        ));
    }
    text
}
