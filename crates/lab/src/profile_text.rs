//! Text of a profile's file, with a figure a line.

use serde::Serialize;
use toml_edit::{Item, Table, Value};

/// Returns the text of a `.toml` file with `profile`, after a comment of one line.
///
/// # Errors
/// The profile cannot be written as TOML.
pub fn profile_text(
    profile: &impl Serialize,
    comment: &str,
) -> Result<String, toml_edit::ser::Error> {
    let mut document = toml_edit::ser::to_document(profile)?;
    figures_inline(document.as_table_mut());
    Ok(format!("# {comment}\n{document}"))
}

/// Converts tables that are a single figure to inline tables; tables of figures stay as they are.
fn figures_inline(table: &mut Table) {
    for (_, item) in table.iter_mut() {
        settle(item);
    }
}

fn settle(item: &mut Item) {
    match item {
        Item::Value(Value::InlineTable(inline)) if !inline.contains_key("value") => {
            let mut table = std::mem::take(inline).into_table();
            figures_inline(&mut table);
            *item = Item::Table(table);
        }
        Item::Value(Value::Array(array)) if array.iter().any(Value::is_inline_table) => {
            let tables = std::mem::take(array).into_iter();
            let tables = tables.filter_map(|value| match value {
                Value::InlineTable(inline) => Some(inline.into_table()),
                _ => None,
            });
            *item = Item::ArrayOfTables(tables.collect());
        }
        Item::Table(table) => match table.contains_key("value") {
            true => *item = Item::Value(std::mem::take(table).into_inline_table().into()),
            false => figures_inline(table),
        },
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(figures_inline),
        _ => {}
    }
}
