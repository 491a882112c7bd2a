//! Power states and features of a controller as JSON.

use super::PowerReport;
use crate::inspect::power_state_json;
use joulio_energy::Energy;
use joulio_host::power_states::coalescing::{completions, microseconds};
use joulio_nvme_spec::log::PowerMeasurementLog;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

impl Serialize for PowerReport {
    /// Serializes the report in the format of `joulio power-states -o json`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json(self).serialize(serializer)
    }
}

fn json(report: &PowerReport) -> Value {
    let states = report.status.identity.power_states();
    let psds: Vec<_> = states.iter().map(power_state_json).collect();
    json!({
        "device": report.device,
        "model": report.model,
        "serial": report.serial,
        "psds": psds,
        "current": { "ps": report.status.current.ps(), "workload_hint": report.status.current.wh() },
        "apst": report.status.apst.as_ref().map(|(enabled, table)| {
            json!({ "enabled": enabled, "transitions": table })
        }),
        "interrupt_coalescing": report.status.coalescing.map(|value| {
            json!({ "completions": completions(value), "microseconds": microseconds(value) })
        }),
        "interval_power_watts": report.status.interval_power.map(|watts| watts.0),
        "power_measurement": report.status.measurement.as_ref().map(log_json),
        "energy": report.measured.as_ref().map(|measured| match measured {
            Ok((energy, notes)) => energy_json(energy, notes),
            Err(why) => json!({ "joules": null, "why": why }),
        }),
        "residency_seconds": report.residency.map(|found| {
            let times = found.residency.iter().take(states.len());
            times.map(|time| time.seconds()).collect::<Vec<_>>()
        }),
    })
}

fn watts(microwatts: u64) -> f64 {
    microwatts as f64 / 1e6
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
