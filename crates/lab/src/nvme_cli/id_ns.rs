//! `nvme id-ns`: the Identify Namespace data structure (NVM figure 97).

use crate::inspect::{hex, lba_formats, namespace_fields};
use joulio_nvme_spec::identify::IdentifyNamespace;

/// Returns the text of `nvme id-ns` for namespace `nsid`.
pub fn text(namespace: &IdentifyNamespace, nsid: u32) -> String {
    let mut out = format!("NVME Identify Namespace {nsid}:\n");
    for (name, field) in namespace_fields(namespace) {
        // nvme-cli prints a tab after this name.
        if name == "nsattr" {
            out += &format!("nsattr\t: {}\n", field.text());
        } else {
            out += &format!("{name:<8}: {}\n", field.text());
        }
    }
    for (index, format) in lba_formats(namespace).iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::super::testing::{parsed, structure};
    use super::*;
    use crate::inspect::namespace_json;

    #[test]
    fn namespaces_of_512_and_4096_byte_blocks_read_as_in_nvme_cli() {
        let raw = include_bytes!("../../tests/golden/id-ns-512.bin");
        let namespace = structure(raw);
        let golden = include_str!("../../tests/golden/id-ns-512.txt");
        assert_eq!(text(&namespace, 1), golden);
        let golden = include_str!("../../tests/golden/id-ns-512.json");
        assert_eq!(namespace_json(&namespace), parsed(golden));

        let raw = include_bytes!("../../tests/golden/id-ns-4096.bin");
        let namespace = structure(raw);
        let golden = include_str!("../../tests/golden/id-ns-4096.txt");
        assert_eq!(text(&namespace, 1), golden);
        let golden = include_str!("../../tests/golden/id-ns-4096.json");
        assert_eq!(namespace_json(&namespace), parsed(golden));
    }

    #[test]
    fn a_made_up_namespace_with_unique_formats_and_no_preferred_sizes_reads_as_in_nvme_cli() {
        let namespace = structure(include_bytes!("../../tests/golden/id-ns-made-up.bin"));
        let golden = include_str!("../../tests/golden/id-ns-made-up.txt");
        assert_eq!(text(&namespace, 1), golden);
        let golden = include_str!("../../tests/golden/id-ns-made-up.json");
        assert_eq!(namespace_json(&namespace), parsed(golden));
    }

    #[test]
    fn a_namespace_that_claims_more_formats_than_there_are_shows_64() {
        let raw = include_bytes!("../../tests/golden/id-ns-512.bin");
        let mut namespace: IdentifyNamespace = structure(raw);
        namespace.nlbaf = 255;
        assert_eq!(text(&namespace, 1).matches("lbads:").count(), 64);
        assert_eq!(
            namespace_json(&namespace)["lbafs"]
                .as_array()
                .unwrap()
                .len(),
            64
        );
    }
}
