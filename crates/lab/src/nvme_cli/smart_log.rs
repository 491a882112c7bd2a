//! `nvme smart-log`: the SMART / Health Information log page (Base figure 207).

use super::scale;
use crate::inspect::{SmartUnit, smart_fields};
use joulio_nvme_spec::log::SmartHealth;

/// Returns the text of `nvme smart-log` for the controller `device`, such as `nvme0`.
pub fn text(log: &SmartHealth, device: &str) -> String {
    let mut out = format!("Smart Log for NVME device:{device} namespace-id:ffffffff\n");
    for one in smart_fields(log) {
        let label = label(&one.label);
        let value = one.field.text();
        out += &match one.unit {
            SmartUnit::None => format!("{label}: {value}\n"),
            SmartUnit::Percent => format!("{label}: {value}%\n"),
            SmartUnit::Kelvin(kelvin) => format!(
                "{label}: {}°C ({kelvin} Kelvin)\n",
                i32::from(kelvin) - FREEZING
            ),
            SmartUnit::DataUnits(n) => {
                let (scaled, prefix) = scale::si(n.saturating_mul(DATA_UNIT));
                format!("{label}: {value} ({scaled:.2} {prefix}B)\n")
            }
        };
    }
    out
}

/// 0 degrees Celsius in kelvins, rounded as nvme-cli rounds it.
const FREEZING: i32 = 273;

/// Bytes of a data unit: a thousand times 512.
const DATA_UNIT: u128 = 512_000;

/// Width of the labels' column.
const WIDTH: usize = 40;
/// Distance between two tab stops.
const TAB: usize = 8;

/// Aligns a label as nvme-cli does: with tabs, except that a sensor's is aligned with spaces.
fn label(label: &str) -> String {
    if label.starts_with("Temperature Sensor") {
        return format!("{label:<31}");
    }
    let tabs = (WIDTH - label.len().min(WIDTH)).div_ceil(TAB);
    label.to_owned() + &"\t".repeat(tabs)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, structure};
    use super::*;
    use crate::inspect::smart_json;

    const RAW: &[u8] = include_bytes!("../../tests/golden/smart-log.bin");

    #[test]
    fn the_text_is_nvme_clis_byte_for_byte() {
        let golden = include_str!("../../tests/golden/smart-log.txt");
        assert_eq!(text(&structure(RAW), "nvme0"), golden);
    }

    #[test]
    fn the_json_is_nvme_clis() {
        let golden = include_str!("../../tests/golden/smart-log.json");
        assert_eq!(smart_json(&structure(RAW)), parsed(golden));
    }

    #[test]
    fn a_made_up_log_with_large_counts_and_six_sensors_reads_as_in_nvme_cli() {
        let log = structure(include_bytes!("../../tests/golden/smart-log-made-up.bin"));
        let golden = include_str!("../../tests/golden/smart-log-made-up.txt");
        assert_eq!(text(&log, "null"), golden);
        let golden = include_str!("../../tests/golden/smart-log-made-up.json");
        assert_eq!(smart_json(&log), parsed(golden));
    }

    #[test]
    fn an_impossible_count_of_data_units_is_shown_and_does_not_overflow() {
        let mut log: SmartHealth = structure(RAW);
        log.data_units_read = u128::MAX.into();
        assert!(text(&log, "nvme0").contains(": 340282366920938463463374607431768211455 ("));
    }
}
