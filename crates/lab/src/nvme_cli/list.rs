//! `nvme list`: a line for each namespace.

use super::scale;
use crate::inspect::NamespaceInfo;
use serde_json::{Value, json};

/// Number of columns.
const COLUMNS: usize = 8;

/// Titles of the columns.
pub const TITLES: [&str; COLUMNS] = [
    "Node",
    "Generic",
    "SN",
    "Model",
    "Namespace",
    "Usage",
    "Format",
    "FW Rev",
];

/// Widths of nvme-cli's columns; a column is widened for a longer cell.
const WIDTHS: [usize; COLUMNS] = [21, 21, 20, 40, 9, 26, 16, 8];

/// Returns the table of `nvme list`, whose lines are all of one length.
pub fn table(rows: &[NamespaceInfo]) -> String {
    let rows: Vec<_> = rows.iter().map(cells).collect();
    let mut widths = WIDTHS;
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = line(&TITLES.map(str::to_owned), widths);
    out += &line(&widths.map(|width| "-".repeat(width)), widths);
    for row in &rows {
        out += &line(row, widths);
    }
    out
}

fn line(cells: &[String; COLUMNS], widths: [usize; COLUMNS]) -> String {
    let padded: Vec<_> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    padded.join(" ") + "\n"
}

/// Returns the cells of a namespace, in the order of [`TITLES`].
pub fn cells(row: &NamespaceInfo) -> [String; COLUMNS] {
    [
        row.node.clone(),
        row.generic.clone(),
        row.serial.clone(),
        row.model.clone(),
        row.namespace.to_string(),
        format!(
            "{} / {}",
            capacity(row.used_bytes),
            capacity(row.size_bytes)
        ),
        format(row),
        row.firmware.clone(),
    ]
}

fn capacity(bytes: u64) -> String {
    let (n, prefix) = scale::si(bytes.into());
    format!("{n:6.2} {prefix:>2}B")
}

fn format(row: &NamespaceInfo) -> String {
    let (n, prefix) = scale::binary(row.block);
    format!("{n:3.0} {prefix:>2}B + {:2} B", row.metadata)
}

/// Returns the JSON of `nvme list -o json`.
pub fn json(rows: &[NamespaceInfo]) -> Value {
    let devices: Vec<_> = rows.iter().map(device).collect();
    json!({ "Devices": devices })
}

fn device(row: &NamespaceInfo) -> Value {
    json!({
        "NameSpace": row.namespace,
        "DevicePath": row.node,
        "Firmware": row.firmware,
        "ModelNumber": row.model,
        "SerialNumber": row.serial,
        "UsedBytes": row.used_bytes,
        "MaximumLBA": row.size_bytes.checked_div(row.block.into()).unwrap_or(0),
        "PhysicalSize": row.size_bytes,
        "SectorSize": row.block,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::parsed;
    use super::*;

    /// Returns the row of namespace `name` of QEMU's controller, which is full.
    fn row(
        name: &str,
        serial: &str,
        nsid: u32,
        size: u64,
        block: u32,
        metadata: u16,
    ) -> NamespaceInfo {
        NamespaceInfo {
            node: format!("/dev/nvme{name}"),
            generic: format!("/dev/ng{name}"),
            serial: serial.to_owned(),
            model: "QEMU NVMe Ctrl".to_owned(),
            namespace: nsid,
            used_bytes: size,
            size_bytes: size,
            block,
            metadata,
            firmware: "7.2.22".to_owned(),
        }
    }

    fn many() -> [NamespaceInfo; 6] {
        [
            row("4n1", "joulio3", 1, 1_048_570_757_120, 512, 0),
            row("3n1", "joulio2", 1, 2_199_023_255_552, 512, 0),
            row("2n1", "joulio1", 1, 102_400_000, 512, 0),
            row("1n1", "joulio0", 1, 1_600_321_314_816, 512, 0),
            row("0n2", "meta-meta-meta-meta2", 3, 9_846_153_216, 4096, 64),
            row("0n1", "meta-meta-meta-meta2", 1, 529_643_520, 512, 8),
        ]
    }

    #[test]
    fn one_namespace_reads_as_in_nvme_cli() {
        let rows = [row("0n1", "joulio0", 1, 268_435_456, 512, 0)];
        let golden = include_str!("../../tests/golden/list-512.txt");
        assert_eq!(table(&rows), golden);
        let golden = include_str!("../../tests/golden/list-512.json");
        assert_eq!(json(&rows), parsed(golden));
    }

    #[test]
    fn namespaces_of_many_sizes_with_metadata_read_as_in_nvme_cli() {
        let golden = include_str!("../../tests/golden/list-many.txt");
        assert_eq!(table(&many()), golden);
        let golden = include_str!("../../tests/golden/list-many.json");
        assert_eq!(json(&many()), parsed(golden));
    }

    #[test]
    fn a_column_widens_for_a_long_node_and_every_line_with_it() {
        let mut rows = many();
        rows[0].node = "emulated:optane-900p-with-a-long-name".to_owned();
        rows[1].namespace = u32::MAX;
        let table = table(&rows);
        let mut lengths = table.lines().map(str::len);
        let first = lengths.next().unwrap();
        assert!(lengths.all(|length| length == first));
        assert!(table.contains("emulated:optane-900p-with-a-long-name /dev/ng4n1 "));
    }

    #[test]
    fn no_namespaces_leave_the_header() {
        assert_eq!(table(&[]).lines().count(), 2);
        assert_eq!(json(&[]), parsed(r#"{"Devices":[]}"#));
    }
}
