//! Destination of a report: a file; or a format, which the same flag chose before files could be named.

use clap::{Arg, ArgAction, Command, ValueEnum};
use std::path::PathBuf;

/// Value of `--output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file.
    File(PathBuf),
    /// A format of the command's.
    Format(String),
}

impl Destination {
    /// Parses the value of a command with the formats `F`. Whatever is neither a format nor, by a dot or a slash,
    /// looks like a file, is taken for a mistyped format.
    pub fn parse<F: ValueEnum>(text: &str) -> Result<Destination, String> {
        if F::from_str(text, false).is_ok() {
            return Ok(Destination::Format(text.into()));
        }
        if text.contains(['.', '/']) {
            return Ok(Destination::File(text.into()));
        }
        let formats = F::value_variants().iter();
        let formats =
            formats.filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()));
        let formats: Vec<_> = formats.collect();
        Err(format!(
            "'{text}' is none of the formats ({}), nor the name of a file with a dot or a slash: ./{text}",
            formats.join(", ")
        ))
    }
}

/// `command`, whose subcommands that have `--output` have `--force` too, and `-o` unless that names what they
/// make: the profile of calibrate, for one.
pub fn with_output_flags(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let sub = with_output_flags(sub);
        let has = |id: &str| sub.get_arguments().any(|arg| arg.get_id() == id);
        let (reports, makes, forces) = (has("output_format"), has("out"), has("force"));
        let sub = match reports && makes {
            true => sub.mut_arg("output", |arg| arg.short(None)),
            false => sub,
        };
        match reports && !forces {
            true => sub.arg(
                Arg::new("force")
                    .long("force")
                    .action(ArgAction::SetTrue)
                    .help("Overwrite the file of --output"),
            ),
            false => sub,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn a_word_is_a_format_and_a_name_with_a_dot_or_a_slash_a_file() {
        let parse = Destination::parse::<Format>;
        assert_eq!(parse("json"), Ok(Destination::Format("json".into())));
        assert_eq!(parse("table"), Ok(Destination::Format("table".into())));
        assert_eq!(parse("./json"), Ok(Destination::File("./json".into())));
        assert_eq!(parse("a.json"), Ok(Destination::File("a.json".into())));
        let refused = parse("jsno").unwrap_err();
        assert!(refused.contains("normal, json") && refused.contains("./jsno"));
    }
}
