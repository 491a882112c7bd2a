//! What `joulio power-states` prints.

use super::port::Port;
use crate::failure::Failure;
use crate::nvme_cli::power_state;
use joulio_emulator::PowerUse;
use joulio_energy::Energy;
use joulio_host::power_states::PowerStatus;
use joulio_host::power_states::apst::Transition;
use joulio_host::power_states::coalescing::{completions, describe, microseconds};
use joulio_nvme::NvmeError;
use joulio_nvme_spec::log::PowerMeasurementLog;
use serde_json::{Value, json};
use std::fmt::Write;

/// A controller, and the state of its power.
pub struct Report {
    device: String,
    model: String,
    serial: String,
    status: PowerStatus,
    residency: Option<PowerUse>,
    /// What it drew while it was waited for, and the meter's notes; or why that is not known.
    pub measured: Option<Result<(Energy, Vec<String>), String>>,
}

impl Report {
    /// Asks.
    pub fn of(port: &Port) -> Result<Report, Failure> {
        let residency = port.power_use();
        Ok(Report {
            device: port.admin.name().into(),
            model: port.admin.model(),
            serial: port.admin.serial(),
            status: PowerStatus::read(&port.admin).map_err(Failure::run)?,
            residency,
            measured: None,
        })
    }

    /// Asks for log 25h once more.
    pub fn measure_again(&mut self, port: &Port) -> Result<(), NvmeError> {
        self.status.read_measurement(&port.admin)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("{}: {}, serial {}\n", self.device, self.model, self.serial);
        for (index, state) in self.status.identity.power_states().iter().enumerate() {
            out += &power_state::text(index, state);
        }
        let mut line = |name: &str, text: String| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{name:<18}: {text}");
        };
        let (ps, wh) = (self.status.current.ps(), self.status.current.wh());
        line("current", format!("ps {ps}, workload hint {wh}"));
        match &self.status.apst {
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
        let coalescing = self.status.coalescing.map(describe);
        line("coalescing", coalescing.unwrap_or(NOT_SUPPORTED.into()));
        line(
            "interval power",
            match self.status.interval_power {
                Some(watts) => format!("{:.4} W in the latest second (SMART log)", watts.0),
                None => "not reported (SMART log)".into(),
            },
        );
        line(
            "power measurement",
            match &self.status.measurement {
                Some(log) => measured(log),
                None => NOT_SUPPORTED.into(),
            },
        );
        match &self.measured {
            None => {}
            Some(Ok((energy, notes))) => line("energy", in_joules(energy, notes)),
            Some(Err(why)) => line("energy", why.clone()),
        }
        if let Some(found) = &self.residency {
            for (ps, time) in found.residency.iter().enumerate() {
                if time.0 > 0 {
                    let seconds = time.seconds();
                    line(&format!("residency ps {ps}"), format!("{seconds:.6} s"));
                }
            }
        }
        out
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let states = self.status.identity.power_states();
        let psds: Vec<_> = states.iter().map(power_state::json).collect();
        json!({
            "device": self.device,
            "model": self.model,
            "serial": self.serial,
            "psds": psds,
            "current": { "ps": self.status.current.ps(), "workload_hint": self.status.current.wh() },
            "apst": self.status.apst.as_ref().map(|(enabled, table)| {
                json!({ "enabled": enabled, "transitions": table })
            }),
            "interrupt_coalescing": self.status.coalescing.map(|value| {
                json!({ "completions": completions(value), "microseconds": microseconds(value) })
            }),
            "interval_power_watts": self.status.interval_power.map(|watts| watts.0),
            "power_measurement": self.status.measurement.as_ref().map(log_json),
            "energy": self.measured.as_ref().map(|measured| match measured {
                Ok((energy, notes)) => energy_json(energy, notes),
                Err(why) => json!({ "joules": null, "why": why }),
            }),
            "residency_seconds": self.residency.map(|found| {
                let times = found.residency.iter().take(states.len());
                times.map(|time| time.seconds()).collect::<Vec<_>>()
            }),
        })
    }
}

const NOT_SUPPORTED: &str = "not supported by this device";

fn watts(microwatts: u64) -> f64 {
    microwatts as f64 / 1e6
}

fn in_words(transition: &Transition) -> String {
    let Transition { from, to, after_ms } = transition;
    format!("ps {from} to ps {to} after {after_ms} ms")
}

/// Log 25h in a line.
fn measured(log: &PowerMeasurementLog) -> String {
    let attributes = log.attributes();
    let count = log.count.get();
    let mean = log.average().microwatts().map(watts);
    let most = log.maximum().microwatts().map(watts);
    let mut text = match (mean, most) {
        (Some(mean), Some(most)) if count > 0 => {
            format!("mean {mean:.4} W, highest second {most:.4} W, over {count} s")
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

fn energy_json(energy: &Energy, notes: &[String]) -> Value {
    json!({
        "joules": energy.joules.0,
        "error_joules": energy.error.map(|error| error.0),
        "window_seconds": energy.window.seconds(),
        "watts": energy.watts().0,
        "boundary": energy.boundary,
        "source": energy.source,
        "modelled": energy.modelled,
        "idle_subtracted": energy.idle_subtracted,
        "notes": notes,
    })
}

fn log_json(log: &PowerMeasurementLog) -> Value {
    let attributes = log.attributes();
    json!({
        "generation": log.generation,
        "measuring": attributes.enabled(),
        "estimated": attributes.estimated(),
        "non_contiguous": attributes.non_contiguous(),
        "intervals": log.count.get(),
        "average_watts": log.average().microwatts().map(watts),
        "maximum_watts": log.maximum().microwatts().map(watts),
        "maximum_at_ms": log.maximum_at.milliseconds(),
        "stopped_at_ms": log.stopped.milliseconds(),
        "percent_error": log.percent_error(),
    })
}
