//! Columns of text, without borders.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
pub use joulio_lab::printable as clean;
use std::fmt::Write;

/// A header, and rows of as many cells below it: the first `left` columns are words and begin at
/// the left, the others are figures and end at the right.
pub fn columns(
    header: impl IntoIterator<Item: Into<String>>,
    rows: impl IntoIterator<Item: IntoIterator<Item: Into<String>>>,
    left: usize,
) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(header.into_iter().map(|cell| clean(&cell.into())));
    for row in rows {
        table.add_row(row.into_iter().map(|cell| clean(&cell.into())));
    }
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = String::new();
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
