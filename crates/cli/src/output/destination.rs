//! Destination of a report: a file, or only a format, which the same flag selected before it took files.

use super::Format;
use super::earlier::Earlier;
use clap::{Arg, ArgAction, Command, ValueEnum};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Value of `--output`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file.
    File(PathBuf),
    /// A format of the command.
    Format(String),
}

impl Destination {
    /// Parses the value for a command with the formats `F`. Text that is neither a format nor, because of a dot or a
    /// slash, a file name counts as a mistyped format.
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
            "'{text}' is not one of the formats ({}), nor the name of a file with a dot or a slash: ./{text}",
            formats.join(", ")
        ))
    }

    /// Parses the value for a command that also writes a profile, which may not be given as the report's file.
    fn beside_profile(text: &str) -> Result<Destination, Box<dyn Error + Send + Sync>> {
        match Path::new(text).extension() {
            Some(extension) if extension == "toml" => Err(Earlier::profile(text).into()),
            _ => {
                let parsed = Destination::parse::<Format>(text);
                Ok(parsed.map_err(|error| format!("{error}; a profile is --write-profile's"))?)
            }
        }
    }
}

/// Adds `--force` to those subcommands of `command` that have `--output`. Subcommands that write a profile refuse a
/// profile's file name for the report.
pub fn with_output_flags(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let sub = with_output_flags(sub);
        let has = |id: &str| sub.get_arguments().any(|arg| arg.get_id() == id);
        let (reports, makes, forces) = (has("output_format"), has("write_profile"), has("force"));
        let sub = match reports && makes {
            true => sub.mut_arg("output", |arg| {
                arg.value_parser(Destination::beside_profile)
            }),
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

    /// Returns the flags of `command` and of all its subcommands, with their commands' names.
    fn flags(command: &Command, at: &str) -> Vec<(String, Arg)> {
        let at = format!("{at} {}", command.get_name());
        let own = command.get_arguments().map(|arg| (at.clone(), arg.clone()));
        let subs = command.get_subcommands().flat_map(|sub| flags(sub, &at));
        own.chain(subs).collect()
    }

    #[test]
    fn o_is_output_and_output_is_o_in_every_subcommand() {
        let flags = flags(&crate::written(), "");
        let named = |arg: &Arg| {
            (
                arg.get_short() == Some('o'),
                arg.get_long() == Some("output"),
            )
        };
        let outputs = flags.iter().filter(|(_, arg)| named(arg) != (false, false));
        let outputs: Vec<_> = outputs.collect();
        assert!(outputs.len() > 20, "{}", outputs.len());
        for (at, arg) in outputs {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert_eq!(named(arg), (true, true), "{at}");
            assert!(help.contains("report"), "{at}: {help}");
        }
    }
}
