//! `nvme smart-log`: the SMART / Health Information log page (Base figure 207).

use super::field::{PrintedField, bits, decimal};
use super::scale;
use joulio_nvme_spec::log::SmartHealth;
use serde_json::{Map, Value};

/// Returns the text of `nvme smart-log` for the controller `device`, as in `nvme0`.
pub fn text(log: &SmartHealth, device: &str) -> String {
    let mut out = format!("Smart Log for NVME device:{device} namespace-id:ffffffff\n");
    for row in rows(log) {
        let label = row.label;
        let value = row.field.text();
        out += &match row.unit {
            Unit::None => format!("{label}: {value}\n"),
            Unit::Percent => format!("{label}: {value}%\n"),
            Unit::Kelvin(kelvin) => format!(
                "{label}: {}°C ({kelvin} Kelvin)\n",
                i32::from(kelvin) - FREEZING
            ),
            Unit::DataUnits(n) => {
                let (scaled, prefix) = scale::si(n.saturating_mul(DATA_UNIT));
                format!("{label}: {value} ({scaled:.2} {prefix}B)\n")
            }
        };
    }
    out
}

/// Returns the JSON of `nvme smart-log -o json`.
pub fn json(log: &SmartHealth) -> Value {
    let rows = rows(log);
    let members = rows.iter().map(|row| (row.key.clone(), row.field.json()));
    Value::Object(members.collect::<Map<_, _>>())
}

/// 0 degrees Celsius in kelvins, rounded as nvme-cli rounds it.
const FREEZING: i32 = 273;

/// Bytes of a data unit: a thousand of 512.
const DATA_UNIT: u128 = 512_000;

struct Row {
    /// Label with the tabs of nvme-cli.
    label: String,
    key: String,
    field: PrintedField,
    unit: Unit,
}

enum Unit {
    None,
    Percent,
    Kelvin(u16),
    DataUnits(u128),
}

fn row(label: &str, key: &str, field: PrintedField) -> Row {
    Row {
        label: label.to_owned(),
        key: key.to_owned(),
        field,
        unit: Unit::None,
    }
}

fn percent(label: &str, key: &str, n: u8) -> Row {
    Row {
        unit: Unit::Percent,
        ..row(label, key, decimal(n))
    }
}

fn kelvin(label: &str, key: &str, n: u16) -> Row {
    Row {
        unit: Unit::Kelvin(n),
        ..row(label, key, decimal(n))
    }
}

fn data_units(label: &str, key: &str, n: u128) -> Row {
    Row {
        unit: Unit::DataUnits(n),
        ..row(label, key, PrintedField::Wide(n))
    }
}

fn wide(label: &str, key: &str, n: u128) -> Row {
    row(label, key, PrintedField::Wide(n))
}

fn rows(log: &SmartHealth) -> Vec<Row> {
    let mut rows = Vec::from(conditions(log));
    rows.extend(counts(log));
    rows.extend(temperatures(log));
    rows.extend(thermal_management(log));
    rows
}

fn conditions(log: &SmartHealth) -> [Row; 6] {
    [
        row(
            "critical_warning\t\t\t",
            "critical_warning",
            bits(log.critical_warning),
        ),
        kelvin(
            "temperature\t\t\t\t",
            "temperature",
            log.composite_temperature.get(),
        ),
        percent(
            "available_spare\t\t\t\t",
            "avail_spare",
            log.available_spare,
        ),
        percent(
            "available_spare_threshold\t\t",
            "spare_thresh",
            log.available_spare_threshold,
        ),
        percent(
            "percentage_used\t\t\t\t",
            "percent_used",
            log.percentage_used,
        ),
        row(
            "endurance group critical warning summary",
            "endurance_grp_critical_warning_summary",
            bits(log.endurance_group_critical_warning),
        ),
    ]
}

fn counts(log: &SmartHealth) -> [Row; 10] {
    [
        data_units(
            "Data Units Read\t\t\t\t",
            "data_units_read",
            log.data_units_read.get(),
        ),
        data_units(
            "Data Units Written\t\t\t",
            "data_units_written",
            log.data_units_written.get(),
        ),
        wide(
            "host_read_commands\t\t\t",
            "host_read_commands",
            log.host_read_commands.get(),
        ),
        wide(
            "host_write_commands\t\t\t",
            "host_write_commands",
            log.host_write_commands.get(),
        ),
        wide(
            "controller_busy_time\t\t\t",
            "controller_busy_time",
            log.controller_busy_time.get(),
        ),
        wide(
            "power_cycles\t\t\t\t",
            "power_cycles",
            log.power_cycles.get(),
        ),
        wide(
            "power_on_hours\t\t\t\t",
            "power_on_hours",
            log.power_on_hours.get(),
        ),
        wide(
            "unsafe_shutdowns\t\t\t",
            "unsafe_shutdowns",
            log.unsafe_shutdowns.get(),
        ),
        wide(
            "media_errors\t\t\t\t",
            "media_errors",
            log.media_errors.get(),
        ),
        wide(
            "num_err_log_entries\t\t\t",
            "num_err_log_entries",
            log.error_log_entries.get(),
        ),
    ]
}

/// The times above the thresholds, and the sensors that are there.
fn temperatures(log: &SmartHealth) -> Vec<Row> {
    let mut rows = vec![
        row(
            "Warning Temperature Time\t\t",
            "warning_temp_time",
            decimal(log.warning_temperature_time.get()),
        ),
        row(
            "Critical Composite Temperature Time\t",
            "critical_comp_time",
            decimal(log.critical_temperature_time.get()),
        ),
    ];
    for (number, sensor) in (1..).zip(&log.temperature_sensors) {
        if sensor.get() != 0 {
            let label = format!("Temperature Sensor {number}           ");
            let key = format!("temperature_sensor_{number}");
            rows.push(kelvin(&label, &key, sensor.get()));
        }
    }
    rows
}

fn thermal_management(log: &SmartHealth) -> [Row; 4] {
    [
        row(
            "Thermal Management T1 Trans Count\t",
            "thm_temp1_trans_count",
            decimal(log.thermal_transitions_1.get()),
        ),
        row(
            "Thermal Management T2 Trans Count\t",
            "thm_temp2_trans_count",
            decimal(log.thermal_transitions_2.get()),
        ),
        row(
            "Thermal Management T1 Total Time\t",
            "thm_temp1_total_time",
            decimal(log.thermal_time_1.get()),
        ),
        row(
            "Thermal Management T2 Total Time\t",
            "thm_temp2_total_time",
            decimal(log.thermal_time_2.get()),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, structure};
    use super::*;

    const RAW: &[u8] = include_bytes!("../../tests/golden/smart-log.bin");

    #[test]
    fn the_text_is_nvme_clis_byte_for_byte() {
        let golden = include_str!("../../tests/golden/smart-log.txt");
        assert_eq!(text(&structure(RAW), "nvme0"), golden);
    }

    #[test]
    fn the_json_is_nvme_clis() {
        let golden = include_str!("../../tests/golden/smart-log.json");
        assert_eq!(json(&structure(RAW)), parsed(golden));
    }

    #[test]
    fn a_made_up_log_with_large_counts_and_six_sensors_reads_as_in_nvme_cli() {
        let log = structure(include_bytes!("../../tests/golden/smart-log-made-up.bin"));
        let golden = include_str!("../../tests/golden/smart-log-made-up.txt");
        assert_eq!(text(&log, "null"), golden);
        let golden = include_str!("../../tests/golden/smart-log-made-up.json");
        assert_eq!(json(&log), parsed(golden));
    }

    #[test]
    fn an_impossible_count_of_data_units_is_shown_and_does_not_overflow() {
        let mut log: SmartHealth = structure(RAW);
        log.data_units_read = u128::MAX.into();
        assert!(text(&log, "nvme0").contains(": 340282366920938463463374607431768211455 ("));
    }
}
