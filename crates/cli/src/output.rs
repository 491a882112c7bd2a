//! Output of reports in a format, to standard output, which may be closed, or to a file.

mod destination;
pub mod earlier;
mod report_file;

pub use destination::{Destination, with_output_flags};
pub use report_file::{begin, finish};

use crate::failure::Failure;
use crate::terminal::{clean_lines, columns_of, wrapped};
use clap::ValueEnum;
use serde::Serialize;
use std::io::{IsTerminal, Write, stdout};

/// `--output-format` of most commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    #[value(alias = "table")]
    Normal,
    /// For programs.
    Json,
}

/// `--output` and `--output-format`, which mean the same in every command that has a report.
#[derive(Clone, Debug, clap::Args)]
pub struct Output<F: ValueEnum + Default + Send + Sync + 'static = Format> {
    /// Write the report to this file instead of standard output. The file appears only when it is complete; an
    /// existing file is kept unless --force is given. A file name needs a dot or a slash: a word that is a format
    /// selects the format
    #[arg(
        id = "output",
        short = 'o',
        long = "output",
        value_name = "FILE",
        value_parser = Destination::parse::<F>
    )]
    destination: Option<Destination>,
    /// Format of the report
    #[arg(
        id = "output_format",
        long = "output-format",
        value_name = "FORMAT",
        value_enum
    )]
    format: Option<F>,
}

impl<F: ValueEnum + Default + Send + Sync + 'static> Output<F> {
    /// Returns the format of the report.
    pub fn format(&self) -> F {
        let word = match &self.destination {
            Some(Destination::Format(word)) => F::from_str(word, false).ok(),
            _ => None,
        };
        self.format.clone().or(word).unwrap_or_default()
    }

    /// Returns the file of the report; `None` for standard output.
    pub fn file(&self) -> Option<&std::path::Path> {
        match &self.destination {
            Some(Destination::File(path)) => Some(path),
            _ => None,
        }
    }
}

/// Writes `text`, the beginning of a report, which is not a report by itself.
pub fn print_begin(text: &str) -> Result<(), Failure> {
    print(text)?;
    report_file::only_begun();
    Ok(())
}

/// Writes `text`, which is for people, to the report. Lines longer than the terminal are broken between words, and
/// control characters are replaced.
pub fn print(text: &str) -> Result<(), Failure> {
    let text = clean_lines(text);
    match terminal_width() {
        Some(width) => print_data(&wrapped(&text, width)),
        None => print_data(&text),
    }
}

/// Writes `text`, which programs or shells read, to the report unchanged.
pub fn print_data(text: &str) -> Result<(), Failure> {
    if report_file::add(text) {
        return Ok(());
    }
    let mut out = stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| Failure::stdout(&error))
}

/// Returns true if the report goes to a file.
pub fn is_to_file() -> bool {
    report_file::is_open()
}

/// Returns true if the report goes to a terminal.
pub fn is_terminal() -> bool {
    !report_file::is_open() && stdout().is_terminal()
}

/// Returns the width of the terminal that the report goes to, or the value of COLUMNS if there is none; `None` if there
/// is neither.
pub fn terminal_width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok();
    let terminal = if report_file::is_open() {
        None
    } else {
        columns_of(stdout())
    };
    terminal.or_else(|| said?.parse().ok().filter(|columns| *columns > 0))
}

/// Writes `value` to the report as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(Failure::run)?;
    text.push('\n');
    print_data(&text)
}

/// Writes `value` to the report as JSON on one line; a run prints several.
pub fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(Failure::run)?;
    text.push('\n');
    print_data(&text)
}
