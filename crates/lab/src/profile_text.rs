//! A profile as the text of a file: a figure a line.

use serde::Serialize;
use toml_edit::{Item, Table, Value};

/// The text of a `.toml` file that holds `profile`, after a comment of one line.
///
/// # Errors
/// The profile is none that TOML can hold.
pub fn profile_text(
    profile: &impl Serialize,
    comment: &str,
) -> Result<String, toml_edit::ser::Error> {
    let mut document = toml_edit::ser::to_document(profile)?;
    figures_inline(document.as_table_mut());
    Ok(format!("# {comment}\n{document}"))
}

/// Tables that are one figure become inline; those of figures stay tables.
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
