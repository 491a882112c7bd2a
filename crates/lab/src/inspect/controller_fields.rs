//! Identify Controller (Base figure 275), field by field.

use super::field::{NvmeField, ascii, bits, decimal, digits};
use joulio_nvme_spec::identify::{IdentifyController, PowerStateDescriptor};
use serde_json::{Map, Value, json};

/// Returns Identify Controller in the format of `nvme id-ctrl -o json`.
pub fn controller_json(controller: &IdentifyController) -> Value {
    let fields = controller_fields(controller).into_iter();
    let mut out: Map<_, _> = fields
        .map(|(name, field)| (name.to_owned(), field.json()))
        .collect();
    let states = controller.power_states().iter().map(power_state_json);
    out.insert("psds".to_owned(), states.collect());
    Value::Object(out)
}

/// Returns a power state (Base figure 276) as an element of `psds`.
pub fn power_state_json(d: &PowerStateDescriptor) -> Value {
    json!({
        "max_power": d.mp.get(),
        "flags": d.flags,
        "entry_lat": d.enlat.get(),
        "exit_lat": d.exlat.get(),
        "read_tput": d.rrt,
        "read_lat": d.rrl,
        "write_tput": d.rwt,
        "write_lat": d.rwl,
        "idle_power": d.idlp.get(),
        "idle_scale": d.ips >> 6,
        "active_power": d.actp.get(),
        "active_power_work": d.active_workload(),
        "active_scale": d.apw_aps >> 6,
    })
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

/// Returns the fields of Identify Controller (Base figure 275) in their order, with nvme-cli's names, except the power
/// states.
pub fn controller_fields(c: &IdentifyController) -> Vec<(&'static str, NvmeField)> {
    vec![
        ("vid", bits(c.vid.get())),
        ("ssvid", bits(c.ssvid.get())),
        ("sn", ascii(&c.sn)),
        ("mn", ascii(&c.mn)),
        ("fr", ascii(&c.fr)),
        ("rab", decimal(c.rab)),
        ("ieee", NvmeField::Oui(oui(c.ieee))),
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
        ("fguid", NvmeField::Text(uuid(&c.fguid))),
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
        ("tnvmcap", NvmeField::Wide(c.tnvmcap.get())),
        ("unvmcap", NvmeField::Wide(c.unvmcap.get())),
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
        ("megcap", NvmeField::Wide(c.megcap.get())),
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
        ("maxdna", NvmeField::Wide(c.maxdna.get())),
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
