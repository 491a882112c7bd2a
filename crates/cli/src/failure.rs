//! Errors as the user sees them: one line, and an exit status.

use crate::limits::open_files_advice;
use crate::output::earlier::Earlier;
use crate::signal::{Signal, signal};
use crate::terminal::{clean_lines, fitted};
use clap::error::{ContextKind, ContextValue};
use joulio_host::ChangeError;
use joulio_lab::advise::AdviseError;
use joulio_lab::calibrate::CalibrateError;
use joulio_lab::calibrate::watts::WattsError;
use joulio_lab::campaign::{CampaignError, MergeError};
use joulio_lab::device_measure::DeviceMeasureError;
use joulio_lab::experiment::ExperimentError;
use joulio_lab::grid::SweepError;
use joulio_lab::idle::IdleError;
use joulio_lab::meters::MetersError;
use joulio_lab::power_log::PowerLogError;
use joulio_lab::power_states::PowerStatesError;
use joulio_lab::report::WriteError;
use joulio_lab::selftest::SelftestError;
use joulio_lab::state_file::StateError;
use joulio_lab::sweep::{FactorError, FailedRuns, SweepFailure, SweepOptionsError};
use joulio_lab::{DiskError, OpenError, printable};
use std::error::Error;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Reason why a command ended without success.
#[derive(Debug)]
pub enum Failure {
    /// The request was refused; nothing was changed. Status 2.
    Input(String),
    /// A failure after work had begun. Status 1.
    Run(String),
    /// A signal ended the command; the text says what was not done. The status is 128 plus the signal's number, as in
    /// shells.
    Interrupted(Signal, String),
    /// The user's command ended with this status, and joulio prints nothing.
    Command(u8),
    /// Standard output was closed, because its reader needs no more. Status 0.
    Pipe,
}

impl Failure {
    /// Creates a failure before anything was done.
    pub fn input(error: impl Display) -> Failure {
        Failure::Input(error.to_string())
    }

    /// Creates a failure after work had begun.
    pub fn run(error: impl Display) -> Failure {
        Failure::Run(error.to_string())
    }

    /// Creates a failure before anything was done if it is a `refusal`, otherwise one after work had begun.
    fn either(refusal: bool, error: impl Display) -> Failure {
        match refusal {
            true => Failure::input(error),
            false => Failure::run(error),
        }
    }

    /// Creates the failure for an error when writing to standard output.
    pub fn stdout(error: &std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Pipe,
            _ => Failure::run(format!("standard output: {error}")),
        }
    }

    /// Creates the failure for a signal before all was done; `what` describes what was not.
    pub fn interrupted(what: impl Display) -> Failure {
        match Failure::run(what).after_signal() {
            Failure::Run(what) => Failure::Run(format!("ended early; {what}")),
            other => other,
        }
    }

    /// Returns the failure as a consequence of the signal that ended the command, if there was one.
    pub fn after_signal(self) -> Failure {
        match (signal(), self) {
            (Some(signal), Failure::Input(what) | Failure::Run(what)) => {
                Failure::Interrupted(signal, format!("ended by {signal}; {what}"))
            }
            (_, other) => other,
        }
    }

    /// Prints the failure as one line on standard error, and returns its exit status.
    pub fn report(self) -> ExitCode {
        let (message, status) = match self {
            Failure::Input(message) => (message, 2),
            Failure::Run(message) => (message, 1),
            Failure::Interrupted(signal, message) => (message, signal.status()),
            Failure::Command(status) => return ExitCode::from(status),
            Failure::Pipe => return ExitCode::SUCCESS,
        };
        let advice = open_files_advice(&message);
        let advice = advice.map_or(String::new(), |advice| format!(": {advice}"));
        say(&one_line(&(message + &advice)));
        ExitCode::from(status)
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Failure {
        Failure::either(!error.leaves_changes(), error)
    }
}

impl From<FactorError> for Failure {
    /// Names a factor by its flag.
    fn from(error: FactorError) -> Failure {
        Failure::input(format!("--{error}"))
    }
}

impl From<Box<ChangeError>> for Failure {
    fn from(error: Box<ChangeError>) -> Failure {
        Failure::from(*error)
    }
}

/// Implements `From` for errors that occur before anything is done.
macro_rules! refusals {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::input(error)
            }
        })*
    };
}

/// Implements `From` for errors that know whether they occurred before anything was done.
macro_rules! refusals_or_runs {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::either(error.is_refusal(), error)
            }
        })*
    };
}

refusals!(DiskError, MetersError, OpenError, SweepOptionsError);
refusals_or_runs!(
    CampaignError,
    ExperimentError,
    IdleError,
    MergeError,
    PowerLogError,
    SelftestError,
    StateError,
    SweepError,
    SweepFailure,
    WriteError
);

impl From<PowerStatesError> for Failure {
    fn from(error: PowerStatesError) -> Failure {
        match error {
            PowerStatesError::Interrupted => Failure::interrupted(error),
            error => Failure::either(error.is_refusal(), error),
        }
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Failure {
        match error {
            CalibrateError::Interrupted => Failure::interrupted(error),
            error => Failure::either(error.is_refusal(), error),
        }
    }
}

impl From<FailedRuns> for Failure {
    fn from(error: FailedRuns) -> Failure {
        match error {
            FailedRuns::Failed { .. } => Failure::run(error).after_signal(),
            FailedRuns::Missing(..) => Failure::interrupted(error),
            error => Failure::run(error),
        }
    }
}

impl From<AdviseError> for Failure {
    fn from(error: AdviseError) -> Failure {
        match error {
            AdviseError::Interrupted(what) => Failure::interrupted(what),
            AdviseError::Experiment(error) => Failure::from(error).after_signal(),
            error => Failure::either(error.is_refusal(), error),
        }
    }
}

impl From<WattsError> for Failure {
    fn from(error: WattsError) -> Failure {
        match &error {
            WattsError::Interrupted => return Failure::interrupted(error),
            // Each meter has a line of its own, and there may be many.
            WattsError::NoMeter(each) => each.iter().for_each(|line| say(&one_line(line))),
            _ => {}
        }
        Failure::either(error.is_refusal(), error)
    }
}

impl From<DeviceMeasureError> for Failure {
    fn from(error: DeviceMeasureError) -> Failure {
        match error {
            DeviceMeasureError::Interrupted => Failure::interrupted(error),
            error => Failure::either(error.is_refusal(), error).after_signal(),
        }
    }
}

/// Prints help and version as clap does, and an error about flags as one line.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        return match printed {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Failure::stdout(&error).report(),
        };
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(2);
    }
    say(&format!("{} (see --help)", usage_line(error)));
    ExitCode::from(2)
}

/// Returns clap's error message in one line.
pub fn usage_line(error: &clap::Error) -> String {
    // This message is complete without clap's "invalid" text.
    if let Some(earlier) = error
        .source()
        .and_then(|source| source.downcast_ref::<Earlier>())
    {
        return one_line(&earlier.to_string());
    }
    if error.kind() == clap::error::ErrorKind::InvalidUtf8
        && let Some(word) = std::env::args_os().find(|word| word.to_str().is_none())
    {
        let word = word.to_string_lossy();
        return one_line(&format!("'{word}' is not UTF-8: rename it"));
    }
    let text = error.to_string();
    // Keeps the message and the tips, without the usage and the pointer to --help.
    let message = text.split("\n\nUsage:").next().unwrap_or(&text);
    let message = message
        .split("\n\nFor more information")
        .next()
        .unwrap_or(message);
    let message = message.strip_prefix("error: ").unwrap_or(message);
    // Removes tips that are not about flags the help shows.
    let parts = message.split("tip: ").map(str::trim);
    let hides = suggests_hidden(error);
    let parts = parts.filter(|part| {
        let is_hidden = hides && part.starts_with("a similar argument");
        !is_hidden && !part.starts_with("to pass ")
    });
    one_line(&parts.collect::<Vec<_>>().join("; "))
}

/// Returns true if clap proposes a flag that the help does not show.
fn suggests_hidden(error: &clap::Error) -> bool {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::SuggestedArg) else {
        return false;
    };
    let name = flag.trim_start_matches('-');
    let mut commands = vec![crate::written()];
    while let Some(command) = commands.pop() {
        let mut flags = command.get_arguments();
        if flags.any(|flag| flag.is_hide_set() && flag.get_long() == Some(name)) {
            return true;
        }
        commands.extend(command.get_subcommands().cloned());
    }
    false
}

/// Writes `message` to standard error, broken between words on a terminal. If standard error is closed or full, only
/// the exit status shows what happened.
pub fn say(message: &str) {
    let line = clean_lines(&format!("joulio: {message}\n"));
    let line = fitted(line, std::io::stderr());
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Replaces line breaks and control characters, so that the text stays in one line.
fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
