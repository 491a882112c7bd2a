//! Version of the format of JSON documents.

use serde::Serialize;

/// Version of the format of a JSON document, `1.0`. The second number rises when fields are added, which older
/// programs can ignore; the first rises when fields are removed or change their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub struct FormatVersion;

impl From<FormatVersion> for &'static str {
    fn from(_: FormatVersion) -> &'static str {
        "1.0"
    }
}

/// Documents of later versions that a program can go on reading fit the schema too.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for FormatVersion {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FormatVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Version of the format: fields may have been added where the second number is higher.",
            "type": "string",
            "pattern": "^1\\.[0-9]+$",
        })
    }
}
