//! Output lines of `joulio stat --output json`.

use super::command::CommandUse;
use super::report::StatReport;
use crate::FormatVersion;
use serde::Serialize;

/// An interval, as `--output json` prints it in a line.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatLine<'a> {
    /// Version of the format.
    pub version: FormatVersion,
    /// Use of the machine by the command that ran from the interval's beginning to its end, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a CommandUse>,
    /// Figures of the interval.
    #[serde(flatten)]
    pub report: &'a StatReport,
}
