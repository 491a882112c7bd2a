//! Spellings from before `-o` and `--output` named the report in every subcommand. Each is refused with the spelling
//! that replaces it.

use clap::{Arg, Command};
use std::convert::Infallible;
use std::error::Error;
use std::fmt::{Display, Formatter};

/// Error for an old spelling.
#[derive(Clone, Debug)]
pub struct Earlier {
    what: &'static str,
    flag: &'static str,
    why: &'static str,
    value: String,
}

impl Earlier {
    /// Returns the error for a profile's file in place of the report's.
    pub(super) fn profile(value: &str) -> Earlier {
        Earlier::new("the profile", "--write-profile", REPORT, value)
    }

    fn new(what: &'static str, flag: &'static str, why: &'static str, value: &str) -> Earlier {
        Earlier {
            what,
            flag,
            why,
            value: value.into(),
        }
    }
}

/// Reason why `-o` is refused.
const REPORT: &str = "-o and --output name the file of a report";

impl Display for Earlier {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Earlier {
            what,
            flag,
            why,
            value,
        } = self;
        write!(f, "{why}: for {what} it is {flag} {value}")
    }
}

impl Error for Earlier {}

/// Adds the old spellings of flags to the subcommands of `command`, so that they are refused. For parsing only, not for
/// the help.
pub fn with_earlier_flags(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let sub = with_earlier_flags(sub);
        let has = |id: &str| sub.get_arguments().any(|arg| arg.get_id() == id);
        let flag = Arg::new("earlier").hide(true);
        if has("write_profile") {
            sub.arg(flag.long("out").value_parser(out))
        } else if has("results") {
            sub.arg(flag.short('o').long("output").value_parser(folder))
        } else {
            sub
        }
    })
}

fn out(value: &str) -> Result<Infallible, Earlier> {
    let why = "--out has another name now";
    Err(Earlier::new("the profile", "--write-profile", why, value))
}

fn folder(value: &str) -> Result<Infallible, Earlier> {
    Err(Earlier::new("the results", "--results", REPORT, value))
}
