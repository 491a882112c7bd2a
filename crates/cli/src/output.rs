//! Writing to standard output, which may be closed.

use crate::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{Write, stdout};

/// `--output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[value(alias = "table")]
    Normal,
    /// For programs.
    Json,
}

/// `-o`, as most commands have it. Not those with another use of the letter, or more to say of it.
#[derive(clap::Args)]
pub struct Output {
    /// normal or json
    #[arg(
        id = "output",
        short = 'o',
        long = "output",
        alias = "output-format",
        value_name = "OUTPUT",
        value_enum,
        default_value = "normal"
    )]
    pub format: Format,
}

/// Writes `text` to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::stdout(&error))
}

/// Writes `value` to standard output as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::run)?;
    text.push('\n');
    print(&text)
}

/// Writes `value` to standard output as JSON on one line, of which a run prints several.
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(Failure::run)?;
    text.push('\n');
    print(&text)
}
