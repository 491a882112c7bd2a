//! Flags typed on the command line, which apply to every section.

use super::super::args::BenchArgs;
use super::flag::Flag;
use super::refusal::Refusal;
use super::sections::{Given, Section};
use crate::failure::usage_line;
use crate::flags::with_both_spellings;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    args: BenchArgs,
}

/// Options from which other values are computed.
const RECKONED: [&str; 3] = ["size", "bs", "numjobs"];

/// Arguments after `joulio bench`, without the file and its sections.
pub(super) struct Typed {
    arguments: Vec<OsString>,
}

impl Typed {
    /// Returns the flags of a command line without a file.
    pub(super) fn of(arguments: Vec<OsString>) -> Typed {
        Typed { arguments }
    }

    pub(super) fn new(typed: &[OsString], file: &Path) -> Typed {
        let mut arguments = Vec::new();
        let mut typed = typed.iter();
        while let Some(argument) = typed.next() {
            if argument == "--section" {
                typed.next();
            } else if value_follows(argument) {
                // A flag's value may equal the file's name.
                arguments.push(argument.clone());
                arguments.extend(typed.next().cloned());
            } else if argument != file.as_os_str()
                && !argument.as_encoded_bytes().starts_with(b"--section=")
            {
                arguments.push(argument.clone());
            }
        }
        Typed { arguments }
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        let mut arguments = self.arguments.iter().filter_map(|one| one.to_str());
        arguments.any(|argument| is_named(argument, flag))
    }

    /// Returns the value of `flag` if it is typed; the values are joined to a list if it is typed several times.
    pub(super) fn value(&self, flag: &str) -> Option<String> {
        let mut values = Vec::new();
        let mut arguments = self.arguments.iter().map(|one| one.to_str());
        while let Some(argument) = arguments.next() {
            let Some(argument) = argument.filter(|one| is_named(one, flag)) else {
                continue;
            };
            let value = argument.split_once('=').map(|(_, value)| value);
            values.extend(value.or_else(|| arguments.next().flatten()));
        }
        (!values.is_empty()).then(|| values.join(","))
    }

    /// Replaces the section's values by typed ones, for options from which other values are computed.
    pub(super) fn count_in(&self, section: &mut Section) {
        for key in RECKONED {
            if let Some(value) = self.value(&format!("--{key}")) {
                let others: &[&str] = if key == "bs" {
                    &["bssplit", "bsrange", "blocksize_range"]
                } else {
                    &[]
                };
                section
                    .options
                    .retain(|given| !others.contains(&given.key.as_str()));
                section.options.push(Given {
                    line: section.line,
                    key: key.into(),
                    value: Some(value),
                });
            }
        }
    }

    /// Parses the bench of `flags`, without those that are also typed; the error has the line of the first wrong flag.
    pub(super) fn parse(&self, flags: Vec<Flag>) -> Result<BenchArgs, Refusal> {
        let flags: Vec<Flag> = flags
            .into_iter()
            .filter(|flag| !self.has(&flag.argument))
            .collect();
        let parse = |flags: &[Flag]| {
            let first = [OsString::from("bench")].into_iter();
            let of_file = flags.iter().map(|flag| OsString::from(&flag.argument));
            let all = first.chain(of_file).chain(self.arguments.iter().cloned());
            let matches = command().try_get_matches_from(all)?;
            Bench::from_arg_matches(&matches).map(|bench| bench.args)
        };
        parse(&flags).map_err(|error| {
            // Searches for the first flag that makes it fail; the typed flags were parsed without them before.
            let wrong = (1..=flags.len()).find(|count| parse(&flags[..*count]).is_err());
            let wrong = wrong.and_then(|count| flags.get(count - 1));
            let why = usage_line(&error);
            match wrong {
                Some(flag) => (flag.line, format!("{}: {why}", flag.option)),
                None => (1, why),
            }
        })
    }
}

/// Returns `joulio bench` with both spellings of its flags.
fn command() -> clap::Command {
    with_both_spellings(Bench::command())
}

/// Names of the flags of `joulio bench`, with underscores.
static FLAGS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let command = command();
    let names = command.get_arguments().flat_map(|flag| {
        let others = flag.get_all_aliases().unwrap_or_default();
        flag.get_long().into_iter().chain(others)
    });
    names.map(|name| name.replace('-', "_")).collect()
});

/// Flags of `joulio bench` that take a value, as they are typed: `--bs`, `-o`.
static WITH_VALUE: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let command = command();
    let flags = command.get_arguments();
    let flags = flags.filter(|flag| flag.get_action().takes_values());
    let names = flags.flat_map(|flag| {
        let others = flag.get_all_aliases().unwrap_or_default();
        let long = flag.get_long().into_iter().chain(others);
        let short = flag.get_short().map(|letter| format!("-{letter}"));
        long.map(|name| format!("--{name}")).chain(short)
    });
    names.collect()
});

/// Returns true if `argument` is a flag whose value is the next argument.
fn value_follows(argument: &OsStr) -> bool {
    argument
        .to_str()
        .is_some_and(|text| WITH_VALUE.contains(text))
}

/// Returns true if `key`, with underscores, is a flag of `joulio bench`.
pub(super) fn is_flag(key: &str) -> bool {
    FLAGS.contains(key)
}

/// Returns true if `argument` is the flag `flag` under one of its names.
fn is_named(argument: &str, flag: &str) -> bool {
    let name = |argument: &str| {
        let name = argument.split('=').next().unwrap_or(argument);
        name.replace("readwrite", "rw")
            .replace("blocksize", "bs")
            .replace("bssplit", "bs")
            .replace("bsrange", "bs")
            .replace("randseed", "seed")
            .replace('-', "_")
    };
    argument.starts_with("--") && name(argument) == name(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_the_file_s_name_stays_with_its_flag() {
        let rest = |line: &str, file: &str| {
            let typed: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            Typed::new(&typed, Path::new(file))
                .arguments
                .join(" ".as_ref())
        };
        assert_eq!(rest("read --rw read", "read"), "--rw read");
        assert_eq!(rest("--rw read read --quiet", "read"), "--rw read --quiet");
        assert_eq!(rest("--section read --rw=read read", "read"), "--rw=read");
        assert_eq!(rest("--quiet read -o ./read", "read"), "--quiet -o ./read");
        assert_eq!(rest("-o ./read ./read", "./read"), "-o ./read");
        let both = "--number-ios 9 --number_ios 9 9";
        assert_eq!(rest(both, "9"), "--number-ios 9 --number_ios 9");
        assert_eq!(rest("-- read", "read"), "--");
    }
}
