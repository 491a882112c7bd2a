//! `nvme id-ns`: the Identify Namespace data structure (NVM figure 97).

use super::field::{PrintedField, bits, decimal, digits, hex};
use joulio_nvme_spec::identify::{IdentifyNamespace, LbaFormat};
use serde_json::{Map, Value, json};

/// Returns the text of `nvme id-ns` for namespace `nsid`.
pub fn text(namespace: &IdentifyNamespace, nsid: u32) -> String {
    let mut out = format!("NVME Identify Namespace {nsid}:\n");
    for (name, field) in fields(namespace) {
        // nvme-cli has a tab after this one.
        if name == "nsattr" {
            out += &format!("nsattr\t: {}\n", field.text());
        } else {
            out += &format!("{name:<8}: {}\n", field.text());
        }
    }
    let formats = formats(namespace, nulbaf(namespace));
    for (index, format) in formats.iter().enumerate() {
        let used = if index == namespace.format_index() {
            "(in use)"
        } else {
            ""
        };
        out += &format!(
            "lbaf {index:2} : ms:{:<3} lbads:{:<2} rp:{} {used}\n",
            format.ms.get(),
            format.lbads,
            hex(format.rp.into()),
        );
    }
    out
}

/// Returns the JSON of `nvme id-ns -o json`: the formats that are unique to the namespace are in
/// the text only.
pub fn json(namespace: &IdentifyNamespace) -> Value {
    let mut out = Map::new();
    for (name, field) in fields(namespace) {
        out.insert(name.to_owned(), field.json());
    }
    let formats = formats(namespace, 0)
        .iter()
        .map(|format| json!({ "ms": format.ms.get(), "ds": format.lbads, "rp": format.rp }));
    out.insert("lbafs".to_owned(), formats.collect());
    Value::Object(out)
}

/// The LBA formats that the namespace says it has and `more`, at most the 64 that there is room
/// for.
fn formats(ns: &IdentifyNamespace, more: u8) -> &[LbaFormat] {
    let count = usize::from(ns.nlbaf) + 1 + usize::from(more);
    &ns.lbaf[..count.min(ns.lbaf.len())]
}

/// NULBAF, byte 82: the number of unique LBA formats.
fn nulbaf(ns: &IdentifyNamespace) -> u8 {
    ns.reserved81[1]
}

/// NSFEAT bit 4: NPWG, NPWA, NPDG, NPDA and NOWS are defined.
const OPTPERF: u8 = 1 << 4;

/// The fields that the namespace defines.
fn fields(ns: &IdentifyNamespace) -> Vec<(&'static str, PrintedField)> {
    let mut fields = all_fields(ns);
    if ns.nsfeat & OPTPERF == 0 {
        fields.retain(|(name, _)| !["npwg", "npwa", "npdg", "npda", "nows"].contains(name));
    }
    fields
}

fn all_fields(ns: &IdentifyNamespace) -> Vec<(&'static str, PrintedField)> {
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
        ("nvmcap", PrintedField::Wide(ns.nvmcap.get())),
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
        ("nguid", PrintedField::Text(digits(&ns.nguid))),
        ("eui64", PrintedField::Text(digits(&ns.eui64))),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, structure};
    use super::*;

    #[test]
    fn namespaces_of_512_and_4096_byte_blocks_read_as_in_nvme_cli() {
        let raw = include_bytes!("../../tests/golden/id-ns-512.bin");
        let namespace = structure(raw);
        let golden = include_str!("../../tests/golden/id-ns-512.txt");
        assert_eq!(text(&namespace, 1), golden);
        let golden = include_str!("../../tests/golden/id-ns-512.json");
        assert_eq!(json(&namespace), parsed(golden));

        let raw = include_bytes!("../../tests/golden/id-ns-4096.bin");
        let namespace = structure(raw);
        let golden = include_str!("../../tests/golden/id-ns-4096.txt");
        assert_eq!(text(&namespace, 1), golden);
        let golden = include_str!("../../tests/golden/id-ns-4096.json");
        assert_eq!(json(&namespace), parsed(golden));
    }

    #[test]
    fn a_made_up_namespace_with_unique_formats_and_no_preferred_sizes_reads_as_in_nvme_cli() {
        let namespace = structure(include_bytes!("../../tests/golden/id-ns-made-up.bin"));
        let golden = include_str!("../../tests/golden/id-ns-made-up.txt");
        assert_eq!(text(&namespace, 1), golden);
        let golden = include_str!("../../tests/golden/id-ns-made-up.json");
        assert_eq!(json(&namespace), parsed(golden));
    }

    #[test]
    fn a_namespace_that_claims_more_formats_than_there_are_shows_64() {
        let raw = include_bytes!("../../tests/golden/id-ns-512.bin");
        let mut namespace: IdentifyNamespace = structure(raw);
        namespace.nlbaf = 255;
        assert_eq!(text(&namespace, 1).matches("lbads:").count(), 64);
        assert_eq!(json(&namespace)["lbafs"].as_array().unwrap().len(), 64);
    }
}
