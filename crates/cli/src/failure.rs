//! Errors as a user sees them: one line, and an exit status.

mod host;

use crate::limits::open_files_advice;
use crate::signals::{Signal, signal};
use joulio_lab::calibrate::CalibrateError;
use joulio_lab::experiment::ExperimentError;
use joulio_lab::power_log::PowerLogError;
use joulio_lab::selftest::SelftestError;
use joulio_lab::{DiskError, OpenError};
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Why a command ended.
#[derive(Debug)]
pub enum Failure {
    /// What was asked for cannot be done; nothing was changed. Status 2.
    Input(String),
    /// It was begun, and went wrong. Status 1.
    Run(String),
    /// A signal ended it before all was done that was asked for: what was not. Status 128 and the
    /// signal's number, as shells have it.
    Interrupted(Signal, String),
    /// Standard output was closed: whoever read it has enough. Status 0.
    Pipe,
}

impl Failure {
    /// A failure before anything was done.
    pub fn input(error: impl Display) -> Failure {
        Failure::Input(error.to_string())
    }

    /// A failure in the doing.
    pub fn run(error: impl Display) -> Failure {
        Failure::Run(error.to_string())
    }

    /// Standard output cannot be written to.
    pub fn stdout(error: &std::io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure::Pipe,
            _ => Failure::run(format!("standard output: {error}")),
        }
    }

    /// A signal came before all was done: what came of it.
    pub fn interrupted(what: impl Display) -> Failure {
        match Failure::run(what).after_signal() {
            Failure::Run(what) => Failure::Run(format!("ended early; {what}")),
            other => other,
        }
    }

    /// The same, told as what came of the signal that ended the command, if one did.
    pub fn after_signal(self) -> Failure {
        match (signal(), self) {
            (Some(signal), Failure::Input(what) | Failure::Run(what)) => {
                Failure::Interrupted(signal, format!("ended by {signal}; {what}"))
            }
            (_, other) => other,
        }
    }

    /// Says it and gives the exit status.
    pub fn report(self) -> ExitCode {
        let (message, status) = match self {
            Failure::Input(message) => (message, 2),
            Failure::Run(message) => (message, 1),
            Failure::Interrupted(signal, message) => (message, signal.status()),
            Failure::Pipe => return ExitCode::SUCCESS,
        };
        let advice = open_files_advice(&message);
        let advice = advice.map_or(String::new(), |advice| format!(": {advice}"));
        say(&one_line(&(message + &advice)));
        ExitCode::from(status)
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Failure {
        Failure::input(error)
    }
}

/// A device that was not opened: nothing was changed.
impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        Failure::input(error)
    }
}

impl From<SelftestError> for Failure {
    fn from(error: SelftestError) -> Failure {
        match error.is_refusal() {
            true => Failure::input(error),
            false => Failure::run(error),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Failure {
        match error.is_refusal() {
            true => Failure::input(error),
            false => Failure::run(error),
        }
    }
}

impl From<PowerLogError> for Failure {
    fn from(error: PowerLogError) -> Failure {
        match error.is_refusal() {
            true => Failure::input(error),
            false => Failure::run(error),
        }
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Failure {
        match error {
            CalibrateError::Interrupted => Failure::interrupted(error),
            error if error.is_refusal() => Failure::input(error),
            error => Failure::run(error),
        }
    }
}

/// Help and version as clap has them; a wrong flag in one line.
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
    let text = error.to_string();
    // The message, then the tips; usage and the pointer to --help are for the help.
    let message = text.split("\n\nUsage:").next().unwrap_or(&text);
    let message = message
        .split("\n\nFor more information")
        .next()
        .unwrap_or(message);
    let message = message.strip_prefix("error: ").unwrap_or(message);
    say(&format!("{} (see --help)", one_line(message)));
    ExitCode::from(2)
}

/// When standard error is closed or full there is nobody to tell; the status says it still.
pub fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "joulio: {message}");
}

/// Without what would begin a line, or tell the terminal something else.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.replace(char::is_control, "?")
}
