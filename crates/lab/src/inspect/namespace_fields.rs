//! Identify Namespace (NVM figure 97), field by field.

use super::field::{NvmeField, bits, decimal, digits};
use joulio_nvme_spec::identify::{IdentifyNamespace, LbaFormat};
use serde_json::{Map, Value, json};

/// Returns Identify Namespace in the format of `nvme id-ns -o json`. LBA formats that are unique to the namespace are
/// only in the text.
pub fn namespace_json(namespace: &IdentifyNamespace) -> Value {
    let fields = namespace_fields(namespace).into_iter();
    let mut out: Map<_, _> = fields
        .map(|(name, field)| (name.to_owned(), field.json()))
        .collect();
    let formats = formats(namespace, 0)
        .iter()
        .map(|format| json!({ "ms": format.ms.get(), "ds": format.lbads, "rp": format.rp }));
    out.insert("lbafs".to_owned(), formats.collect());
    Value::Object(out)
}

/// Returns the LBA formats of the namespace, including those that are unique to it, but at most the 64 that the
/// structure has room for.
pub fn lba_formats(namespace: &IdentifyNamespace) -> &[LbaFormat] {
    formats(namespace, nulbaf(namespace))
}

/// Returns the LBA formats that the namespace reports, and `more` after them.
fn formats(ns: &IdentifyNamespace, more: u8) -> &[LbaFormat] {
    let count = usize::from(ns.nlbaf) + 1 + usize::from(more);
    &ns.lbaf[..count.min(ns.lbaf.len())]
}

/// NULBAF, byte 82: the number of unique LBA formats.
fn nulbaf(ns: &IdentifyNamespace) -> u8 {
    ns.reserved81[1]
}

/// NSFEAT bit 4: the fields NPWG, NPWA, NPDG, NPDA and NOWS are defined.
const OPTPERF: u8 = 1 << 4;

/// Returns the fields of Identify Namespace (NVM figure 97) that the namespace defines, in their order, with nvme-cli's
/// names, except the LBA formats.
pub fn namespace_fields(ns: &IdentifyNamespace) -> Vec<(&'static str, NvmeField)> {
    let mut fields = all_fields(ns);
    if ns.nsfeat & OPTPERF == 0 {
        fields.retain(|(name, _)| !["npwg", "npwa", "npdg", "npda", "nows"].contains(name));
    }
    fields
}

fn all_fields(ns: &IdentifyNamespace) -> Vec<(&'static str, NvmeField)> {
    vec![
        ("nsze", bits(ns.nsze.get())),
        ("ncap", bits(ns.ncap.get())),
        ("nuse", bits(ns.nuse.get())),
        ("nsfeat", bits(ns.nsfeat)),
        ("nlbaf", decimal(ns.nlbaf)),
        ("flbas", bits(ns.flbas)),
        ("mc", bits(ns.mc)),
        ("dpc", bits(ns.dpc)),
        ("dps", bits(ns.dps)),
        ("nmic", bits(ns.nmic)),
        ("rescap", bits(ns.rescap)),
        ("fpi", bits(ns.fpi)),
        ("dlfeat", decimal(ns.dlfeat)),
        ("nawun", decimal(ns.nawun.get())),
        ("nawupf", decimal(ns.nawupf.get())),
        ("nacwu", decimal(ns.nacwu.get())),
        ("nabsn", decimal(ns.nabsn.get())),
        ("nabo", decimal(ns.nabo.get())),
        ("nabspf", decimal(ns.nabspf.get())),
        ("noiob", decimal(ns.noiob.get())),
        ("nvmcap", NvmeField::Wide(ns.nvmcap.get())),
        ("npwg", decimal(ns.npwg.get())),
        ("npwa", decimal(ns.npwa.get())),
        ("npdg", decimal(ns.npdg.get())),
        ("npda", decimal(ns.npda.get())),
        ("nows", decimal(ns.nows.get())),
        ("mssrl", decimal(ns.mssrl.get())),
        ("mcl", decimal(ns.mcl.get())),
        ("msrc", decimal(ns.msrc)),
        ("nulbaf", decimal(nulbaf(ns))),
        ("anagrpid", decimal(ns.anagrpid.get())),
        ("nsattr", decimal(ns.nsattr)),
        ("nvmsetid", decimal(ns.nvmsetid.get())),
        ("endgid", decimal(ns.endgid.get())),
        ("nguid", NvmeField::Text(digits(&ns.nguid))),
        ("eui64", NvmeField::Text(digits(&ns.eui64))),
    ]
}
