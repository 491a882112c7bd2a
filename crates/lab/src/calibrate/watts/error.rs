//! Errors of a calibration of watts.

use crate::power_log::PowerLogError;
use joulio_energy::SumError;
use joulio_host::ChangeError;
use joulio_workload::Spoiled;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// Reason why watts were not measured.
#[derive(Debug, thiserror::Error)]
pub enum WattsError {
    /// No meter of the package or of the wall can be read; each gives its reason.
    #[error(
        "--watts: no meter of the package or the wall can be read here, and nothing is measured"
    )]
    NoMeter(Vec<String>),
    /// The process may use only one core, whose watts cannot be separated from those of the parts that cores share.
    #[error(
        "--watts: needs two cores of one package, to tell theirs from what they share: this process may use {0}"
    )]
    OneCore(usize),
    /// A single round gives no error of its figures.
    #[error("--rounds: --watts needs at least 2: one round alone has no error bound")]
    OneRound,
    /// The name of no state on this machine.
    #[error(
        "--states: '{word}' is not one of {}{}",
        WORDS.join(", "),
        idle_names(idle)
    )]
    NoState {
        /// Name that was given.
        word: String,
        /// Names of the kernel's idle states.
        idle: Vec<String>,
    },
    /// Clocks that cannot be compared with each other.
    #[error("--frequencies: {0}")]
    Clocks(String),
    /// The file of windows cannot be read or written, or is not valid.
    #[error("{}: {why}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        why: String,
    },
    /// The file of windows is of another machine or plan.
    #[error(
        "{}: belongs to other states, rounds, windows or cores: give the same flags to go on with it, or name another file",
        .0.display()
    )]
    AnotherPlan(PathBuf),
    /// Some windows were not done yet: continue with the same file.
    #[error(
        "{0} states were not done: go on by joulio calibrate --watts --record with the same file"
    )]
    RecordUnfinished(usize),
    /// Windows are too short for a logger, whose first and last samples cover other times too.
    #[error(
        "--window: a logger takes a sample a second, and four of a window are left out: give at least 10 s"
    )]
    ShortWindow,
    /// The machine's clock was changed during a window.
    #[error(
        "the machine's clock was changed by {0:.1} s during a window: go on with the same file"
    )]
    ClockSet(f64),
    /// The logger's record cannot be used, or its clock cannot be determined.
    #[error(transparent)]
    Log(#[from] PowerLogError),
    /// The windows of some states were not measured.
    #[error("--watts: {0}")]
    NotDone(String),
    /// A meter failed during the measurement.
    #[error("--watts: {name}: {why}")]
    Meter {
        /// Name of the meter.
        name: String,
        /// Why.
        why: String,
    },
    /// The figures of these meters cannot be added.
    #[error("--watts: {0}: choose one of them by --meter")]
    Sum(#[from] SumError),
    /// The system cannot start another thread.
    #[error("--watts: {0}")]
    Thread(#[from] io::Error),
    /// A thread cannot be bound to its CPU.
    #[error("--watts: CPU {cpu}: {errno}")]
    Pin {
        /// The CPU's number.
        cpu: usize,
        /// The system's reason.
        errno: Errno,
    },
    /// The limit on idle states could not be set or restored.
    #[error("--watts: {0}")]
    Change(#[from] Box<ChangeError>),
    /// The measurement was spoiled: other programs ran, or the machine was disturbed otherwise.
    #[error("{}", .0.why)]
    Spoiled(Spoiled),
    /// The power of spinning cannot be told from that of idling, so neither can that of any wait that saves a part of
    /// the difference.
    #[error(
        "by {meter} {cores} spinning cores cannot be told from idle ones (within {within:.2} W each): give more --rounds, a longer --window, or another --meter"
    )]
    Indistinguishable {
        /// Names of the meters.
        meter: String,
        /// Number of cores that spun.
        cores: usize,
        /// Half the width of the interval, in watts per core.
        within: f64,
    },
    /// The measurement was stopped early.
    #[error("nothing is kept")]
    Interrupted,
    /// A thread panicked; its message is on standard error.
    #[error("--watts: a thread panicked")]
    Panicked,
}

/// Names of states that are not the kernel's idle states.
pub(super) const WORDS: [&str; 4] = ["pause", "tpause", "umwait", "wake"];

fn idle_names(idle: &[String]) -> String {
    match idle.is_empty() {
        true => "; the kernel shows no idle states here".to_owned(),
        false => format!(", {}", idle.join(", ")),
    }
}

impl WattsError {
    /// Returns true if nothing was measured, because it is not possible on this machine.
    pub fn is_refusal(&self) -> bool {
        match self {
            WattsError::NoMeter(_)
            | WattsError::OneCore(_)
            | WattsError::OneRound
            | WattsError::NoState { .. }
            | WattsError::Clocks(_)
            | WattsError::Record { .. }
            | WattsError::AnotherPlan(_)
            | WattsError::RecordUnfinished(_)
            | WattsError::ShortWindow => true,
            WattsError::Log(error) => error.is_refusal(),
            _ => false,
        }
    }
}
