//! Writes the result of a fit into the profiles' files, keeping their comments and their order.

use crate::published::ProfileField;
use toml_edit::{DocumentMut, Item, Value};

/// Why a value cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FitWriteError {
    /// The file is no TOML.
    #[error("not TOML: {0}")]
    Syntax(#[from] toml_edit::TomlError),
    /// The file has no such figure.
    #[error("{0}: the file has no such figure")]
    Missing(ProfileField),
}

/// Returns the profile's `text` with the figures at these fields set.
///
/// # Errors
/// The text is not TOML, or has no figure at one of the fields.
pub fn write(text: &str, values: &[(ProfileField, f64)]) -> Result<String, FitWriteError> {
    let mut document: DocumentMut = text.parse()?;
    for (field, value) in values {
        let figure = figure(document.as_item_mut(), &field.path);
        let figure = figure.ok_or_else(|| FitWriteError::Missing(field.clone()))?;
        let whole = value.fract() == 0.0 && figure.is_integer();
        let decor = figure.decor().clone();
        *figure = if whole {
            Value::from(*value as i64)
        } else {
            Value::from(*value)
        };
        *figure.decor_mut() = decor;
    }
    Ok(document.to_string())
}

/// Returns the `value` of the figure at `path`.
fn figure<'a>(root: &'a mut Item, path: &[String]) -> Option<&'a mut Value> {
    let found = path
        .iter()
        .try_fold(root, |at, key| match key.parse::<usize>() {
            Ok(index) => at.get_mut(index),
            Err(_) => at.get_mut(key.as_str()),
        });
    found?.get_mut("value")?.as_value_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_values_change() {
        let text = "# Why.\n[costs]\nwake_ns = { value = 950, kind = \"fitted\" } # this\n\n[[costs.idle]]\nexit_ns = { value = 1.5 }\n";
        let field = |name: &str| name.parse::<ProfileField>().unwrap();
        let values = [
            (field("machine:x.costs.wake_ns"), 940.0),
            (field("machine:x.costs.idle.0.exit_ns"), 2.25),
        ];
        let written = write(text, &values).unwrap();
        assert_eq!(written, text.replace("950", "940").replace("1.5", "2.25"));
        let missing = write(text, &[(field("machine:x.costs.poll_ns"), 1.0)]).unwrap_err();
        assert!(missing.to_string().contains("machine:x.costs.poll_ns"));
    }
}
