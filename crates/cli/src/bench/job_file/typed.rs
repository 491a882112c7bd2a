//! Flags typed on the command line, which apply to every section.

use super::super::args::BenchArgs;
use crate::failure::usage_line;
use crate::flags::with_both_spellings;
use clap::{CommandFactory, FromArgMatches, Parser};
use joulio_lab::job_file::{Flag, JobFileError, TypedFlags};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

#[derive(Parser)]
struct Bench {
    #[command(flatten)]
    args: BenchArgs,
}

/// Line of a job file, and the problem with it.
pub(super) type Refusal = (usize, String);

/// Returns the line of `error`, and its text.
pub(super) fn refusal(error: JobFileError) -> Refusal {
    (error.line(), error.to_string())
}

/// Returns the flags among the arguments `typed` after `joulio bench`, without the file and its sections.
pub(super) fn beside(typed: &[OsString], file: &Path) -> TypedFlags {
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
    TypedFlags::new(arguments)
}

/// Parses the bench of a section's `flags`, without those that are also `typed`; the error has the line of the first
/// wrong flag.
pub(super) fn parse(typed: &TypedFlags, flags: &[Flag]) -> Result<BenchArgs, Refusal> {
    let flags = flags.iter().filter(|flag| !typed.has(&flag.argument));
    let flags: Vec<&Flag> = flags.collect();
    let parse = |flags: &[&Flag]| {
        let first = [OsString::from("bench")].into_iter();
        let of_file = flags.iter().map(|flag| OsString::from(&flag.argument));
        let all = first
            .chain(of_file)
            .chain(typed.arguments().iter().cloned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_the_file_s_name_stays_with_its_flag() {
        let rest = |line: &str, file: &str| {
            let typed: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            beside(&typed, Path::new(file))
                .arguments()
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

    #[test]
    fn a_typed_flag_comes_before_the_file_s() {
        let typed = [
            "job.fio",
            "--iodepth=9",
            "--section",
            "a",
            "--randseed",
            "3",
        ];
        let typed = beside(&typed.map(OsString::from), Path::new("job.fio"));
        assert!(typed.has("--iodepth=4") && typed.has("--seed=1") && !typed.has("--bs=4k"));
        assert!(!typed.has("--section=a"));
        let flag = |line, argument: &str| Flag {
            line,
            option: argument.trim_start_matches('-').into(),
            argument: argument.into(),
        };
        let flags = [flag(2, "--iodepth=x"), flag(3, "--bs=nothing")];
        let Err((line, why)) = parse(&typed, &flags) else {
            panic!("it parses");
        };
        assert!(
            line == 3 && why.contains("bs=nothing") && why.contains("is not a size"),
            "{why}"
        );
    }
}
