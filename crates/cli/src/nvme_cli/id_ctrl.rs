//! `nvme id-ctrl`: the Identify Controller data structure (Base figure 275).

use super::field::{PrintedField, ascii, bits, decimal, digits};
use super::power_state;
use joulio_nvme_spec::identify::{IdentifyController, PowerStateDescriptor};
use serde_json::{Map, Value};

/// Returns the text of `nvme id-ctrl`.
pub fn text(controller: &IdentifyController) -> String {
    let mut out = String::from("NVME Identify Controller:\n");
    for (name, field) in fields(controller) {
        out += &format!("{name:<10}: {}\n", field.text());
    }
    for (index, state) in power_states(controller).iter().enumerate() {
        out += &power_state::text(index, state);
    }
    out
}

/// Returns the JSON of `nvme id-ctrl -o json`.
pub fn json(controller: &IdentifyController) -> Value {
    let mut out = Map::new();
    for (name, field) in fields(controller) {
        out.insert(name.to_owned(), field.json());
    }
    let states = power_states(controller).iter().map(power_state::json);
    out.insert("psds".to_owned(), states.collect());
    Value::Object(out)
}

/// The power states that the controller says it has, at most the 32 that there is room for.
fn power_states(c: &IdentifyController) -> &[PowerStateDescriptor] {
    let count = usize::from(c.npss) + 1;
    &c.psd[..count.min(c.psd.len())]
}

fn oui([low, middle, high]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, high, middle, low])
}

fn uuid(bytes: &[u8; 16]) -> String {
    let groups = [
        &bytes[..4],
        &bytes[4..6],
        &bytes[6..8],
        &bytes[8..10],
        &bytes[10..],
    ];
    groups.map(digits).join("-")
}

fn fields(c: &IdentifyController) -> Vec<(&'static str, PrintedField)> {
    vec![
        ("vid", bits(c.vid.get())),
        ("ssvid", bits(c.ssvid.get())),
        ("sn", ascii(&c.sn)),
        ("mn", ascii(&c.mn)),
        ("fr", ascii(&c.fr)),
        ("rab", decimal(c.rab)),
        ("ieee", PrintedField::Oui(oui(c.ieee))),
        ("cmic", bits(c.cmic)),
        ("mdts", decimal(c.mdts)),
        ("cntlid", bits(c.cntlid.get())),
        ("ver", bits(c.ver.get())),
        ("rtd3r", bits(c.rtd3r.get())),
        ("rtd3e", bits(c.rtd3e.get())),
        ("oaes", bits(c.oaes.get())),
        ("ctratt", bits(c.ctratt.get())),
        ("rrls", bits(c.rrls.get())),
        ("cntrltype", decimal(c.cntrltype)),
        ("fguid", PrintedField::Text(uuid(&c.fguid))),
        ("crdt1", decimal(c.crdt[0].get())),
        ("crdt2", decimal(c.crdt[1].get())),
        ("crdt3", decimal(c.crdt[2].get())),
        ("nvmsr", decimal(c.nvmsr)),
        ("vwci", decimal(c.vwci)),
        ("mec", decimal(c.mec)),
        ("oacs", bits(c.oacs.get())),
        ("acl", decimal(c.acl)),
        ("aerl", decimal(c.aerl)),
        ("frmw", bits(c.frmw)),
        ("lpa", bits(c.lpa)),
        ("elpe", decimal(c.elpe)),
        ("npss", decimal(c.npss)),
        ("avscc", bits(c.avscc)),
        ("apsta", bits(c.apsta)),
        ("wctemp", decimal(c.wctemp.get())),
        ("cctemp", decimal(c.cctemp.get())),
        ("mtfa", decimal(c.mtfa.get())),
        ("hmpre", decimal(c.hmpre.get())),
        ("hmmin", decimal(c.hmmin.get())),
        ("tnvmcap", PrintedField::Wide(c.tnvmcap.get())),
        ("unvmcap", PrintedField::Wide(c.unvmcap.get())),
        ("rpmbs", bits(c.rpmbs.get())),
        ("edstt", decimal(c.edstt.get())),
        ("dsto", decimal(c.dsto)),
        ("fwug", decimal(c.fwug)),
        ("kas", decimal(c.kas.get())),
        ("hctma", bits(c.hctma.get())),
        ("mntmt", decimal(c.mntmt.get())),
        ("mxtmt", decimal(c.mxtmt.get())),
        ("sanicap", bits(c.sanicap.get())),
        ("hmminds", decimal(c.hmminds.get())),
        ("hmmaxd", decimal(c.hmmaxd.get())),
        ("nsetidmax", decimal(c.nsetidmax.get())),
        ("endgidmax", decimal(c.endgidmax.get())),
        ("anatt", decimal(c.anatt)),
        ("anacap", decimal(c.anacap)),
        ("anagrpmax", decimal(c.anagrpmax.get())),
        ("nanagrpid", decimal(c.nanagrpid.get())),
        ("pels", decimal(c.pels.get())),
        ("domainid", decimal(c.domainid.get())),
        ("megcap", PrintedField::Wide(c.megcap.get())),
        ("sqes", bits(c.sqes)),
        ("cqes", bits(c.cqes)),
        ("maxcmd", decimal(c.maxcmd.get())),
        ("nn", decimal(c.nn.get())),
        ("oncs", bits(c.oncs.get())),
        ("fuses", bits(c.fuses.get())),
        ("fna", bits(c.fna)),
        ("vwc", bits(c.vwc)),
        ("awun", decimal(c.awun.get())),
        ("awupf", decimal(c.awupf.get())),
        ("icsvscc", decimal(c.icsvscc)),
        ("nwpc", decimal(c.nwpc)),
        ("acwu", decimal(c.acwu.get())),
        ("ocfs", bits(c.ocfs.get())),
        ("sgls", bits(c.sgls.get())),
        ("mnan", decimal(c.mnan.get())),
        ("maxdna", PrintedField::Wide(c.maxdna.get())),
        ("maxcna", decimal(c.maxcna.get())),
        ("subnqn", ascii(&c.subnqn)),
        ("ioccsz", decimal(c.ioccsz.get())),
        ("iorcsz", decimal(c.iorcsz.get())),
        ("icdoff", decimal(c.icdoff.get())),
        ("fcatt", bits(c.fcatt)),
        ("msdbd", decimal(c.msdbd)),
        ("ofcs", decimal(c.ofcs.get())),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, structure};
    use super::*;

    const RAW: &[u8] = include_bytes!("../../tests/golden/id-ctrl.bin");

    #[test]
    fn the_text_is_nvme_clis_byte_for_byte() {
        let golden = include_str!("../../tests/golden/id-ctrl.txt");
        assert_eq!(text(&structure(RAW)), golden);
    }

    #[test]
    fn the_json_is_nvme_clis() {
        let golden = include_str!("../../tests/golden/id-ctrl.json");
        assert_eq!(json(&structure(RAW)), parsed(golden));
    }

    #[test]
    fn a_made_up_controller_with_ten_power_states_reads_as_in_nvme_cli() {
        let raw = include_bytes!("../../tests/golden/id-ctrl-made-up.bin");
        let golden = include_str!("../../tests/golden/id-ctrl-made-up.txt");
        assert_eq!(text(&structure(raw)), golden);
        let golden = include_str!("../../tests/golden/id-ctrl-made-up.json");
        assert_eq!(json(&structure(raw)), parsed(golden));
    }

    #[test]
    fn a_controller_that_claims_256_power_states_shows_32() {
        let mut controller: IdentifyController = structure(RAW);
        controller.npss = 255;
        assert_eq!(json(&controller)["psds"].as_array().unwrap().len(), 32);
    }

    #[test]
    fn no_escape_reaches_the_terminal() {
        let mut controller: IdentifyController = structure(RAW);
        controller.mn[..8].copy_from_slice(b"evil\x1b[2J");
        controller.subnqn[..5].copy_from_slice(b"\x07nqn.");
        assert!(text(&controller).contains("mn        : evil\n"));
        assert!(text(&controller).contains("subnqn    : \n"));
        assert_eq!(json(&controller)["mn"], "evil");
    }
}
