//! `nvme id-ctrl`: the Identify Controller data structure (Base figure 275).

use super::power_state;
use crate::inspect::controller_fields;
use joulio_nvme_spec::identify::IdentifyController;

/// Returns the text of `nvme id-ctrl`.
pub fn text(controller: &IdentifyController) -> String {
    let mut out = String::from("NVME Identify Controller:\n");
    for (name, field) in controller_fields(controller) {
        out += &format!("{name:<10}: {}\n", field.text());
    }
    for (index, state) in controller.power_states().iter().enumerate() {
        out += &power_state::text(index, state);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, structure};
    use super::*;
    use crate::inspect::controller_json;

    const RAW: &[u8] = include_bytes!("../../tests/golden/id-ctrl.bin");

    #[test]
    fn the_text_is_nvme_clis_byte_for_byte() {
        let golden = include_str!("../../tests/golden/id-ctrl.txt");
        assert_eq!(text(&structure(RAW)), golden);
    }

    #[test]
    fn the_json_is_nvme_clis() {
        let golden = include_str!("../../tests/golden/id-ctrl.json");
        assert_eq!(controller_json(&structure(RAW)), parsed(golden));
    }

    #[test]
    fn a_made_up_controller_with_ten_power_states_reads_as_in_nvme_cli() {
        let raw = include_bytes!("../../tests/golden/id-ctrl-made-up.bin");
        let golden = include_str!("../../tests/golden/id-ctrl-made-up.txt");
        assert_eq!(text(&structure(raw)), golden);
        let golden = include_str!("../../tests/golden/id-ctrl-made-up.json");
        assert_eq!(controller_json(&structure(raw)), parsed(golden));
    }

    #[test]
    fn a_controller_that_claims_256_power_states_shows_32() {
        let mut controller: IdentifyController = structure(RAW);
        controller.npss = 255;
        assert_eq!(
            controller_json(&controller)["psds"]
                .as_array()
                .unwrap()
                .len(),
            32
        );
    }

    #[test]
    fn no_escape_reaches_the_terminal() {
        let mut controller: IdentifyController = structure(RAW);
        controller.mn[..8].copy_from_slice(b"evil\x1b[2J");
        controller.subnqn[..5].copy_from_slice(b"\x07nqn.");
        assert!(text(&controller).contains("mn        : evil\n"));
        assert!(text(&controller).contains("subnqn    : \n"));
        assert_eq!(controller_json(&controller)["mn"], "evil");
    }
}
