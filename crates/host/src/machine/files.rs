//! Files with one value each.

use super::known::Known;
use crate::tree::Tree;
use std::str::FromStr;

/// Reads the text of a file.
pub(super) fn read(tree: &Tree, file: &str) -> Known<String> {
    let text = tree.text(file);
    text.map_err(|error| format!("/{file}: {error}")).into()
}

/// Reads the number in a file.
pub(super) fn number<T: FromStr>(tree: &Tree, file: &str) -> Known<T> {
    let text = tree.text(file).map_err(|error| format!("/{file}: {error}"));
    text.and_then(|text| {
        let number = text.parse();
        number.map_err(|_| format!("/{file}: not a number of this kind: {text}"))
    })
    .into()
}
