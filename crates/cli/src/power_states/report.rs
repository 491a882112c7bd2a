//! Output of `joulio power-states`.

use joulio_energy::Energy;
use joulio_host::power_states::apst::ApstTransition;
use joulio_host::power_states::coalescing::describe;
use joulio_lab::nvme_cli::power_state;
use joulio_lab::power_states::PowerReport;
use joulio_nvme_spec::log::PowerMeasurementLog;
use std::fmt::Write;

/// Formats the report as text.
pub fn text(report: &PowerReport) -> String {
    let mut out = format!(
        "{}: {}, serial {}\n",
        report.device, report.model, report.serial
    );
    for (index, state) in report.status.identity.power_states().iter().enumerate() {
        out += &power_state::text(index, state);
    }
    let mut line = |name: &str, text: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<18}: {text}");
    };
    let (ps, wh) = (report.status.current.ps(), report.status.current.wh());
    line("current", format!("ps {ps}, workload hint {wh}"));
    match &report.status.apst {
        None => line("apst", NOT_SUPPORTED.into()),
        Some((on, table)) => {
            let state = if *on { "enabled" } else { "disabled" };
            let table: Vec<_> = table.iter().map(in_words).collect();
            let table = if table.is_empty() {
                "no transitions".into()
            } else {
                table.join("; ")
            };
            line("apst", format!("{state}; {table}"));
        }
    }
    let coalescing = report.status.coalescing.map(describe);
    line("coalescing", coalescing.unwrap_or(NOT_SUPPORTED.into()));
    line(
        "interval power",
        match report.status.interval_power {
            Some(watts) => format!("{:.4} W in the latest second (SMART log)", watts.0),
            None => "not reported (SMART log)".into(),
        },
    );
    line(
        "power measurement",
        match &report.status.measurement {
            Some(log) => measured(log),
            None => NOT_SUPPORTED.into(),
        },
    );
    match &report.measured {
        None => {}
        Some(Ok((energy, notes))) => line("energy", in_joules(energy, notes)),
        Some(Err(why)) => line("energy", why.clone()),
    }
    if let Some(found) = &report.residency {
        for (ps, time) in found.residency.iter().enumerate() {
            if time.0 > 0 {
                let seconds = time.seconds();
                line(&format!("residency ps {ps}"), format!("{seconds:.6} s"));
            }
        }
    }
    out
}

const NOT_SUPPORTED: &str = "not supported by this device";

fn watts(microwatts: u64) -> f64 {
    microwatts as f64 / 1e6
}

fn in_words(transition: &ApstTransition) -> String {
    let ApstTransition { from, to, after_ms } = transition;
    format!("ps {from} to ps {to} after {after_ms} ms")
}

/// Describes log page 25h in one line.
fn measured(log: &PowerMeasurementLog) -> String {
    let attributes = log.attributes();
    let count = log.count.get();
    let mean = log.average().microwatts().map(watts);
    let max = log.maximum().microwatts().map(watts);
    let mut text = match (mean, max) {
        (Some(mean), Some(max)) if count > 0 => {
            format!("mean {mean:.4} W, highest second {max:.4} W, over {count} s")
        }
        _ => "nothing measured yet".into(),
    };
    text += if attributes.enabled() {
        "; measuring"
    } else {
        "; not measuring"
    };
    if attributes.estimated() {
        text += "; estimated by the device";
    }
    if let Some(percent) = log.percent_error() {
        let _ = write!(text, "; up to {percent} % wrong");
    }
    text
}

fn in_joules(energy: &Energy, notes: &[String]) -> String {
    let (joules, window) = (energy.joules.0, energy.window.seconds());
    let error = energy
        .error
        .map_or("unknown".into(), |error| format!("{:.4} J", error.0));
    let watts = energy.watts().0;
    let mut text = format!(
        "{joules:.4} J +- {error} in {window:.3} s, {watts:.4} W; boundary {}, source {}",
        energy.boundary, energy.source
    );
    for note in notes {
        let _ = write!(text, "; {note}");
    }
    text
}
