//! SMART / Health Information log page (Base figure 207), field by field.

use super::field::{NvmeField, bits, decimal};
use joulio_nvme_spec::log::SmartHealth;
use serde_json::{Map, Value};

/// Field of the SMART log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmartField {
    /// Label in the text of nvme-cli.
    pub label: String,
    /// Key in the JSON of nvme-cli.
    pub key: String,
    /// Value in the log.
    pub field: NvmeField,
    /// Unit of the value.
    pub unit: SmartUnit,
}

/// Unit of a field of the SMART log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmartUnit {
    /// A count, minutes, hours or bits.
    None,
    /// Percent.
    Percent,
    /// Temperature in kelvins.
    Kelvin(u16),
    /// Thousands of 512 bytes.
    DataUnits(u128),
}

/// Returns the SMART log in the format of `nvme smart-log -o json`.
pub fn smart_json(log: &SmartHealth) -> Value {
    let fields = smart_fields(log).into_iter();
    let members = fields.map(|one| (one.key, one.field.json()));
    Value::Object(members.collect::<Map<_, _>>())
}

/// Returns the fields of the SMART log with nvme-cli's order and names; only the sensors that exist are included.
pub fn smart_fields(log: &SmartHealth) -> Vec<SmartField> {
    let mut all = conditions(log);
    all.extend(counts(log));
    all.extend(temperatures(log));
    all.extend(thermal_management(log));
    all
}

fn plain(label: &str, key: &str, field: NvmeField) -> SmartField {
    SmartField {
        label: label.to_owned(),
        key: key.to_owned(),
        field,
        unit: SmartUnit::None,
    }
}

fn percent(label: &str, key: &str, n: u8) -> SmartField {
    SmartField {
        unit: SmartUnit::Percent,
        ..plain(label, key, decimal(n))
    }
}

fn kelvin(label: &str, key: &str, n: u16) -> SmartField {
    SmartField {
        unit: SmartUnit::Kelvin(n),
        ..plain(label, key, decimal(n))
    }
}

fn data_units(label: &str, key: &str, n: u128) -> SmartField {
    SmartField {
        unit: SmartUnit::DataUnits(n),
        ..plain(label, key, NvmeField::Wide(n))
    }
}

fn conditions(log: &SmartHealth) -> Vec<SmartField> {
    let warning = "critical_warning";
    let endurance = "endurance group critical warning summary";
    let endurance_key = "endurance_grp_critical_warning_summary";
    let endurance_bits = bits(log.endurance_group_critical_warning);
    let threshold = log.available_spare_threshold;
    vec![
        plain(warning, warning, bits(log.critical_warning)),
        kelvin(
            "temperature",
            "temperature",
            log.composite_temperature.get(),
        ),
        percent("available_spare", "avail_spare", log.available_spare),
        percent("available_spare_threshold", "spare_thresh", threshold),
        percent("percentage_used", "percent_used", log.percentage_used),
        plain(endurance, endurance_key, endurance_bits),
    ]
}

fn counts(log: &SmartHealth) -> Vec<SmartField> {
    let data = [
        ("Data Units Read", "data_units_read", log.data_units_read),
        (
            "Data Units Written",
            "data_units_written",
            log.data_units_written,
        ),
    ];
    let others = [
        ("host_read_commands", log.host_read_commands),
        ("host_write_commands", log.host_write_commands),
        ("controller_busy_time", log.controller_busy_time),
        ("power_cycles", log.power_cycles),
        ("power_on_hours", log.power_on_hours),
        ("unsafe_shutdowns", log.unsafe_shutdowns),
        ("media_errors", log.media_errors),
        ("num_err_log_entries", log.error_log_entries),
    ];
    let data = data.map(|(label, key, n)| data_units(label, key, n.get()));
    let others = others.map(|(name, n)| plain(name, name, NvmeField::Wide(n.get())));
    data.into_iter().chain(others).collect()
}

/// Returns the times above the temperature thresholds, and the sensors that exist.
fn temperatures(log: &SmartHealth) -> Vec<SmartField> {
    let warning = decimal(log.warning_temperature_time.get());
    let critical = decimal(log.critical_temperature_time.get());
    let critical_label = "Critical Composite Temperature Time";
    let mut all = vec![
        plain("Warning Temperature Time", "warning_temp_time", warning),
        plain(critical_label, "critical_comp_time", critical),
    ];
    for (number, sensor) in (1..).zip(&log.temperature_sensors) {
        if sensor.get() != 0 {
            let label = format!("Temperature Sensor {number}");
            let key = format!("temperature_sensor_{number}");
            all.push(kelvin(&label, &key, sensor.get()));
        }
    }
    all
}

fn thermal_management(log: &SmartHealth) -> Vec<SmartField> {
    let all = [
        (
            "T1 Trans Count",
            "temp1_trans_count",
            log.thermal_transitions_1,
        ),
        (
            "T2 Trans Count",
            "temp2_trans_count",
            log.thermal_transitions_2,
        ),
        ("T1 Total Time", "temp1_total_time", log.thermal_time_1),
        ("T2 Total Time", "temp2_total_time", log.thermal_time_2),
    ];
    let all = all.map(|(label, key, n)| {
        let label = format!("Thermal Management {label}");
        plain(&label, &format!("thm_{key}"), decimal(n.get()))
    });
    all.into()
}
